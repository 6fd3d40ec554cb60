"""Whom to name when thousands are tested: probabilities that take both uncertainties, and lists of known error."""

from collections.abc import Sequence

import numpy as np
from scipy.special import betainc, betaincc
from scipy.stats import false_discovery_control

from causalaudit.errors import DataError
from causalaudit.people import distinct_rows
from causalaudit.progress import pieces
from causalaudit.situation_testing.question import SituationQuestion

CORRECTIONS = ("benjamini-hochberg", "posterior")
UNCERTAINTIES = {
    "both": "where the counterfactual lies, and that the groups are samples of people",
    "counterfactual": "where the counterfactual lies",
    "people": "that the groups are samples of people",
}
_CELLS = 1024  # of a grid on which the rates of groups of a thousand are smooth


def prob_rates_differ(
    control: np.ndarray, n_control: np.ndarray, test: np.ndarray, n_test: np.ndarray, tau: float = 0.0
) -> np.ndarray:
    """Return the probability that the rates behind two counts differ by more than `tau`, under Beta(½, ½) priors.

    One half where nobody is rejected in either group, and tau is 0: nothing is known there. NaN where a group is empty.

    Parameters
    ----------
    control, n_control, test, n_test
        Counts and sizes that broadcast.
    tau
        The accepted deviation of the rate of the control group from that of the test group.

    Examples
    --------
    >>> import numpy as np
    >>> prob_rates_differ(np.array([0, 3, 15]), 15, np.array([0, 1, 0]), 15).round(3)
    array([0.5  , 0.858, 1.   ])
    """
    counts = np.broadcast_arrays(control, n_control, test, n_test)
    kinds = distinct_rows([part.ravel() for part in counts])
    ours, ours_of, theirs, theirs_of = (part.ravel()[kinds.first] for part in counts)
    angles = np.linspace(0, np.pi / 2, 2 * _CELLS + 1)  # in sin² the densities are smooth at 0 and 1
    rates = np.sin(angles) ** 2
    found = np.empty(len(ours))
    for part in pieces(len(found), each=_CELLS):
        masses = np.diff(_by_kind(betainc, theirs[part], theirs_of[part], rates[::2]), axis=1)
        above = _by_kind(betaincc, ours[part], ours_of[part], np.clip(rates[1::2] + tau, 0, 1))
        found[part] = (masses * above).sum(axis=1)
    found = np.where((ours_of > 0) & (theirs_of > 0), found, np.nan)
    return found[kinds.inverse].reshape(counts[0].shape)


def _by_kind(function: np.ufunc, counts: np.ndarray, sizes: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return a function of the Beta posterior of each count, computed once for counts and sizes that recur."""
    kinds = distinct_rows([counts, sizes])
    count, size = counts[kinds.first, None], sizes[kinds.first, None]
    return np.asarray(function(count + 0.5, size - count + 0.5, rates))[kinds.inverse]


def prob_in_population(numbers: Sequence[np.ndarray], question: SituationQuestion) -> np.ndarray:
    """Return the probability that the rates behind counts and sizes of both groups differ beyond tau."""
    control, n_control, test, n_test = numbers
    larger = prob_rates_differ(control, n_control, test, n_test, question.tau)
    return larger if question.negative else 1 - larger


def listed_error(doubts: np.ndarray, cases: np.ndarray, correction: str) -> np.ndarray:
    """Return, for each case, the error rate of the shortest list of the least doubtful cases that she is on.

    Parameters
    ----------
    doubts
        The probability of each complainant to be a false discovery; NaN is on no list.
    cases
        Who may be on a list; NaN is returned for everyone else.
    correction
        "benjamini-hochberg": doubts are taken for p-values of as many tests as there are complainants. "posterior": the
        mean doubt of the list, which is its expected share of false ones given the data. People of equal doubt are on
        the same lists.

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the false discovery rate. Müller, Parmigiani, Robert and Rousseau (2004),
    Optimal sample size for multiple testing (the posterior expected rate).

    Examples
    --------
    >>> import numpy as np
    >>> doubts = np.array([0.01, 0.2, 0.03, np.nan])
    >>> listed_error(doubts, doubts < 0.1, "posterior").tolist()
    [0.01, nan, 0.02, nan]
    >>> listed_error(doubts, doubts < 0.1, "benjamini-hochberg").tolist()
    [0.03, nan, 0.045, nan]
    """
    if correction not in CORRECTIONS:
        raise DataError(f"correction is {correction!r}, but must be one of {', '.join(map(repr, CORRECTIONS))}.")
    rates = np.full(len(doubts), np.nan)
    tested = np.flatnonzero(~np.isnan(doubts))
    if correction == "benjamini-hochberg":
        if len(tested):
            rates[tested] = false_discovery_control(np.clip(doubts[tested], 0, 1), method="bh")
        return np.where(cases, rates, np.nan)
    order = tested[cases[tested]]
    order = order[np.argsort(doubts[order], kind="stable")]
    mean = np.cumsum(doubts[order]) / np.arange(1, len(order) + 1)
    rates[order] = mean[np.searchsorted(doubts[order], doubts[order], side="right") - 1]
    return rates
