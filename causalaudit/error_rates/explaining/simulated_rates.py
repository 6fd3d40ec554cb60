"""Nested counterfactual rates of any SCM, over people who are simulated at each draw of the parameters.

X and Y are set in every world that matters, so that their own noise only decides who has X = x and Y = y. It is
integrated out: everybody is simulated under do(X = x) and counts with the probability of X = x and Y = y there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from causalaudit.counterfactuals import SimulatedPeople, World
from causalaudit.error_rates.explaining.asking import follows_outcome, label_rates
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.explaining.terms import EVERYBODY, SHAPE
from causalaudit.progress import parallel


def simulated_rates(question: RateQuestion, people: SimulatedPeople, progress: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return N(xd, xi | x, y) and its version for everybody at each draw, from all people and from two halves of them.

    Raises
    ------
    DataError
        If nobody has X = x and Y = y.
    """
    parts = list(parallel(_Pass(question, people).rates, people.tasks(), "Simulated people", progress))
    both = np.concatenate(parts, axis=1)
    return both[0], both[1:]


@dataclass(frozen=True, eq=False)
class _Pass:
    question: RateQuestion
    people: SimulatedPeople

    def rates(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rates of some draws: of all people, and of each half."""
        question = self.question
        own: list[dict[str, Any]] = [{question.protected: level} for level in question.levels]
        hold = {question.outcome: question.y} if follows_outcome(question, self.people.scm.graph) else {}
        free = [World(do, {**do, question.outcome: question.y}) for do in own]
        held = [World({**do, **hold}, {}) for do in own] if hold else []
        left = len(held)  # the worlds from which people depart are the last two so far
        anew = [World({**own[xi], **hold}, {}, left + 1 - xi) for xi in (0, 1)] if self.people.drawn_anew else []
        thetas, chances = self._thetas(numbers, [*free, *held, *anew])
        factual = thetas[left : left + 2]
        other = thetas[left + 2 :] or factual
        crossed = [[factual[xi] if xi == x else other[xi] for x in (0, 1)] for xi in (0, 1)]
        return self._average(
            np.stack(thetas[:2], axis=2),
            np.stack([np.stack(by_x, axis=2) for by_x in crossed], axis=2),
            np.stack(chances[:2], axis=1),
        )

    def _thetas(self, numbers: np.ndarray, worlds: list[World]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return P(ŷ) in each world by draw, level read and person, and how probable the people are."""
        found = self.people.worlds(numbers, worlds, self.question.features)
        shape = found[0].chance.shape
        thetas = [label_rates(self.question, self.people, world.values, shape).swapaxes(0, 1) for world in found]
        return thetas, [world.chance for world in found]

    def _average(self, free: np.ndarray, held: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the rates of all people, and of each half of them, along a first axis.

        P(ŷ) is by draw, level read, level that makes the features, and person; in the worlds in which Y is held, also
        by the level of the world that people come from, before the last axis.
        """
        free, held, weights = (
            array.reshape(*array.shape[:-1], self.people.HALVES, -1) for array in (free, held, weights)
        )
        sums = np.einsum("dabghn,dghn->hdabg", held, weights, optimize=True)
        shares = weights.sum(axis=-1).transpose(2, 0, 1)
        sums, shares = (np.concatenate([parts.sum(axis=0)[None], parts]) for parts in (sums, shares))
        self.question.refuse_nobody(shares.min(axis=(0, 1)))
        means = np.moveaxis(free.mean(axis=-1), -1, 0)
        rates = np.empty((1 + self.people.HALVES, len(free), *SHAPE))
        rates[..., :EVERYBODY] = sums / shares[:, :, None, None]
        rates[..., EVERYBODY] = np.concatenate([means.mean(axis=0)[None], means])
        return rates
