"""Why error rates are unequal, from data and a diagram."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import networkx as nx
import numpy as np
import pandas as pd
from scipy.stats import norm

from causalaudit.error_rates.explaining.adjustment import Adjustment, Logistic, Saturated, check_overlap
from causalaudit.error_rates.explaining.classifier import rate_of
from causalaudit.error_rates.explaining.criterion import find_explaining_set, open_path
from causalaudit.error_rates.explaining.question import (
    Question,
    check_columns,
    compared_levels,
    fewest_people,
    levels_in,
    protected_column,
)
from causalaudit.error_rates.explaining.result import ErrorRateEstimate
from causalaudit.error_rates.explaining.sample import Sample, spread
from causalaudit.error_rates.explaining.terms import (
    MEASURES,
    measure_rows,
    measure_values,
    rate_rows,
    term_rows,
    term_values,
)
from causalaudit.errors import CausalAuditWarning, DataError, check_count
from causalaudit.progress import watched
from causalaudit.randomness import generator

Method = Literal["ipw", "plugin"]
Interval = Literal["wald", "bootstrap"]
Propensity = Literal["auto", "saturated", "logistic"]
_DISCRETE = 10  # distinct numbers, up to which a covariate has cells
# Numbers (draws x people) of one pass of the bootstrap: 8 MiB, of which a dozen are alive at once.
_BUDGET = 2**20
_ESTIMATED = tuple(measure for measure in MEASURES if not measure.natural)


def estimate_error_rates(
    data: pd.DataFrame,
    graph: "nx.DiGraph[Any]",
    classifier: Any,
    protected: str | Mapping[str, Any],
    outcome: str,
    features: Sequence[str],
    y: Any = 0,
    yhat: Any = 1,
    baseline: Any = None,
    contrast: Any = None,
    method: Method = "ipw",
    interval: Interval = "wald",
    alpha: float = 0.05,
    seed: int = 0,
    propensity: Propensity = "auto",
    trim: float = 0.0,
    draws: int = 1000,
    progress: bool = True,
) -> ErrorRateEstimate:
    """Explain a difference of error rates by direct, indirect and spurious paths, from data and a causal diagram.

    No SCM is needed where covariates C explain the classifier (`find_explaining_set`): then

        N(xd, xi | x, y) = Σ θ(xd, w, z) P(w | xi, c, y) P(c | x, y)                                       (Lemma 6)

    is a function of the distribution of the data. Where none do, the total and the direct terms relative to the
    people's own level (that of the first decomposition, and that of the fourth) are identified nevertheless, for any
    diagram: they are given, the others are NaN, and a warning names the path that stays open.

    Parameters
    ----------
    data
        The people, with the columns of features, protected attribute, outcome and covariates.
    graph
        The causal diagram, from `SCM.graph` or `causalaudit.diagram`.
    classifier
        A function of a table that returns labels, or probabilities of the label 1; or a fitted scikit-learn
        classifier. It is taken as it is: intervals are not about how it was learnt.
    protected
        A column of two levels, or ``{column: (level0, level1)}``.
    outcome
        The column of the true outcome.
    features
        What the classifier reads, with the protected column if it reads that. It is shown nothing else.
    y, yhat, baseline, contrast
        As in `decompose_error_rates`.
    method
        ``"ipw"``: inverse propensity weights (Lemma 7). ``"plugin"``: probabilities put into Lemma 6. With saturated
        propensities the two are the same number.
    interval
        ``"wald"``: from the influence function. ``"bootstrap"``: percentiles over Dirichlet weights of the people.
    alpha
        The level of the intervals.
    seed
        Of the bootstrap.
    propensity
        How P(x | c, y), and for the plug-in P(ŷ | x, c, y), depend on the covariates: ``"saturated"``, with a
        probability for each combination of values; ``"logistic"``, by logistic regression; ``"auto"``: saturated if no
        covariate is a number with more than ten distinct values.
    trim
        Leave out people among whose likes one of the two levels is rarer than this; how many is reported in
        `trimmed`, and the answer is then about the others.
    draws
        Of the bootstrap.
    progress
        Show a bar when it is long.

    Returns
    -------
    ErrorRateEstimate

    Raises
    ------
    DataError
        If the classifier reads the outcome, if there is no overlap (the level with propensity 0 is named), or if too
        few people have X = x and Y = y.

    Notes
    -----
    Equations 6 and 7 of the paper name the wrong level, and its inverse propensity weights for the indirect measure the
    wrong propensity; here they are corrected. That the terms sum to the total holds for any C, and says nothing about
    whether C explains. Intervals after trimming take it as given who was left out.

    References
    ----------
    Zhang and Bareinboim (2018), Equality of opportunity in classification: a causal approach, theorems 3 and 8.

    Examples
    --------
    >>> import causalaudit as ca
    >>> scm = ca.models.standard_prediction.scm_b()
    >>> people = scm.prior_predictive(2000, draws=1).isel(draw=0).to_dataframe()[["Z", "X", "W", "Y", "D"]]
    >>> rule = lambda people: people.X + people.Z >= 2
    >>> result = ca.estimate_error_rates(people, scm.graph, rule, "X", "Y", features=["X", "Z"])
    >>> sorted(result.explaining_set), result.summary()["mean"].round(2).to_dict()
    (['Z'], {'total': 0.64, 'direct': 0.27, 'indirect': 0.0, 'spurious': 0.36})
    """
    _check_options(method, interval, propensity, alpha, trim)
    check_count("draws", draws)
    question = _question(data, classifier, protected, outcome, features, y, yhat, baseline, contrast)
    covariates = find_explaining_set(graph, question.rate.features, question.protected, outcome)
    sample = Sample.of(question, data, _available(data, sorted(covariates or ())))
    settings = {**question.settings, "method": method, "interval": interval, "alpha": alpha, "seed": seed, "trim": trim}
    if covariates is None:
        _warn_of_open_path(graph, question)
        return _answer(sample, None, None, {**settings, "propensity": None}, 0, draws, progress)
    kind = _kind(sample, propensity)
    adjustment, kept = _adjust(sample, kind, method, trim)
    settings["propensity"] = kind
    return _answer(adjustment.sample, covariates, adjustment, settings, int((~kept).sum()), draws, progress)


def _check_options(method: str, interval: str, propensity: str, alpha: float, trim: float) -> None:
    for name, value, choices in (
        ("method", method, get_args(Method)),
        ("interval", interval, get_args(Interval)),
        ("propensity", propensity, get_args(Propensity)),
    ):
        if value not in choices:
            raise DataError(f"{name} is {value!r}, but must be one of {', '.join(choices)}.")
    if not 0 < alpha < 1:
        raise DataError(f"alpha is {alpha!r}, but must be a level between 0 and 1.")
    if not 0 <= trim < 0.5:
        raise DataError(f"trim is {trim!r}, but must be a propensity of at least 0 and below 0.5.")


def _question(
    data: pd.DataFrame, classifier: Any, protected: str | Mapping[str, Any], outcome: str, features: Sequence[str],
    y: Any, yhat: Any, baseline: Any, contrast: Any,
) -> Question:  # fmt: skip
    """Return the question about the people of a table, checked."""
    check_columns(data, ())
    names = [str(name) for name in data.columns]
    column = protected_column(protected, outcome, names, "data")
    rate = rate_of(classifier, yhat, features, names, outcome)
    check_columns(data, [column, outcome, *rate.features])
    levels = compared_levels(protected, baseline, contrast, levels_in(data, column))
    question = Question(column, levels, outcome, y, rate)
    fewest_people(question, data[column], data[outcome])
    return question


def _available(data: pd.DataFrame, covariates: list[str]) -> list[str]:
    check_columns(data, covariates)
    return covariates


def _warn_of_open_path(graph: "nx.DiGraph[Any]", question: Question) -> None:
    path = open_path(graph, question.rate.features, question.protected, question.outcome)
    warnings.warn(
        f"No covariates explain a classifier of {', '.join(question.rate.features)} in this diagram: a path stays "
        f"open, {path}. Indirect and spurious terms are not identified; the total and the direct terms relative to "
        "people's own level (decompositions 1 and 4) are, for any diagram. Leave out features, or give an SCM to "
        "decompose_error_rates.",
        CausalAuditWarning,
        stacklevel=3,
    )


def _kind(sample: Sample, propensity: str) -> str:
    """Return how propensities depend on the covariates."""
    if propensity != "auto":
        return propensity
    numbers = [column for _, column in sample.covariates.items() if pd.api.types.is_numeric_dtype(column)]
    return "logistic" if any(column.nunique() > _DISCRETE for column in numbers) else "saturated"


def _adjust(sample: Sample, kind: str, method: str, trim: float) -> tuple[Saturated | Logistic, np.ndarray]:
    """Return the adjustment of those who are not trimmed, and who they are."""

    def adjustment(people: Sample) -> Saturated | Logistic:
        return Saturated(people) if kind == "saturated" else Logistic(people, weighted=method == "ipw")

    first = adjustment(sample)
    rarer = np.minimum(first.propensity, 1 - first.propensity)
    kept = rarer >= trim
    result = first if kept.all() else adjustment(_kept(sample, kept, trim))
    check_overlap(result.sample, result.propensity)
    return result, kept


def _kept(sample: Sample, kept: np.ndarray, trim: float) -> Sample:
    people = sample.only(kept)
    if (people.has.sum(axis=1) < 1).any():
        raise DataError(f"With trim={trim}, {int((~kept).sum())} of {len(kept)} people are left out, all of one level.")
    return people


def _answer(
    sample: Sample,
    covariates: frozenset[str] | None,
    adjustment: Saturated | Logistic | None,
    settings: dict[str, Any],
    trimmed: int,
    draws: int,
    progress: bool,
) -> ErrorRateEstimate:
    levels = sample.question.levels
    rates = _rates(sample, adjustment, np.ones((1, len(sample))))[0]
    replicates = None
    if settings["interval"] == "bootstrap":
        replicates = _bootstrap(sample, adjustment, draws, settings["seed"], progress)
        settings = {**settings, "draws": draws}
    influence = _influence(sample, adjustment, rates)

    def table(function: Any) -> pd.DataFrame:
        value, alpha = function(rates), settings["alpha"]
        if replicates is None:
            error = np.sqrt((function(influence) ** 2).sum(axis=0)) / len(sample)
            half = norm.ppf(1 - alpha / 2) * error
            low, high = value - half, value + half
        else:
            drawn = function(replicates)
            error = drawn.std(axis=0, ddof=1)
            low, high = np.quantile(drawn, [alpha / 2, 1 - alpha / 2], axis=0)
        return pd.DataFrame(
            {"mean": value, "sd": error, "ci_low": low, "ci_high": high, "identified": np.isfinite(value)}
        )

    names = rate_rows(levels)
    return ErrorRateEstimate(
        table=term_rows().join(table(term_values)),
        settings=settings,
        measures=measure_rows(levels, _ESTIMATED).join(table(lambda r: measure_values(r, _ESTIMATED))),
        rates=names[names["given"].notna()].reset_index(drop=True).join(table(lambda r: r.reshape(*r.shape[:-3], 8))),
        explaining_set=covariates,
        weights=None if adjustment is None else _weights(sample, adjustment),
        trimmed=trimmed,
        draws=replicates,
    )


def _rates(sample: Sample, adjustment: Adjustment | None, weights: np.ndarray) -> np.ndarray:
    """Return N(xd, xi | x, y) by set of weights, xd, xi and x; NaN where xi ≠ x and nothing explains."""
    own = sample.own_rates(weights)
    return spread(own, np.full_like(own, np.nan) if adjustment is None else adjustment.crossed(weights))


def _influence(sample: Sample, adjustment: Adjustment | None, rates: np.ndarray) -> np.ndarray:
    own = sample.own_influence(np.stack([rates[:, x, x] for x in (0, 1)], axis=-1))
    if adjustment is None:
        return spread(own, np.full_like(own, np.nan))
    return spread(own, adjustment.influence(np.stack([rates[:, xi, 1 - xi] for xi in (0, 1)], axis=-1)))


def _bootstrap(sample: Sample, adjustment: Adjustment | None, draws: int, seed: int, progress: bool) -> np.ndarray:
    """Return the rates under Dirichlet weights of the people."""
    size = max(1, _BUDGET // len(sample))
    starts = range(0, draws, size)
    parts = []
    for start in watched(starts, len(starts), "Bootstrap", progress):
        numbers = range(start, min(start + size, draws))
        weights = np.stack([generator(seed, "bootstrap", draw).standard_exponential(len(sample)) for draw in numbers])
        parts.append(_rates(sample, adjustment, weights))
    return np.concatenate(parts)


def _weights(sample: Sample, adjustment: Adjustment) -> pd.DataFrame:
    """Describe the weights with which people of one level stand for those of the other."""
    rows = []
    for xi, chance in enumerate((1 - adjustment.propensity, adjustment.propensity)):
        weight = ((1 - chance) / chance)[sample.x == xi]
        rows.append(
            {
                "of": sample.question.levels[xi],
                "standing_for": sample.question.levels[1 - xi],
                "people": len(weight),
                "effective_people": weight.sum() ** 2 / (weight**2).sum(),
                "largest_weight": weight.max() / weight.mean(),
                "smallest_propensity": chance.min(),
            }
        )
    return pd.DataFrame(rows)
