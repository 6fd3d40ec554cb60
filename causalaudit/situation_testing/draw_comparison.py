"""What the counterfactual draws say: for each complainant, and about the number of cases."""

from dataclasses import dataclass

import numpy as np

from causalaudit.intervals import beta_rates, hdi, shortest_run
from causalaudit.progress import pieces
from causalaudit.situation_testing.discovery import prob_in_population
from causalaudit.situation_testing.group_comparison import difference_of_shares, sampling_variance
from causalaudit.situation_testing.question import SituationQuestion
from causalaudit.storage import storable

COLUMNS = (
    *("delta_mean", "structural_low", "structural_high", "prob_beyond_tau"),
    *("population_low", "population_high", "prob_population"),
)


@storable
@dataclass(frozen=True, eq=False)
class DrawCounts:
    """Sizes and rejections of both groups when the counterfactual is drawn; the control group is always the same.

    Attributes
    ----------
    n_control, control
        Sizes × complainants.
    n_test, test
        Sizes × draws × complainants; the size of the test groups may have one entry for all draws and complainants.
    point_full, point_none
        Whether all, and whether none, of the test group at the point counterfactual are rejected; like `control`.
    """

    n_control: np.ndarray
    control: np.ndarray
    n_test: np.ndarray
    test: np.ndarray
    point_full: np.ndarray
    point_none: np.ndarray

    @property
    def draws(self) -> int:
        """The number of draws."""
        return int(self.test.shape[1])

    def numbers(self, place: int, people: slice = slice(None)) -> tuple[np.ndarray, ...]:
        """Return the counts and sizes of both groups of some complainants at the k in this place."""
        test = self.test[place, :, people]
        n_test = np.broadcast_to(self.n_test[place], self.test.shape[1:])[:, people]
        return self.control[place, people], self.n_control[place, people], test, n_test

    def delta(self, place: int, people: slice = slice(None)) -> np.ndarray:
        """Return the difference of the two shares at the k in this place: draws × complainants."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return difference_of_shares(*(part.astype(float) for part in self.numbers(place, people)))

    def variances(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the variance of delta over draws, and its mean sampling variance within them, of each complainant."""
        structural, sampling = np.empty((2, self.test.shape[2]))
        for people in pieces(self.test.shape[2], each=self.draws):
            structural[people] = self.delta(place, people).var(axis=0)
            with np.errstate(invalid="ignore", divide="ignore"):
                parts = (part.astype(float) for part in self.numbers(place, people))
                sampling[people] = sampling_variance(*parts).mean(axis=0)
        return structural, sampling


def compare_over_draws(counts: DrawCounts, question: SituationQuestion) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return what the draws say of each complainant, by k and complainant, and the cases of each draw, by k and draw.

    A case of a draw is Definition 4.4 (or B.1) with the test group around that draw of the counterfactual.
    """
    sizes, draws, complainants = counts.test.shape
    columns = {name: np.empty((sizes, complainants)) for name in COLUMNS}
    cases = np.zeros((sizes, draws), dtype=np.int64)
    for place in range(sizes):
        for people in pieces(complainants, each=draws):
            delta = counts.delta(place, people)
            beyond = question.beyond(delta)
            cases[place] += np.count_nonzero(beyond, axis=1)
            structural = shortest_run(delta, question.prob)
            population = neighbourhood_interval(counts, place, people, question)
            population = np.where(np.isnan(delta).any(axis=0), np.nan, population)
            chance = prob_in_population(counts.numbers(place, people), question).mean(axis=0)
            found = (delta.mean(axis=0), *structural, beyond.mean(axis=0), *population, chance)
            for name, values in zip(COLUMNS, found, strict=True):
                columns[name][place, people] = values
    return {name: values.ravel() for name, values in columns.items()}, cases


def neighbourhood_interval(counts: DrawCounts, place: int, people: slice, question: SituationQuestion) -> np.ndarray:
    """Return the interval of the difference of rejection rates in the population inside the two neighbourhoods.

    Both rates are Beta(½, ½) a priori. Where all of one group were rejected and nobody of the other, the end that the
    prior keeps away from 1 (or -1) is closed.
    """
    control, n_control, test, n_test = counts.numbers(place, people)
    ours = beta_rates(control, n_control, counts.draws, question.seed, "control")
    theirs = beta_rates(test, n_test, counts.draws, question.seed, "test")
    low, high = hdi(ours - theirs, question.prob)
    high = np.where((control == n_control) & counts.point_none[place, people], 1.0, high)
    low = np.where((control == 0) & counts.point_full[place, people], -1.0, low)
    return np.stack([low, high])
