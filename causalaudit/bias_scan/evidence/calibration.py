"""Whether the two models can be trusted: calibration curves, overlap and separation."""

import warnings

import numpy as np
import pandas as pd

from causalaudit.adjustment import odds as odds_of
from causalaudit.bias_scan.evidence.expectations import FittedExpectations
from causalaudit.bias_scan.evidence.expected_people import ExpectedPeople
from causalaudit.bias_scan.question.scan_question import ScanQuestion
from causalaudit.bias_scan.question.strata import Strata
from causalaudit.errors import CausalAuditWarning

_BINS = 5
_POOR = 0.15  # a bin's deviation that is called poor, if it is no chance
_ERRORS = 3.0  # standard errors beyond which it is no chance
_FEW = 30.0  # people that weighted ones must amount to
_RARE = 20.0  # how much more frequent protected people may be at some covariates than on average
_SHARE = 0.1  # of protected people at such covariates, from which the overlap is thin
_SEPARATED = 0.05  # of protected people with a value at which the models are separated


def look_at_models(people: ExpectedPeople) -> pd.DataFrame:
    """Return the calibration curves of the models of people, none in a counterfactual scan; warn if they are poor."""
    if people.fitted is None:
        return pd.DataFrame(columns=["model", "bin", "predicted", "observed", "weight", "error"])
    curves = calibration_curves(people.strata, people.fitted, people.protected)
    said = [
        *_poor(curves),
        *_thin(people.question, people.strata, people.fitted),
        *_separated(people.question, people.fitted),
    ]
    for sentence in said:
        warnings.warn(sentence, CausalAuditWarning, stacklevel=3)
    return curves


def calibration_curves(strata: Strata, fitted: FittedExpectations, protected: np.ndarray) -> pd.DataFrame:
    """Return predicted and observed frequencies of both models in five bins of equal weight.

    The propensity model on everyone; the outcome model on those who are not protected, with their weights.

    Returns
    -------
    pandas.DataFrame
        `model` ("propensity", "outcome"), `bin`, `predicted`, `observed`, `weight` and `error` (a standard error of the
        observed frequency).

    References
    ----------
    Boxer, McFowland and Neill (2024), figures 9 to 12.
    """
    ours, everyone = strata.by_covariates(protected), strata.by_covariates(strata.count)
    others = strata.count - protected
    size, events = strata.by_stratum(others), strata.by_stratum(others * strata.event)
    odds = odds_of(fitted.propensity[0])[strata.covariates_of[strata.kept]]
    parts = {
        "propensity": _curve(fitted.propensity[0], ours, everyone, everyone),
        "outcome": _curve(fitted.chance[0], events * odds, size * odds, size * odds**2),
    }
    return pd.concat([part.assign(model=name) for name, part in parts.items()], ignore_index=True)[
        ["model", "bin", "predicted", "observed", "weight", "error"]
    ]


def _curve(chance: np.ndarray, events: np.ndarray, weight: np.ndarray, squares: np.ndarray) -> pd.DataFrame:
    held = weight > 0
    chance, events, weight, squares = (part[held] for part in (chance, events, weight, squares))
    place = np.unique(chance.round(12), return_inverse=True)[1]
    mass = np.bincount(place, weight)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    bins = np.minimum((middle * _BINS).astype(int), _BINS - 1)[place]
    total = np.bincount(bins, weight, _BINS)
    sums = [np.bincount(bins, part, _BINS) for part in (weight * chance, events, squares)]
    present = np.flatnonzero(total)
    predicted, observed, spread = (part[present] / total[present] for part in sums)
    error = np.sqrt(predicted * (1 - predicted) * spread / total[present])
    columns = {"predicted": predicted, "observed": observed, "weight": total[present], "error": error}
    return pd.DataFrame({"bin": np.arange(len(present)), **columns})


def _poor(curves: pd.DataFrame) -> list[str]:
    gap = (curves["observed"] - curves["predicted"]).abs()
    worst = curves.assign(gap=gap)[(gap > _POOR) & (gap > _ERRORS * curves["error"])]
    return [
        f"The {row.model} model is poorly calibrated: where it says {row.predicted:.2f}, the frequency is "
        f"{row.observed:.2f} (see result.calibration). Expectations may be wrong; give a more flexible model."
        for row in worst.sort_values("gap", ascending=False).drop_duplicates("model").itertuples()
    ]


def _thin(question: ScanQuestion, strata: Strata, fitted: FittedExpectations) -> list[str]:
    protected = strata.protected_counts(question.protected)
    place = strata.covariates_of[strata.kept]
    odds = odds_of(fitted.propensity[0])[place]
    ours, others = strata.by_stratum(protected), strata.by_stratum(strata.count - protected)
    effective = (others @ odds) ** 2 / max(others @ odds**2, 1e-300)
    share = ours[odds > _RARE * ours.sum() / others.sum()].sum() / ours.sum()
    if effective >= _FEW and share <= _SHARE:
        return []
    return [
        f"The overlap is thin: weighted to look like the protected people, the {others.sum():.0f} others amount to "
        f"{effective:.1f}, and {share:.0%} of the protected people have covariates that are more than {_RARE:.0f} "
        "times as frequent among the protected as among others. Expectations there are extrapolated: drop or group "
        "covariates."
    ]


def _separated(question: ScanQuestion, fitted: FittedExpectations) -> list[str]:
    said = []
    if fitted.separated:
        said.append(
            f"Separation: {fitted.separated} gave probabilities of 0 or 1, or had only one kind of event to learn "
            "from. They were regularised (half an event added, or kept a millionth away from 0 and 1); give a model "
            "with a penalty."
        )
    inside = question.inside
    ours, others = question.protected & inside, ~question.protected & inside
    touched, named = np.zeros(len(inside), dtype=bool), []
    for feature in question.adjusted:
        size = len(feature.values)
        number = np.bincount(feature.codes[others], minlength=size)
        events = np.bincount(feature.codes[others], question.event[others], size)
        bad = (events <= 0) | (events >= number)
        touched |= bad[feature.codes]
        named += [f"{feature.name} = {value}" for value, one in zip(feature.values, bad, strict=True) if one]
    share = (touched & ours).sum() / ours.sum()
    if share >= _SEPARATED and not fitted.separated:
        said.append(
            f"Separation: the people who are not protected never, or always, have the event at {', '.join(named)}, "
            f"where {share:.0%} of the protected people are. The default models stay finite by their penalty (L2, C = "
            "1) alone: expectations there lean on it. Group these values."
        )
    return said
