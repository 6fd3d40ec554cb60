"""Why error rates are unequal, from a posterior: direct, indirect and spurious contributions with their uncertainty."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from causalaudit.error_rates.explaining.bootstrap import bootstrap_rates
from causalaudit.error_rates.explaining.classifier import rate_of
from causalaudit.error_rates.explaining.exact import exact_rates
from causalaudit.error_rates.explaining.frames import People
from causalaudit.error_rates.explaining.monte_carlo import noise_covariance, without_noise
from causalaudit.error_rates.explaining.question import (
    Question,
    compared_levels,
    fewest_people,
    levels_in,
    protected_column,
)
from causalaudit.error_rates.explaining.result import ErrorRateResult, summarise
from causalaudit.error_rates.explaining.simulated import simulated_rates
from causalaudit.error_rates.explaining.terms import (
    SHAPE,
    measure_rows,
    measure_values,
    rate_rows,
    term_rows,
    term_values,
)
from causalaudit.errors import DataError
from causalaudit.inference import Posterior
from causalaudit.scm.columns import check_support

Population = Literal["simulate", "exact", "bootstrap"]


def decompose_error_rates(
    posterior: Posterior,
    classifier: Any,
    protected: str | Mapping[str, Any],
    outcome: str,
    features: Sequence[str] | None = None,
    y: Any = 0,
    yhat: Any = 1,
    baseline: Any = None,
    contrast: Any = None,
    population: Population = "simulate",
    draws: int | None = None,
    prob: float = 0.9,
    seed: int = 0,
    progress: bool = True,
) -> ErrorRateResult:
    """Explain a difference of error rates by direct, indirect and spurious paths, from a fitted SCM.

    The rate at which a classifier gives the label `yhat` to people with the outcome `y` differs between two levels of
    a protected attribute. How much of that is because the classifier reads the attribute (direct), because the
    attribute changes the other features (indirect), and because the groups differ otherwise (spurious)? All follows
    from one nested counterfactual,

        N(xd, xi | x, y) = P(Ŷ = ŷ, the classifier reading X = xd and features as they would be under do(X = xi, Y = y),
        of people with X = x and Y = y).

    Parameters
    ----------
    posterior
        From `fit`.
    classifier
        A function of a table that returns labels, or probabilities of the label 1; or a fitted scikit-learn
        classifier.
    protected
        A column of two levels, or ``{column: (level0, level1)}``.
    outcome
        The column of the true outcome, a variable of the SCM, which the classifier must not read.
    features
        What the classifier reads; default what it was fitted on (`feature_names_in_`), else all variables but the
        outcome. It is shown nothing else.
    y, yhat
        The outcome and the label whose rate is explained: 0 and 1 for false positives, 1 and 0 for false negatives, 1
        and 1 for true positives.
    baseline, contrast
        The levels x0 and x1; default the first and the second.
    population
        ``"simulate"``: people drawn from the SCM at each draw of the parameters, about as many as the data have (1,024
        to 32,768); what their number adds to the variance is estimated and taken out. ``"exact"``: the same without
        Monte-Carlo error, where all sites are finite. ``"bootstrap"``: the people of the data with Dirichlet weights,
        the parameters of each draw being refitted (one Newton step) under the same weights.
    draws
        How many draws; default all.
    prob
        The probability of the credible intervals (shortest).
    seed
        Same seed, same result, for any number of workers.
    progress
        Show a bar when it is long.

    Returns
    -------
    ErrorRateResult

    Raises
    ------
    DataError
        If the protected attribute or the outcome is not in the SCM, if the classifier reads the outcome, if there is
        nobody (bootstrap: too few people) with X = x and Y = y, or if a site is not finite (exact).

    Notes
    -----
    `table` has the additive terms of the four decompositions of Theorem 7: direct + indirect + spurious = total. The
    first is the causal explanation formula (Theorem 2) with the signs taken in: direct = ERd from x0 to x1 among x0,
    indirect = −ERi from x1 to x0 among x0, spurious = −ERs from x1 to x0. `measures` has the raw measures of
    Definitions 1 to 3 with their direction, the effect of treatment on the treated (equation 20), and the natural
    direct and indirect effects (equations 33 and 34).

    The noise of discrete variables is an assumption (`SCM.couplings`): the indirect and the spurious terms depend on
    it, the total and the direct term of the first decomposition do not.

    References
    ----------
    Zhang and Bareinboim (2018), Equality of opportunity in classification: a causal approach.

    Examples
    --------
    >>> import causalaudit as ca
    >>> scm = ca.models.standard_prediction.scm_b()
    >>> people = scm.prior_predictive(200, draws=1).isel(draw=0).to_dataframe()[["Z", "X", "W", "Y", "D"]]
    >>> posterior = ca.fit(scm, people)
    >>> rule = lambda people: people.W + people.D + people.X >= 2
    >>> result = ca.decompose_error_rates(posterior, rule, "X", "Y", population="exact", draws=1)
    >>> result.summary()["mean"].round(3).to_dict()
    {'total': 0.535, 'direct': 0.207, 'indirect': 0.35, 'spurious': -0.022}
    """
    people = _people(posterior, classifier, protected, outcome, features, y, yhat, baseline, contrast)
    if population not in get_args(Population):
        raise DataError(f"population is {population!r}, but must be one of {', '.join(get_args(Population))}.")
    if not 0 < prob < 1:
        raise DataError(f"prob is {prob!r}, but must be a probability between 0 and 1.")
    halves = None
    if population == "exact":
        rates = exact_rates(people, draws)
    elif population == "simulate":
        raw, halves = simulated_rates(people, draws, seed, progress)
        rates = without_noise(raw, noise_covariance(halves))
    else:
        _check_cells(people)
        rates = bootstrap_rates(people, draws, seed, progress)
    return _result(people, rates, halves, {"method": population, "prob": prob, "seed": seed})


def _people(
    posterior: Posterior,
    classifier: Any,
    protected: str | Mapping[str, Any],
    outcome: str,
    features: Sequence[str] | None,
    y: Any,
    yhat: Any,
    baseline: Any,
    contrast: Any,
) -> People:
    """Return the question about the people of a posterior, checked."""
    if not isinstance(posterior, Posterior):
        raise DataError(f"posterior must come from causalaudit.fit, but is {type(posterior).__name__}.")
    scm, data = posterior.scm, posterior.data
    column = protected_column(protected, outcome, scm.columns, f"the SCM {scm.name!r}")
    levels = compared_levels(protected, baseline, contrast, scm.levels.get(column) or levels_in(data, column))
    modelled = [str(name) for name in data.columns if name in scm.columns]
    rate = rate_of(classifier, yhat, features, modelled, outcome)
    for name, values in ((column, levels), (outcome, [y])):
        law = scm.structure.laws[name]
        if law.support is not None and not law.support.is_discrete and not scm.families[name] == "Delta":
            raise DataError(f"{name!r} is continuous ({scm.families[name]}), but must have distinct values.")
        check_support(name, scm.codec.encode(name, pd.Series(values)), law)
    return People(Question(column, levels, outcome, y, rate), posterior)


def _check_cells(people: People) -> None:
    question, data = people.question, people.posterior.data
    fewest_people(question, data[question.protected], data[question.outcome])


def _result(people: People, rates: np.ndarray, halves: np.ndarray | None, settings: dict[str, Any]) -> ErrorRateResult:
    prob, levels = settings["prob"], people.question.levels
    terms = term_values(rates)
    monte_carlo = None if halves is None else _monte_carlo(term_values(halves))
    return ErrorRateResult(
        table=term_rows().join(summarise(terms, prob)),
        settings={
            **people.question.settings,
            **settings,
            "draws": len(rates),
            "program": people.scm.name,
            "coupling": people.scm.couplings(),
        },
        measures=measure_rows(levels).join(summarise(measure_values(rates), prob)),
        rates=rate_rows(levels).join(summarise(rates.reshape(len(rates), int(np.prod(SHAPE))), prob)),
        draws=rates,
        monte_carlo=monte_carlo,
    )


def _monte_carlo(halves: np.ndarray) -> pd.DataFrame:
    """Return the error of a single draw, from the difference of its two halves, and its share of their variance."""
    error = np.sqrt(((halves[0] - halves[1]) ** 2).mean(axis=0)) / 2
    variance = halves.mean(axis=0).var(axis=0)
    share = np.divide(error**2, variance, out=np.zeros_like(error), where=variance > 0)
    return term_rows().assign(error=error, share=np.minimum(share, 1.0))
