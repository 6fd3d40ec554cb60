"""What is asked of a situation test, checked once: who is compared with whom, by what, and when it is a case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_count, check_seed, check_share
from causalaudit.decisions import Decision
from causalaudit.errors import DataError
from causalaudit.people import Groups, check_features, check_table, read_protected
from causalaudit.situation_testing.shift import Shift, ShiftedGroups, read_shift
from causalaudit.storage import storable

DIRECTIONS = ("negative", "positive")


@storable
@dataclass(frozen=True, eq=False)
class SituationQuestion:
    """The question of a situation test.

    Attributes
    ----------
    groups
        Who is protected, and whom they are compared with.
    features
        The columns by which people are compared.
    sizes
        The sizes of the groups, ascending.
    alpha, prob
        The level of confidence intervals, the probability of credible ones.
    tau
        The accepted deviation.
    centres
        Whether complainant and counterfactual are counted in their groups (Remark 4.2).
    direction
        Of the discrimination: "negative" is against the complainant, "positive" in her favour.
    max_distance
        How far a neighbour may be.
    seed
        Of the draws of rejection rates.
    decimals
        To how many decimals differences and bounds are rounded before they are compared.
    """

    groups: Groups | ShiftedGroups
    features: list[str]
    sizes: tuple[int, ...]
    alpha: float = 0.05
    prob: float = 0.9
    tau: float = 0.0
    centres: bool = False
    direction: str = "negative"
    max_distance: float | None = None
    seed: int = 0
    decimals: int | None = None

    def __post_init__(self) -> None:
        check_share("alpha", self.alpha)
        check_share("prob", self.prob)
        check_seed(self.seed)
        if not _is_number(self.tau) or not -1 <= self.tau <= 1:
            raise DataError(f"tau is {self.tau!r}, but must be a number from -1 to 1.")
        if self.direction not in DIRECTIONS:
            raise DataError(f"direction is {self.direction!r}, but must be one of {', '.join(map(repr, DIRECTIONS))}.")
        if self.max_distance is not None and (not _is_number(self.max_distance) or not self.max_distance > 0):
            raise DataError(f"max_distance is {self.max_distance!r}, but must be a positive number.")

    @property
    def negative(self) -> bool:
        """Whether discrimination is against the complainant, not in favour."""
        return self.direction == "negative"

    @property
    def case(self) -> str:
        """What a case is, in words."""
        return f"delta {'>' if self.negative else '<'} {self.tau:g}"

    def beyond(self, values: np.ndarray) -> np.ndarray:
        """Return whether values lie beyond the accepted deviation; an undefined one does not.

        Of delta this is individual discrimination: Definition 4.4, in favour of the complainant Definition B.1.
        """
        if self.decimals is not None:
            values = np.round(values, self.decimals)
        return values > self.tau if self.negative else values < self.tau

    def flips(self, rejected: np.ndarray, counterfactual: np.ndarray) -> np.ndarray:
        """Return who would have had a better (or, in favour: a worse) decision: counterfactual unfairness."""
        return rejected & ~counterfactual if self.negative else ~rejected & counterfactual

    @property
    def setting(self) -> dict[str, Any]:
        """The question in plain values."""
        return {
            "protected": self.groups.setting,
            "features": [str(name) for name in self.features],
            "k": list(self.sizes),
            "alpha": float(self.alpha),
            "prob": float(self.prob),
            "tau": float(self.tau),
            "centres": self.centres,
            "direction": self.direction,
            "max_distance": None if self.max_distance is None else float(self.max_distance),
            "seed": int(self.seed),
        }


def ask_situation(
    data: pd.DataFrame,
    decision: Decision,
    protected: Mapping[str, Any],
    features: Sequence[str],
    k: int | Sequence[int],
    **options: Any,
) -> SituationQuestion:
    """Read what the user asks, in the way that all auditors share; the options are those of the question."""
    check_table(data)
    column, shift = _shift_of(protected)
    levels = read_protected(data, protected) if shift is None else None
    taken = {column if levels is None else levels.column: "protected column"}
    if isinstance(decision, str):
        taken[decision] = "decision"
    names = check_features(data, features, taken)
    if levels is not None:
        control, test = int(levels.protected(data).sum()) - 1, int(levels.compared(data).sum())
        return SituationQuestion(levels, names, check_sizes(k, control, test), **options)
    assert shift is not None
    sizes = check_sizes(k, len(data) - 1, len(data) - 1)
    return SituationQuestion(read_shift(data, column, shift, sizes[-1]), names, sizes, **options)


def _shift_of(protected: Any) -> tuple[Any, Shift | None]:
    """Return the column and its shift, if `protected` is one."""
    if isinstance(protected, Mapping) and len(protected) == 1:
        ((column, level),) = protected.items()
        if isinstance(level, Shift):
            return column, level
    return None, None


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


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
