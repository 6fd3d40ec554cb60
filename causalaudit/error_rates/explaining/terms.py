"""The algebra of the causal explanation formula: every measure is a sum of a dozen nested counterfactual rates.

Rates are arrays whose last three axes are `xd`, `xi` and `x`. The first two have length 2, for the baseline and the
contrast level: which of them the classifier reads, and which of them makes the other features. `x` has length 3: those
who have the baseline, those who have the contrast, both with Y = y and under do(Y = y); and everybody, with Y as it
comes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

SHAPE = (2, 2, 3)
TERMS = ("total", "direct", "indirect", "spurious")
BASELINE, CONTRAST, EVERYBODY = 0, 1, 2


def _rate(xd: int, xi: int, x: int) -> np.ndarray:
    """The coefficients that pick one nested counterfactual rate N(xd, xi | x, y)."""
    coefficients = np.zeros(SHAPE)
    coefficients[xd, xi, x] = 1.0
    return coefficients


def direct(a: int, b: int, x: int) -> np.ndarray:
    """ERd from a to b among x (Definition 1, equation 1); among everybody, the natural direct effect (equation 33)."""
    return _rate(b, a, x) - _rate(a, a, x)


def indirect(a: int, b: int, x: int) -> np.ndarray:
    """ERi from a to b among x (Definition 2, equation 2); among everybody, the natural indirect one (equation 34)."""
    return _rate(a, b, x) - _rate(a, a, x)


def spurious(a: int, b: int) -> np.ndarray:
    """ERs from a to b (Definition 3, equation 3)."""
    return _rate(a, a, b) - _rate(a, a, a)


def total(a: int, b: int) -> np.ndarray:
    """ER from a to b: the difference of the two observed rates."""
    return _rate(b, b, b) - _rate(a, a, a)


def treated(a: int, b: int) -> np.ndarray:
    """ETT from a to b given Y = y (equation 20).

    ERd less the reversed ERi among a (Lemma 5), ER plus the reversed ERs (Lemma 4), and the average of counterfactual
    fairness, equation 37, over all that is known of those with a and y (Theorem 10, its weights corrected).
    """
    return _rate(b, b, a) - _rate(a, a, a)


# Theorem 7 (equation 19), in its order, as additive terms: each sums to the total. The first is Theorem 2 (equation 4).
DECOMPOSITIONS: dict[int, dict[str, np.ndarray]] = {
    number: {"total": total(0, 1), **parts}
    for number, parts in {
        1: {"direct": direct(0, 1, 0), "indirect": -indirect(1, 0, 0), "spurious": -spurious(1, 0)},
        2: {"direct": -direct(1, 0, 0), "indirect": indirect(0, 1, 0), "spurious": -spurious(1, 0)},
        3: {"direct": direct(0, 1, 1), "indirect": -indirect(1, 0, 1), "spurious": spurious(0, 1)},
        4: {"direct": -direct(1, 0, 1), "indirect": indirect(0, 1, 1), "spurious": spurious(0, 1)},
    }.items()
}


@dataclass(frozen=True)
class Measure:
    """A raw transition measure: its name, its direction, whom it is about (None: not only one level)."""

    name: str
    start: int
    end: int
    given: int | None
    coefficients: np.ndarray

    @property
    def natural(self) -> bool:
        """Whether it is about everybody, whatever their outcome."""
        return bool(self.coefficients[..., EVERYBODY].any())


_DIRECTIONS = ((0, 1), (1, 0))
MEASURES: tuple[Measure, ...] = (
    *(Measure("total", a, b, None, total(a, b)) for a, b in _DIRECTIONS),
    *(Measure("direct", a, b, x, direct(a, b, x)) for a, b in _DIRECTIONS for x in (0, 1)),
    *(Measure("indirect", a, b, x, indirect(a, b, x)) for a, b in _DIRECTIONS for x in (0, 1)),
    *(Measure("spurious", a, b, None, spurious(a, b)) for a, b in _DIRECTIONS),
    *(Measure("ett", a, b, a, treated(a, b)) for a, b in _DIRECTIONS),
    *(Measure("nde", a, b, None, direct(a, b, EVERYBODY)) for a, b in _DIRECTIONS),
    *(Measure("nie", a, b, None, indirect(a, b, EVERYBODY)) for a, b in _DIRECTIONS),
)


def combine(rates: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return the sum of rates that the coefficients name; rates they do not name may be unknown (NaN)."""
    coefficients = coefficients[..., : rates.shape[-1]]
    named = coefficients != 0
    return np.asarray(rates[..., named] @ coefficients[named])


def term_rows() -> pd.DataFrame:
    """Return the `decomposition` and the `term` of each row of a table, in order."""
    rows = [(number, term) for number in DECOMPOSITIONS for term in TERMS]
    return pd.DataFrame(rows, columns=["decomposition", "term"])


def term_values(rates: np.ndarray) -> np.ndarray:
    """Return the additive terms of all decompositions along a last axis, in the order of `term_rows`."""
    parts = [combine(rates, DECOMPOSITIONS[number][term]) for number in DECOMPOSITIONS for term in TERMS]
    return np.stack(parts, axis=-1)


def measure_rows(levels: tuple[Any, Any], measures: tuple[Measure, ...] = MEASURES) -> pd.DataFrame:
    """Return the name, the direction and the group of raw measures, in the words of the user's levels."""
    return pd.DataFrame(
        {
            "measure": [measure.name for measure in measures],
            "from": [levels[measure.start] for measure in measures],
            "to": [levels[measure.end] for measure in measures],
            "given": [None if measure.given is None else levels[measure.given] for measure in measures],
        },
        dtype=object,
    )


def measure_values(rates: np.ndarray, measures: tuple[Measure, ...] = MEASURES) -> np.ndarray:
    """Return raw measures along a last axis, in the order of `measure_rows`."""
    return np.stack([combine(rates, measure.coefficients) for measure in measures], axis=-1)


def rate_rows(levels: tuple[Any, Any]) -> pd.DataFrame:
    """Return what each nested rate is, in the order of a flattened array of rates."""
    groups = (*levels, None)
    rows = [(levels[xd], levels[xi], groups[x]) for xd, xi, x in np.ndindex(SHAPE)]
    return pd.DataFrame(rows, columns=["read", "made_by", "given"], dtype=object)
