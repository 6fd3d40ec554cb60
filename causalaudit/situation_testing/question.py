"""What is asked of a situation test, checked; and what follows for each complainant from the counts of both groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError, check_count
from causalaudit.intervals import newcombe, wald_width

DIRECTIONS = ("negative", "positive")


@dataclass(frozen=True)
class Question:
    """The numbers that turn counts into verdicts."""

    sizes: tuple[int, ...]
    alpha: float
    prob: float
    tau: float
    direction: str
    decimals: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("prob", self.prob)):
            if not _number(value) or not 0 < value < 1:
                raise DataError(f"{name} is {value!r}, but must be a number between 0 and 1.")
        if not _number(self.tau) or not -1 <= self.tau <= 1:
            raise DataError(f"tau is {self.tau!r}, but must be a number from -1 to 1.")
        if self.direction not in DIRECTIONS:
            raise DataError(f"direction is {self.direction!r}, but must be one of {', '.join(map(repr, DIRECTIONS))}.")

    @property
    def negative(self) -> bool:
        """Whether discrimination is against the complainant, not in favour."""
        return self.direction == "negative"

    def beyond(self, values: np.ndarray) -> np.ndarray:
        """Return whether values lie beyond the accepted deviation; an undefined one does not."""
        if self.decimals is not None:
            values = np.round(values, self.decimals)
        return values > self.tau if self.negative else values < self.tau

    def flips(self, rejected: np.ndarray, counterfactual: np.ndarray) -> np.ndarray:
        """Return who would have had a better (or, in favour: a worse) decision."""
        return rejected & ~counterfactual if self.negative else ~rejected & counterfactual

    def point_columns(self, counts: pd.DataFrame, alpha: float | None = None) -> dict[str, np.ndarray]:
        """Return shares, difference, intervals and verdicts from the counts of both groups."""
        alpha = self.alpha if alpha is None else alpha
        names = ("rejected_control", "n_control", "rejected_test", "n_test")
        control, n_control, test, n_test = (counts[name].to_numpy().astype(float) for name in names)
        numbers = control, n_control, test, n_test
        with np.errstate(invalid="ignore", divide="ignore"):
            delta = difference(*numbers)
            one = wald_width(*numbers, alpha, self.decimals)
            two = wald_width(*numbers, alpha / 2, self.decimals)
            low, high = newcombe(*numbers, alpha)
            shares = control / n_control, test / n_test
        nothing = np.full(len(delta), np.inf)
        ends = {
            "ci_low": delta - one if self.negative else -nothing,
            "ci_high": nothing if self.negative else delta + one,
            "ci2_low": delta - two,
            "ci2_high": delta + two,
        }
        if self.decimals is not None:
            ends = {name: np.round(end, self.decimals) for name, end in ends.items()}
        cases = self.beyond(delta)
        return {
            "p_control": shares[0],
            "p_test": shares[1],
            "delta": delta,
            **ends,
            "newcombe_low": low,
            "newcombe_high": high,
            "discriminated": cases,
            "significant": cases & self.beyond(ends["ci_low"] if self.negative else ends["ci_high"]),
        }


def difference(control: np.ndarray, n_control: np.ndarray, test: np.ndarray, n_test: np.ndarray) -> np.ndarray:
    """Return the difference of two shares by a single division, so that it compares exactly with a decimal number."""
    return (control * n_test - test * n_control) / (n_control * n_test)


def check_sizes(k: int | Sequence[int], control: int, test: int) -> tuple[int, ...]:
    """Return the sizes of the groups, ascending; refuse those that the data cannot give."""
    sizes: list[Any] = list(k) if isinstance(k, (Sequence, np.ndarray)) else [k]
    if not sizes:
        raise DataError("k is empty: give the size of the groups, or several.")
    for size in sizes:
        check_count("k", size)
    most = max(sizes)
    if most > control:
        raise DataError(f"k is {most}, but a complainant can be compared with {control} others of her own group only.")
    if most > test:
        raise DataError(f"k is {most}, but there are {test} people to compare a complainant with only.")
    return tuple(sorted({int(size) for size in sizes}))


def split(data: pd.DataFrame, protected: Mapping[str, Any]) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the protected column, who is protected, and whom they are compared with."""
    if not isinstance(protected, Mapping) or len(protected) != 1:
        raise DataError(f"protected is {protected!r}, but must be {{column: level}} or {{column: (level, reference)}}.")
    ((column, levels),) = protected.items()
    if column not in data.columns:
        raise DataError(f"The protected column {column!r} is not in data.")
    values = data[column]
    if values.isna().any():
        raise DataError(f"The protected column {column!r} is missing for {int(values.isna().sum())} people.")
    level, *reference = levels if isinstance(levels, tuple) else (levels,)
    if len(reference) > 1 or reference == [level]:
        raise DataError(f"protected is {protected!r}: compare one level with one other level.")
    for name in (level, *reference):
        if not (values == name).any():
            found = ", ".join(map(repr, values.unique()))
            raise DataError(f"Nobody in data has {column!r} equal to {name!r}; its levels are {found}.")
    ours = (values == level).to_numpy()
    others = (values == reference[0]).to_numpy() if reference else ~ours
    if not others.any():
        raise DataError(f"Everyone in data has {column!r} equal to {level!r}: there is nobody to compare them with.")
    return str(column), ours, others


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
