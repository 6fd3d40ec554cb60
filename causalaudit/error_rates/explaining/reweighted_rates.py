"""Nested counterfactual rates of the people of the data, with weights: equal ones, or random ones."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from causalaudit.counterfactuals import ReweightedPeople
from causalaudit.error_rates.explaining.asking import follows_outcome, label_rates
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.explaining.terms import EVERYBODY, SHAPE
from causalaudit.progress import parallel

_UNIT = 2.0**40  # of probabilities: sums of whole numbers are the same for any passes


class WeightedRates(NamedTuple):
    """What weighted people give.

    Attributes
    ----------
    rates
        N(xd, xi | x, y) and its version for everybody, by draw.
    answers
        P(ŷ) of each person, as counted in each rate, averaged over draws: xd × xi × x × people; zero for people who do
        not count.
    members
        Who counts: x × people.
    """

    rates: np.ndarray
    answers: np.ndarray
    members: np.ndarray


def reweighted_rates(question: RateQuestion, people: ReweightedPeople, progress: bool) -> WeightedRates:
    """Return the rates at each draw, and what each person answers on average."""
    one = _Pass(question, people)
    rates, answers = [], np.zeros((*SHAPE, len(people.persons)), dtype=np.int64)
    for part, sums in parallel(one.rates, people.tasks(), "Weighted people", progress):
        rates.append(part)
        answers += sums
    return WeightedRates(np.concatenate(rates), answers / _UNIT / len(people.weights), one.members)


@dataclass(frozen=True, eq=False)
class _Pass:
    question: RateQuestion
    people: ReweightedPeople

    def rates(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates of some draws, and the sum over these of what each person answers, in units."""
        weights, held_too = self.people.weights[numbers], follows_outcome(self.question, self.people.scm.graph)
        rates, sums = np.empty((len(numbers), *SHAPE)), np.empty((*SHAPE, weights.shape[1]), dtype=np.int64)
        for xi in (0, 1):
            others = ~self._has_level[xi]
            thetas = np.broadcast_to(self._factual, (len(numbers), *self._factual.shape)).copy()
            thetas[..., others] = self._thetas(numbers, others, xi, held=False)
            for x in (EVERYBODY, 0, 1):
                if held_too and x == 1 - xi:
                    thetas[..., self.members[x]] = self._thetas(numbers, self.members[x], xi, held=True)
                own = weights * self.members[x]
                rates[:, :, xi, x] = np.einsum("dln,dn->dl", thetas, own) / own.sum(axis=1)[:, None]
                sums[:, xi, x] = np.rint(thetas * _UNIT).astype(np.int64).sum(axis=0) * self.members[x]
        return rates, sums

    @cached_property
    def members(self) -> np.ndarray:
        """Who counts: those who have each of the two levels (rows) and the outcome that is asked about; everybody."""
        name = self.question.outcome
        asked = self.people.factual[name] == self.people.number(name, self.question.y)
        return np.concatenate([self._has_level & asked, np.ones((1, len(asked)), dtype=bool)])

    @cached_property
    def _has_level(self) -> np.ndarray:
        """Who has each of the two levels (rows)."""
        name = self.question.protected
        return np.stack(
            [self.people.factual[name] == self.people.number(name, level) for level in self.question.levels]
        )

    @cached_property
    def _factual(self) -> np.ndarray:
        """P(ŷ) of everybody as they are, but for the level that the classifier reads (rows)."""
        values = {name: self.people.factual[name] for name in self.question.features}
        return label_rates(self.question, self.people, values, (len(self.people.persons),))

    def _thetas(self, numbers: np.ndarray, who: np.ndarray, xi: int, held: bool) -> np.ndarray:
        """Return P(ŷ) of some people under do(X = xi), Y being held or not, by draw, level read and person."""
        question = self.question
        do = {question.protected: question.levels[xi], **({question.outcome: question.y} if held else {})}
        worlds = self.people.under(do, who, numbers)
        values = {name: worlds[name] for name in question.features}
        return label_rates(question, self.people, values, (len(numbers), int(who.sum()))).swapaxes(0, 1)
