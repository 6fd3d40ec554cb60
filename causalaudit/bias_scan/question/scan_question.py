"""What is asked of a bias scan, checked, and the people as numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.adjustment import log_odds
from causalaudit.arguments import check_value
from causalaudit.bias_scan.question.criteria import Criterion, choose_criterion
from causalaudit.bias_scan.question.events import read_binary, read_probability
from causalaudit.bias_scan.question.features import Bins, ScannedFeature, check_bins, default_features, read_feature
from causalaudit.bias_scan.question.strata import Strata, count_people
from causalaudit.errors import DataError
from causalaudit.people import Groups, check_features, check_table, read_protected
from causalaudit.storage import storable

DIRECTIONS = ("positive", "negative")
SCALES = ("mean", "paper")


@storable
@dataclass(frozen=True, eq=False)
class ScanQuestion:
    """A scan of some people: the event, given what, in which direction, over which features.

    Attributes
    ----------
    criterion : Criterion
        What is compared.
    groups : Groups
        Who is protected, and against whom.
    positive : bool
        Whether the event is looked for where it is more frequent than expected.
    index : pandas.Index
        The people: those who are protected and those whom they are compared with.
    left_out : int
        How many people of the data are neither.
    protected : numpy.ndarray
        Who is protected.
    event, condition : numpy.ndarray
        The event (0/1, or a probability) and the conditioning variable of each person.
    event_column : str
        The column of the event.
    features, adjusted : list of ScannedFeature
        What is scanned, and what is adjusted for.
    scale : str
        "mean": mean predictions are compared with expected means; "paper": log-odds with log-odds of the mean.
    sigma : float
        The standard deviation of the paper's Gaussian score.
    """

    criterion: Criterion
    groups: Groups
    positive: bool
    index: pd.Index
    left_out: int
    protected: np.ndarray
    event: np.ndarray
    condition: np.ndarray
    event_column: str
    features: list[ScannedFeature]
    adjusted: list[ScannedFeature]
    scale: str = "mean"
    sigma: float = 1.0

    @property
    def gaussian(self) -> bool:
        """Whether the Gaussian score of Table 2 is used, on the scale of log-odds."""
        return self.criterion.probabilities and self.scale == "paper"

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
        return count_people(self.features, self.adjusted, self.condition, self.event, self.criterion.given, transformed)

    def of(self, people: np.ndarray) -> "ScanQuestion":
        """Return the same question about some of the people."""
        ours, event, condition = (part[people] for part in (self.protected, self.event, self.condition))
        features, adjusted = ([one.of(people) for one in part] for part in (self.features, self.adjusted))
        index = self.index[people]
        return replace(
            self, index=index, protected=ours, event=event, condition=condition, features=features, adjusted=adjusted
        )

    def parameter(self, shift: float) -> float:
        """Return q or μ of Table 2, given the shift in the direction looked for."""
        signed = shift if self.positive else -shift
        return signed if self.gaussian else float(np.exp(signed))

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
            for value in values:
                check_value(f"A value of {feature.name!r}", value)
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


def read_question(
    data: pd.DataFrame,
    protected: Mapping[str, Any],
    outcome: str,
    *,
    prediction: str | None = None,
    recommendation: str | None = None,
    criterion: str = "separation",
    given: Any = None,
    direction: str = "positive",
    features: Sequence[str] | None = None,
    adjust_for: Sequence[str] | None = None,
    bins: Bins = None,
    scale: str = "mean",
    sigma: float | None = None,
) -> ScanQuestion:
    """Check a table and what is asked of it; the arguments are those of `scan_bias`."""
    check_table(data)
    scan = choose_criterion(criterion, prediction, recommendation, given)
    if direction not in DIRECTIONS:
        raise DataError(f"direction is {direction!r}, but must be 'positive' or 'negative'.")
    _check_scale(scan, scale, sigma)
    groups = read_protected(data, protected)
    people = data[groups.protected(data) | groups.compared(data)]
    taken = {groups.column: "protected column", outcome: "outcome"}
    taken |= {str(prediction): "prediction"} if prediction is not None else {}
    taken |= {str(recommendation): "recommendation"} if recommendation is not None else {}
    chosen = check_features(people, default_features(people, taken) if features is None else features, taken)
    covariates = chosen if adjust_for is None else check_features(people, adjust_for, taken)
    check_bins(bins, [*chosen, *covariates])
    read = {name: read_feature(people, name, bins) for name in dict.fromkeys([*chosen, *covariates])}
    y = read_binary(people, outcome, "outcome")
    decided = (
        read_probability(people, str(prediction), by_log_odds=scale == "paper" or scan.log_odds)
        if scan.of == "prediction"
        else read_binary(people, str(recommendation), "recommendation")
    )
    of = str(prediction if scan.of == "prediction" else recommendation)
    separation = scan.criterion == "separation"
    event, condition = (decided, y) if separation else (y, decided)
    question = ScanQuestion(
        criterion=scan,
        groups=groups,
        positive=direction == "positive",
        index=people.index,
        left_out=len(data) - len(people),
        protected=groups.protected(people),
        event=1 - event if not scan.probabilities and scan.event == 0 else event,
        condition=condition,
        event_column=of if separation else outcome,
        features=[read[name] for name in chosen],
        adjusted=[read[name] for name in covariates],
        scale=scale,
        sigma=1.0 if sigma is None else float(sigma),
    )
    _check_filter(question, outcome if separation else of)
    return question


def _check_scale(scan: Criterion, scale: Any, sigma: Any) -> None:
    if scale not in SCALES:
        raise DataError(f"scale is {scale!r}, but must be 'mean' or 'paper'.")
    if sigma is None:
        return
    if isinstance(sigma, bool) or not isinstance(sigma, Real) or not 0 < float(sigma) < np.inf:
        raise DataError(f"sigma is {sigma!r}, but must be a number above 0.")
    if not (scan.probabilities and scale == "paper"):
        raise DataError(
            f"sigma is {sigma!r}, but only the Gaussian score has one, which is that of separation of predictions with "
            "scale='paper'; otherwise the spread is estimated."
        )


def _check_filter(question: ScanQuestion, name: str) -> None:
    given, inside = question.criterion.given, question.inside
    for whom, people in (("protected", question.protected), ("other", ~question.protected)):
        if not (people & inside).any():
            raise DataError(
                f"Of the {int(people.sum())} {whom} people nobody has {name!r} equal to {given}: the filter leaves no "
                "one. Choose another value of given, or none."
            )
