"""Nested counterfactual rates of the people of the data, with random weights under which parameters are refitted."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from causalaudit.counterfactuals import ReweightedPeople
from causalaudit.error_rates.explaining.asking import follows_outcome, label_rates
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.explaining.terms import EVERYBODY, SHAPE
from causalaudit.progress import parallel


def reweighted_rates(question: RateQuestion, people: ReweightedPeople, progress: bool) -> np.ndarray:
    """Return N(xd, xi | x, y) and its version for everybody, at each draw of weights of the people."""
    parts = parallel(_Pass(question, people).rates, people.tasks(), "Weighted people", progress)
    return np.concatenate(list(parts))


@dataclass(frozen=True, eq=False)
class _Pass:
    question: RateQuestion
    people: ReweightedPeople

    def rates(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rates of some draws."""
        rates, weights = np.empty((len(numbers), *SHAPE)), self.people.weights[numbers]
        held_too = follows_outcome(self.question, self.people.scm.graph)
        for xi in (0, 1):
            others = ~self._has_level[xi]
            thetas = np.broadcast_to(self._factual, (len(numbers), *self._factual.shape)).copy()
            thetas[..., others] = self._thetas(numbers, others, xi, held=False)
            rates[:, :, xi, EVERYBODY] = np.einsum("dln,dn->dl", thetas, weights) / weights.sum(axis=1)[:, None]
            if held_too:
                thetas[..., self._groups[1 - xi]] = self._thetas(numbers, self._groups[1 - xi], xi, held=True)
            for x, group in enumerate(self._groups):
                own = weights[:, group]
                rates[:, :, xi, x] = np.einsum("dln,dn->dl", thetas[..., group], own) / own.sum(axis=1)[:, None]
        return rates

    @cached_property
    def _has_level(self) -> np.ndarray:
        """Who has each of the two levels (rows)."""
        name = self.question.protected
        return np.stack(
            [self.people.factual[name] == self.people.number(name, level) for level in self.question.levels]
        )

    @cached_property
    def _groups(self) -> np.ndarray:
        """Who has each of the two levels (rows), and the outcome that is asked about."""
        name = self.question.outcome
        return self._has_level & (self.people.factual[name] == self.people.number(name, self.question.y))

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
