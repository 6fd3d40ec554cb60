"""Why error rates are unequal, from data and a diagram."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, get_args

import networkx as nx
import numpy as np
import pandas as pd

from causalaudit.adjustment import check_declared, check_overlap
from causalaudit.arguments import check_count, check_seed, check_share, check_types
from causalaudit.error_rates.explaining.criterion import find_explaining_set, open_path, split_features
from causalaudit.error_rates.explaining.crossed_rates import CrossedRates, UnaffectedRates
from causalaudit.error_rates.explaining.diagnostics import (
    BALANCE,
    WEIGHTS,
    chance_of,
    describe_balance,
    describe_weights,
    warn_of_weights,
)
from causalaudit.error_rates.explaining.estimators import Estimator, Method
from causalaudit.error_rates.explaining.question import RateQuestion, read_question
from causalaudit.error_rates.explaining.result import ErrorRateEstimate
from causalaudit.error_rates.explaining.sample import Sample
from causalaudit.error_rates.explaining.terms import (
    MEASURES,
    measure_rows,
    measure_values,
    rate_rows,
    term_rows,
    term_values,
)
from causalaudit.error_rates.explaining.uncertainty import EstimatedRates, resample
from causalaudit.error_rates.groups import declared_levels
from causalaudit.errors import CausalAuditWarning, DataError
from causalaudit.people import Protected, check_features, check_table
from causalaudit.randomness import label_places
from causalaudit.weights import read_weights

Interval = Literal["wald", "bootstrap"]
_ESTIMATED = tuple(measure for measure in MEASURES if not measure.natural)


def estimate_error_rates(
    data: pd.DataFrame,
    graph: "nx.DiGraph[Any]",
    classifier: Any,
    *,
    protected: Protected,
    outcome: str,
    features: Sequence[str],
    y: Any = 0,
    yhat: Any = 1,
    baseline: Any = None,
    contrast: Any = None,
    method: Method = "doubly_robust",
    interval: Interval = "wald",
    propensity: Any = "auto",
    expectation: Any = None,
    discrete: Sequence[str] | None = None,
    weights: str | None = None,
    trim: float = 0.0,
    alpha: float = 0.05,
    resamples: int = 1000,
    seed: int = 0,
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
        ``{column: level}`` or ``{column: (level, reference)}``, the protected level (the contrast) first; or a column
        of two levels, the second of which is the contrast: in the order that the program of `SCM.graph` declares. A
        diagram drawn by hand knows no levels; they are then in the order of a categorical column, else sorted.
    outcome
        The column of the true outcome.
    features
        What the classifier reads, with the protected column if it reads that. It is shown nothing else.
    y, yhat, baseline, contrast
        As in `decompose_error_rates`.
    method
        ``"doubly_robust"``: right if one of two models is, of the propensity P(x | c, y) or of the expectation
        E[θ(xd, w, z) | xi, c, y]; both are cross-fitted. ``"ipw"``: inverse propensity weights (Lemma 7),
        scaled to add up to one.
        ``"plugin"``: a logistic regression of the answers put into Lemma 6, right only if these are of that form. With
        saturated propensities all are the same number. Where nothing that the classifier reads descends from the
        protected attribute or the outcome, none is used: N(xd, xi | x) = N(xd, x | x) exactly.
    interval
        ``"wald"``: from the influence function. ``"bootstrap"``: percentiles over Dirichlet weights of the people.
    propensity
        How P(x | c, y) depends on the covariates: ``"saturated"``, with a probability for each combination of values;
        ``"logistic"``, by logistic regression; for doubly robust estimates also any classifier of scikit-learn.
        ``"auto"``: saturated if all covariates are discrete (and, for doubly robust estimates, twenty people have each
        combination on average); else, doubly robust, the better of gradient boosting and a logistic regression on
        splines, by cross-validation; otherwise logistic. Which it was is in `settings`: ``propensity``, ``expectation``
        and ``covariates``.
    expectation
        For doubly robust estimates: a classifier or regressor of scikit-learn. Default: as for the propensity.
    discrete
        Covariates that are discrete. Others are if they have levels (text, categories, booleans), or at most ten
        different numbers. In a regression numbers enter as numbers unless they are declared here.
    weights
        A column of survey weights: rates, propensities, expectations and intervals are those of the population that
        people were drawn from, independently, with probabilities in inverse proportion to their weights.
    trim
        Leave out people among whose likes one of the two levels is rarer than this; how many is reported in
        `trimmed`, and the answer is then about the others.
    alpha
        The level of the intervals.
    resamples
        How many sets of weights a bootstrap draws.
    seed
        Of the bootstrap, and of the folds of doubly robust estimates.
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

    Warns
    -----
    CausalAuditWarning
        If nothing explains; if covariates stay unbalanced after weighting, if the people who stand for others are worth
        fewer than thirty, or if many have hardly any likes of the other level (see `balance` and `weights`).

    Notes
    -----
    The direct measure is equation 5 of the paper, with the weights of equation 8. The indirect one is equation 6, the
    spurious one equation 7: these name the wrong level, and the paper's inverse propensity weights for the indirect
    measure the wrong propensity; here they are corrected. That the terms sum to the total holds for any C, and says
    nothing about whether C explains. Intervals after trimming take it as given who was left out.

    References
    ----------
    Zhang and Bareinboim (2018), Equality of opportunity in classification: a causal approach, Theorem 3, Theorem 8,
    Lemma 6 and Lemma 7.

    Examples
    --------
    >>> import causalaudit as ca
    >>> scm = ca.models.standard_prediction.scm_b()
    >>> people = scm.prior_predictive(2000, draws=1).isel(draw=0).to_dataframe()[["Z", "X", "W", "Y", "D"]]
    >>> rule = lambda people: people.X + people.Z >= 2
    >>> result = ca.estimate_error_rates(people, scm.graph, rule, protected="X", outcome="Y", features=["X", "Z"])
    >>> sorted(result.explaining_set), result.summary()["mean"].round(2).to_dict()
    (['Z'], {'total': 0.64, 'direct': 0.27, 'indirect': 0.0, 'spurious': 0.36})
    """
    check_types(estimate_error_rates, locals())
    _check_options(interval, trim)
    estimator = Estimator.of(method, propensity, expectation, seed)
    alpha, seed = check_share("alpha", alpha), check_seed(seed)
    check_count("resamples", resamples)
    if interval == "bootstrap" and resamples < 2:
        raise DataError(f"resamples is {resamples}, but an interval needs at least 2, and a good one hundreds.")
    check_table(data)
    data = data.iloc[np.argsort(label_places(data.index))]  # folds and resamples do not depend on the order of rows
    survey = None if weights is None else read_weights(data, weights)
    if survey is not None:
        data, survey = data[survey > 0], survey[survey > 0]
    question = read_question(
        data, classifier, protected, outcome, features=check_features(data, features), y=y, yhat=yhat,
        baseline=baseline, contrast=contrast, levels=declared_levels(graph),
    )  # fmt: skip
    question.refuse_few(data)
    declared = check_declared(data, discrete)
    covariates = find_explaining_set(graph, question.rate.features, question.protected, outcome=outcome)
    affected, _ = split_features(graph, question.rate.features, question.protected, outcome=outcome)
    mediators = [name for name in question.features if name in affected]
    sample = Sample.of(question, data, sorted(covariates or ()), declared, mediators, survey)
    settings = {
        **question.settings,
        "method": method,
        "interval": interval,
        "propensity": None,
        "expectation": None,
        "covariates": sample.covariates.kinds,
        "trim": trim,
        "alpha": alpha,
        "resamples": resamples if interval == "bootstrap" else None,
        "seed": seed,
        **({} if weights is None else {"weights": weights}),
    }
    adjusted: CrossedRates | UnaffectedRates | None = None
    if covariates is None:
        _warn_of_open_path(graph, question)
    elif mediators:
        adjusted = _adjusted(sample, estimator, trim)
        settings.update(estimator.names(adjusted))
    else:
        adjusted = UnaffectedRates(sample)
    people = sample if adjusted is None else adjusted.sample
    trimmed, sample = len(sample) - len(people), people
    drawn = resample(sample, adjusted, resamples, seed, progress) if interval == "bootstrap" else None
    estimated = EstimatedRates(sample, adjusted, alpha, drawn)
    return _answer(estimated, settings, covariates, trimmed)


