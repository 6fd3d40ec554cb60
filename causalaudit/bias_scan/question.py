"""What is asked of a bias scan, checked, and the people as numbers."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.bias_scan.columns import (
    Bins,
    Feature,
    binary,
    check_bins,
    choose_features,
    probability,
    protected_people,
    read_feature,
)
from causalaudit.bias_scan.criteria import Criterion, choose_criterion
from causalaudit.bias_scan.expectations import SMALLEST, log_odds
from causalaudit.bias_scan.scores import Evidence
from causalaudit.bias_scan.strata import Strata, count_people
from causalaudit.errors import CausalAuditWarning, DataError, check_count
from causalaudit.people import check_table

DIRECTIONS = ("positive", "negative")
NULLS = ("propensity", "permutation")


@dataclass(frozen=True)
class Question:
    """A scan of some people: the event, given what, in which direction, over which features.

    Attributes
    ----------
    criterion : Criterion
        What is compared.
    positive : bool
        Whether the event is looked for where it is more frequent than expected.
    index : pandas.Index
        The people.
    protected, inside : numpy.ndarray
        Who is protected, and who has the value of the conditioning variable that is asked for.
    event, condition : numpy.ndarray
        The event (0/1, or a probability) and the conditioning variable of each person.
    features : list of Feature
        What is scanned and adjusted for.
    """

    criterion: Criterion
    positive: bool
    index: "pd.Index[Any]"
    protected: np.ndarray
    event: np.ndarray
    condition: np.ndarray
    features: list[Feature]

    @property
    def inside(self) -> np.ndarray:
        """Who has the value of the conditioning variable that is asked for."""
        given = self.criterion.given
        return np.ones(len(self.index), dtype=bool) if given is None else self.condition == given

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each feature."""
        return tuple(len(feature.values) for feature in self.features)

    def strata(self) -> Strata:
        """Count the people."""
        transformed = log_odds(self.condition) if self.criterion.log_odds else self.condition
        return count_people(self.features, self.condition, self.event, self.criterion.given, transformed)

    def some(self, people: np.ndarray) -> "Question":
        """Return the same question about some of the people."""
        features = [
            Feature(one.name, one.values, one.codes[people], one.kinds, one.kind[people], one.columns)
            for one in self.features
        ]
        ours, event, condition = (part[people] for part in (self.protected, self.event, self.condition))
        return Question(self.criterion, self.positive, self.index[people], ours, event, condition, features)

    def evidence(self, strata: Strata, protected: np.ndarray, chance: np.ndarray) -> Evidence:
        """Return what protected people show against their expectation, turned to the direction looked for.

        Parameters
        ----------
        strata
            The people.
        protected
            Tables × records: how many are protected.
        chance
            Tables × kept strata: expectations.
        """
        size = strata.by_stratum(protected)
        if self.criterion.gaussian:
            total = strata.by_stratum(protected * log_odds(strata.event)) - size * log_odds(chance)
            return Evidence(size, total if self.positive else -total, chance, strata.cell, gaussian=True)
        events = strata.by_stratum(protected * strata.event)
        if self.positive:
            return Evidence(size, events, chance, strata.cell, gaussian=False)
        return Evidence(size, size - events, 1 - chance, strata.cell, gaussian=False)

    def parameter(self, shift: float) -> float:
        """Return q or μ of Table 2, given the shift in the direction looked for."""
        signed = shift if self.positive else -shift
        return signed if self.criterion.gaussian else float(np.exp(signed))

    def describe(self, masks: Sequence[np.ndarray]) -> dict[str, list[Any]]:
        """Return the values of a subgroup by feature; features with all their values are left out."""
        return {
            feature.name: [value for value, held in zip(feature.values, mask, strict=True) if held]
            for feature, mask in zip(self.features, masks, strict=True)
            if not mask.all()
        }

    def masks(self, subgroup: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
        """Return which values of each feature a described subgroup holds."""
        names = [feature.name for feature in self.features]
        for name in subgroup:
            if name not in names:
                raise DataError(f"The subgroup names {name!r}, which is not a feature: {', '.join(map(repr, names))}.")
        masks = []
        for feature in self.features:
            asked = subgroup.get(feature.name, feature.values)
            values = list(asked) if isinstance(asked, (list, tuple, set, np.ndarray)) else [asked]
            unknown = [value for value in values if value not in feature.values]
            if unknown or not values:
                held = ", ".join(map(str, feature.values))
                raise DataError(f"The subgroup lists {values!r} of {feature.name!r}, which has the values {held}.")
            masks.append(np.array([value in values for value in feature.values]))
        return tuple(masks)

    def members(self, masks: Sequence[np.ndarray]) -> np.ndarray:
        """Return who has the values of a subgroup, protected or not, filtered or not."""
        held = [mask[feature.codes] for feature, mask in zip(self.features, masks, strict=True)]
        return np.logical_and.reduce(held)


def ask(
    data: pd.DataFrame,
    protected: Mapping[str, Any],
    outcome: str,
    prediction: str | None,
    recommendation: str | None,
    criterion: str,
    given: Any,
    direction: str,
    features: Sequence[str] | None,
    bins: Bins,
) -> Question:
    """Check a table and what is asked of it."""
    check_table(data)
    scan = choose_criterion(criterion, prediction, recommendation, given)
    if direction not in DIRECTIONS:
        raise DataError(f"direction is {direction!r}, but must be 'positive' or 'negative'.")
    name, ours = protected_people(data, protected)
    taken = {name: "protected column", outcome: "outcome"}
    taken |= {str(prediction): "prediction"} if prediction is not None else {}
    taken |= {str(recommendation): "recommendation"} if recommendation is not None else {}
    chosen = choose_features(data, features, taken)
    check_bins(bins, chosen)
    y = binary(data, outcome, "outcome")
    decided = (
        probability(data, str(prediction))
        if scan.of == "prediction"
        else binary(data, str(recommendation), "recommendation")
    )
    event, condition = (decided, y) if scan.criterion == "separation" else (y, decided)
    if not scan.gaussian and scan.event == 0:
        event = 1 - event
    question = Question(
        scan, direction == "positive", data.index, ours, event, condition,
        [read_feature(data, feature, bins) for feature in chosen],
    )  # fmt: skip
    _check_filter(question, outcome if scan.criterion == "separation" else str(recommendation))
    if scan.of == "prediction":
        _announce_certainty(decided)
    return question


def _check_filter(question: Question, name: str) -> None:
    given, inside = question.criterion.given, question.inside
    for whom, people in (("protected", question.protected), ("other", ~question.protected)):
        if not (people & inside).any():
            raise DataError(
                f"Of the {int(people.sum())} {whom} people nobody has {name!r} equal to {given}: the filter leaves no "
                "one. Choose another value of given, or none."
            )


def _announce_certainty(chance: np.ndarray) -> None:
    certain = int(((chance < SMALLEST) | (chance > 1 - SMALLEST)).sum())
    if certain:
        warnings.warn(
            f"{certain} of {len(chance)} predictions are 0 or 1, whose log-odds are infinite: they are taken as "
            f"{SMALLEST:g} and {1 - SMALLEST:g}, and the answer may hang on that. Smooth the predictions to avoid it.",
            CausalAuditWarning,
            stacklevel=4,
        )


def check_numbers(
    penalty: float,
    iterations: int,
    permutations: int,
    null: str,
    draws: int,
    split: float | None,
    top: int,
    alpha: float,
    prob: float,
) -> None:
    """Refuse settings that make no sense."""
    check_count("iterations", iterations)
    check_count("top", top)
    for name, count in (("permutations", permutations), ("draws", draws)):
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
            raise DataError(f"{name} is {count!r}, but must be a whole number of at least 0.")
    if not _number(penalty) or not 0 <= penalty < np.inf:
        raise DataError(f"penalty is {penalty!r}, but must be a number of at least 0.")
    if null not in NULLS:
        raise DataError(f"null is {null!r}, but must be 'propensity' or 'permutation'.")
    for name, value in (("alpha", alpha), ("prob", prob), ("split", 0.5 if split is None else split)):
        if not _number(value) or not 0 < value < 1:
            raise DataError(f"{name} is {value!r}, but must be a number between 0 and 1.")


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
