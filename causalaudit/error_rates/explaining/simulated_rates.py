"""Nested counterfactual rates of any SCM, over people who are simulated at each draw of the parameters.

X and Y are set in every world that matters, so that their own noise only decides who has X = x and Y = y. It is
integrated out: everybody is simulated under do(X = x) and counts with the probability of X = x and Y = y there.
"""

from dataclasses import dataclass

import numpy as np

from causalaudit.counterfactuals import SimulatedPeople, SimulatedWorld, World
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
        question, worlds = self.question, []
        held_too = follows_outcome(question, self.people.scm.graph)
        for level in question.levels:
            own = {question.protected: level}
            worlds.append(World(own, {**own, question.outcome: question.y}))
            if held_too:
                worlds.append(World({**own, question.outcome: question.y}, {}))
        found = self.people.worlds(numbers, worlds, question.features)
        free = found[::2] if held_too else found
        held = found[1::2] if held_too else found
        by_free = self._thetas(free)
        return self._average(
            by_free, self._thetas(held) if held_too else by_free, np.stack([world.chance for world in free], axis=1)
        )

    def _thetas(self, worlds: list[SimulatedWorld]) -> np.ndarray:
        """Return P(ŷ) by draw, level read, level that makes the features, and person."""
        draws, number = worlds[0].chance.shape
        thetas = np.empty((draws, 2, 2, number))
        for xi, world in enumerate(worlds):
            thetas[:, :, xi] = label_rates(self.question, self.people, world.values, (draws, number)).swapaxes(0, 1)
        return thetas

    def _average(self, free: np.ndarray, held: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the rates of all people, and of each half of them, along a first axis."""
        free, held, weights = (
            array.reshape(*array.shape[:-1], self.people.HALVES, -1) for array in (free, held, weights)
        )
        sums = np.einsum("dabhn,dghn->hdabg", held, weights, optimize=True)
        shares = weights.sum(axis=-1).transpose(2, 0, 1)
        sums, shares = (np.concatenate([parts.sum(axis=0)[None], parts]) for parts in (sums, shares))
        self.question.refuse_nobody(shares.min(axis=(0, 1)))
        means = np.moveaxis(free.mean(axis=-1), -1, 0)
        rates = np.empty((1 + self.people.HALVES, len(free), *SHAPE))
        rates[..., :EVERYBODY] = sums / shares[:, :, None, None]
        rates[..., EVERYBODY] = np.concatenate([means.mean(axis=0)[None], means])
        return rates
