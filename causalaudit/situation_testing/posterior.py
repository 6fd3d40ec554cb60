"""What the counterfactual draws say: for each complainant, and about the number of cases."""

from dataclasses import dataclass

import numpy as np

from causalaudit.intervals import beta_rates, hdi, shortest_run
from causalaudit.situation_testing.question import Question, difference

# Numbers (draws x complainants) that one pass holds in each of a dozen arrays.
_BUDGET = 2**20


@dataclass(frozen=True)
class DrawCounts:
    """Sizes and rejections of both groups when the counterfactual is drawn; the control group is always the same.

    Attributes
    ----------
    n_control, control
        Sizes × complainants.
    n_test, test
        Sizes × draws × complainants.
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

    def delta(self, place: int, people: slice = slice(None)) -> np.ndarray:
        """Return the difference of the two shares at the k in this place: draws × complainants."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return difference(
                self.control[place, people].astype(float),
                self.n_control[place, people].astype(float),
                self.test[place, :, people].astype(float),
                self.n_test[place, :, people].astype(float),
            )


def posterior_columns(counts: DrawCounts, question: Question, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return what the draws say of each complainant, by k and complainant, and the cases of each draw, by k and draw.

    Parameters
    ----------
    counts
        The groups at each draw.
    question
        Probabilities and accepted deviation.
    seed
        Of the draws of rates.
    """
    sizes, draws, complainants = counts.test.shape
    names = ("delta_mean", "structural_low", "structural_high", "prob_discriminated", "hdi_low", "hdi_high")
    columns = {name: np.empty((sizes, complainants)) for name in names}
    cases = np.zeros((sizes, draws), dtype=np.int64)
    step = max(1, _BUDGET // draws)
    for place in range(sizes):
        for start in range(0, complainants, step):
            people = slice(start, start + step)
            delta = counts.delta(place, people)
            beyond = question.beyond(delta)
            cases[place] += np.count_nonzero(beyond, axis=1)
            columns["delta_mean"][place, people] = delta.mean(axis=0)
            columns["prob_discriminated"][place, people] = beyond.mean(axis=0)
            low, high = shortest_run(delta, question.prob)
            columns["structural_low"][place, people], columns["structural_high"][place, people] = low, high
            low, high = neighbourhood_interval(counts, place, people, question.prob, seed)
            undefined = np.isnan(delta).any(axis=0)
            columns["hdi_low"][place, people] = np.where(undefined, np.nan, low)
            columns["hdi_high"][place, people] = np.where(undefined, np.nan, high)
    return {name: values.ravel() for name, values in columns.items()}, cases


def neighbourhood_interval(counts: DrawCounts, place: int, people: slice, prob: float, seed: int) -> np.ndarray:
    """Return the interval of the difference of rejection rates in the population inside the two neighbourhoods.

    Both rates are Beta(½, ½) a priori. Where all of one group were rejected and nobody of the other, the end that the
    prior keeps away from 1 (or -1) is closed.
    """
    control, n_control = counts.control[place, people], counts.n_control[place, people]
    test, n_test = counts.test[place, :, people], counts.n_test[place, :, people]
    ours = beta_rates(control, n_control, counts.draws, seed, "control")
    theirs = beta_rates(test, n_test, counts.draws, seed, "test")
    low, high = hdi(ours - theirs, prob)
    high = np.where((control == n_control) & counts.point_none[place, people], 1.0, high)
    low = np.where((control == 0) & counts.point_full[place, people], -1.0, low)
    return np.stack([low, high])