def _check_options(interval: str, trim: float) -> None:
    if interval not in get_args(Interval):
        raise DataError(f"interval is {interval!r}, but must be one of {', '.join(get_args(Interval))}.")
    if not 0 <= trim < 0.5:
        raise DataError(f"trim is {trim!r}, but must be a propensity of at least 0 and below 0.5.")


def _warn_of_open_path(graph: "nx.DiGraph[Any]", question: RateQuestion) -> None:
    path = open_path(graph, question.rate.features, question.protected, outcome=question.outcome)
    warnings.warn(
        f"No covariates explain a classifier of {', '.join(question.rate.features)} in this diagram: a path stays "
        f"open, {path}. Indirect and spurious terms are not identified; the total and the direct terms relative to "
        "people's own level (decompositions 1 and 4) are, for any diagram. Leave out features, or give an SCM to "
        "decompose_error_rates.",
        CausalAuditWarning,
        stacklevel=3,
    )


def _adjusted(sample: Sample, estimator: Estimator, trim: float) -> CrossedRates:
    """Return the estimates for those who are not trimmed."""
    result = estimator.fit(sample)
    kept = chance_of(result) >= trim
    if not kept.all():
        people = sample.only(kept)
        if (people.has.sum(axis=1) < 1).any():
            raise DataError(
                f"With trim={trim}, {int((~kept).sum())} of {len(kept)} people are left out, all of one level."
            )
        result = estimator.fit(people)
    question, everyone = sample.question, np.ones(len(result.sample), dtype=bool)
    for level, chance in zip(question.levels, (1 - result.chance, result.chance), strict=True):
        group = f"{question.protected!r} = {level!r}, among those with {question.outcome!r} = {question.y!r},"
        advice = "Leave such people out by `trim`, coarsen the covariates, or use propensity='logistic'."
        check_overlap(chance, everyone, result.sample.covariates, group, advice)
    return result


def _answer(
    estimated: EstimatedRates, settings: dict[str, Any], covariates: frozenset[str] | None, trimmed: int
) -> ErrorRateEstimate:
    levels, adjusted = estimated.sample.question.levels, estimated.adjusted
    names, weights, balance = rate_rows(levels), pd.DataFrame(columns=WEIGHTS), pd.DataFrame(columns=BALANCE)
    if adjusted is not None and not isinstance(adjusted, UnaffectedRates):
        weights, balance = describe_weights(adjusted), describe_balance(adjusted)
        warn_of_weights(adjusted, weights, balance, stacklevel=4)
    return ErrorRateEstimate(
        table=term_rows().join(estimated.table(term_values)),
        settings=settings,
        measures=measure_rows(levels, _ESTIMATED).join(
            estimated.table(lambda rates: measure_values(rates, _ESTIMATED))
        ),
        rates=names[names["given"].notna()]
        .reset_index(drop=True)
        .join(estimated.table(lambda rates: rates.reshape(*rates.shape[:-3], 8))),
        explaining_set=covariates,
        weights=weights,
        balance=balance,
        trimmed=trimmed,
        draws=estimated.resampled,
    )
