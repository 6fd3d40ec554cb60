"""Between what the terms lie under any coupling of the worlds, where all variables are finite and known.

Of the nested rates N(xd, xi | x, y), those with xi = x are about what people are, and no coupling matters. Each term
has one mean in which it does: of what the classifier says about those with X = x, were they made by the other level.
One mechanism serves all of these people, so that it is bounded by one linear program over response functions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from causalaudit.counterfactuals import AnyCoupling, EnumeratedPeople, GroupBounds, ReweightedPeople
from causalaudit.error_rates.explaining.asking import label_rates
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.explaining.terms import DECOMPOSITIONS, TERMS
from causalaudit.storage import storable

SHARP = "sharp"
KnownPeople = EnumeratedPeople | ReweightedPeople


@storable
@dataclass(frozen=True, eq=False)
class TermBounds:
    """The least and the greatest value of each term under any coupling.

    Attributes
    ----------
    low, high
        Draws × terms, in the order of `term_rows`.
    kinds
        Of each term "sharp", where couplings attain both ends at every draw, else "outer" and why.
    """

    low: np.ndarray
    high: np.ndarray
    kinds: list[str]


def bound_terms(question: RateQuestion, people: KnownPeople, progress: bool) -> TermBounds:
    """Bound the terms of all decompositions at each draw of the parameters.

    Raises
    ------
    DataError
        If a variable of the program is not finite, or not known of everybody.
    """
    groups = [_Group(question, people, x, progress) for x in (0, 1)]
    found = [_term(groups, DECOMPOSITIONS[number][term]) for number in DECOMPOSITIONS for term in TERMS]
    low, high, kinds = zip(*found, strict=True)
    return TermBounds(np.stack(low, axis=-1), np.stack(high, axis=-1), list(kinds))


def _term(groups: Sequence["_Group"], coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the least and the greatest sum of rates, by draw, and what kind of bounds they are."""
    known = sum(group.own @ coefficients[:, group.x, group.x] for group in groups)
    low, high, kind = np.asarray(known), np.asarray(known), SHARP
    for group in groups:
        crossed = coefficients[:, 1 - group.x, group.x]
        if crossed.any():
            ends = group.bounds(float(crossed[0]), float(crossed[1]))
            low, high = low + ends.low, high + ends.high
            kind = ends.kind if ends.kind == SHARP else f"{ends.kind}: {ends.why}"
    return low, high, kind


@dataclass(frozen=True, eq=False)
class _Group:
    """Those with X = x and Y = y, and what they would be with the other level and the same outcome."""

    question: RateQuestion
    people: KnownPeople
    x: int
    progress: bool

    @cached_property
    def coupled(self) -> AnyCoupling:
        question, levels = self.question, self.question.levels
        given = {question.protected: levels[self.x], question.outcome: question.y}
        return self.people.any_coupling({**given, question.protected: levels[1 - self.x]}, given, question.features)

    @cached_property
    def own(self) -> np.ndarray:
        """N(xd, x | x, y) by draw and xd."""
        factual = {name: self.coupled.factual(name) for name in self.question.features}
        answers = label_rates(self.question, self.people, factual, (len(self.coupled.everybody),))
        return self._mean(answers)

    @cached_property
    def moved(self) -> tuple[str, ...]:
        """The features that follow from what is set."""
        return tuple(name for name in self.question.features if name in self.coupled.reached)

    @cached_property
    def answers(self) -> np.ndarray:
        """P(ŷ) by level read, person and the values of the features that are moved."""
        people, grid = len(self.coupled.everybody), (1,) * len(self.moved)
        values = {name: self.coupled.factual(name).reshape(-1, *grid) for name in self.question.features}
        for axis, name in enumerate(self.moved, start=1):
            values[name] = self.coupled.values(name).reshape([-1 if axis == at else 1 for at in range(1 + len(grid))])
        sizes = [len(self.coupled.values(name)) for name in self.moved]
        return label_rates(self.question, self.people, values, (people, *sizes))

    @cached_property
    def _found(self) -> dict[tuple[float, float], GroupBounds]:
        return {}

    def bounds(self, first: float, second: float) -> GroupBounds:
        """Return the least and the greatest sum of N(xd, 1 - x | x, y), with a coefficient for each xd."""
        sign = -1.0 if (first, second) < (0.0, 0.0) else 1.0
        asked = sign * first, sign * second
        if asked not in self._found:
            self._found[asked] = self._bounded(np.tensordot(asked, self.answers, axes=1))
        found = self._found[asked]
        return found if sign > 0 else GroupBounds(-found.high, -found.low, found.kind, found.functions)

    def _bounded(self, worth: np.ndarray) -> GroupBounds:
        each = worth.reshape(len(worth), -1)
        if (each == each[:, :1]).all():  # whatever people would be
            mean = self._mean(each[:, 0])
            return GroupBounds(mean, mean, SHARP, 0)
        return self.coupled.of_all(self.moved, worth, progress=self.progress)

    def _mean(self, numbers: np.ndarray) -> np.ndarray:
        """Return the mean of numbers of people (last axis), by draw."""
        assert self.coupled.weights is not None
        total = self.coupled.weights.sum(axis=1)
        return np.asarray((self.coupled.weights @ numbers.T).T / total).T
