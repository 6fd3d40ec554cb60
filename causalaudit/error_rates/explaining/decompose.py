"""Why error rates are unequal, from a posterior: direct, indirect and spurious contributions with their uncertainty."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from causalaudit.arguments import check_draws, check_seed, check_share, check_types
from causalaudit.counterfactuals import (
    EnumeratedPeople,
    ReweightedPeople,
    SimulatedPeople,
    check_posterior,
    influence_through_parameters,
)
from causalaudit.counterfactuals import population as population_of
from causalaudit.error_rates.explaining.coupling_bounds import TermBounds, bound_terms
from causalaudit.error_rates.explaining.enumerated_rates import enumerated_rates
from causalaudit.error_rates.explaining.monte_carlo import noise_covariance, without_noise
from causalaudit.error_rates.explaining.observed import Surveyed, observed_rates, warn_of_rates
from causalaudit.error_rates.explaining.question import RateQuestion, read_question
from causalaudit.error_rates.explaining.result import ErrorRateResult, summarise
from causalaudit.error_rates.explaining.reweighted_rates import reweighted_rates
from causalaudit.error_rates.explaining.simulated_rates import simulated_rates
from causalaudit.error_rates.explaining.standardised_rates import standardised_rates
from causalaudit.error_rates.explaining.terms import (
    SHAPE,
    measure_rows,
    measure_values,
    rate_rows,
    term_rows,
    term_values,
)
from causalaudit.errors import DataError, nearest
from causalaudit.people import Protected
from causalaudit.scm.columns import check_support
from causalaudit.scm.noise import Coupling

if TYPE_CHECKING:
    from causalaudit.inference import Posterior

Population = Literal["standardise", "simulate", "exact", "bootstrap"]
_People = EnumeratedPeople | SimulatedPeople | ReweightedPeople
_OF_THE_DATA = ("standardise", "bootstrap")  # populations that are the people of the data
_BY_NUMBER = 4  # draws for each number of the parameters, for slopes in them
_CHECKED = 200  # draws at which people are simulated only to compare the program with the data


def decompose_error_rates(
    posterior: "Posterior",
    classifier: Any,
    protected: Protected,
    *,
    outcome: str,
    features: Sequence[str] | None = None,
    y: Any = 0,
    yhat: Any = 1,
    baseline: Any = None,
    contrast: Any = None,
    population: Population = "standardise",
    coupling: Coupling | Mapping[str, Coupling] | None = None,
    draws: int | None = None,
    prob: float = 0.9,
    bounds: bool = False,
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
        From `fit`. If it was fitted with survey weights, people of the data have them here too: all is about the
        population that they were sampled from.
    classifier
        A function of a table that returns labels, or probabilities of the label 1; or a fitted scikit-learn
        classifier.
    protected
        ``{column: (level, reference)}``, the protected level (the contrast) first; ``{column: level}`` or a bare column
        where there are two levels. Of a bare column the first level is the baseline, the second the contrast: in the
        order that the SCM declares (`levels`), else sorted.
    outcome
        The column of the true outcome, a variable of the SCM, which the classifier must not read.
    features
        What the classifier reads; default what it was fitted on (`feature_names_in_`), else all variables but the
        outcome. It is shown nothing else.
    y, yhat
        The outcome and the label whose rate is explained: 0 and 1 for false positives, 1 and 0 for false negatives, 1
        and 1 for true positives.
    baseline, contrast
        For a bare column, the reference level x0 and the protected level x1; needed where there are more than two.
    population
        Whose error rates are explained.

        ``"standardise"``: the people of the data, with the covariates, the protected attribute and the outcome that
        they have; only what they would be otherwise is by the program. The total is the observed one, whatever the
        program is. Intervals are about the population that they are a sample of: people are resampled, and each moves
        the parameters by the covariance of the rates with his or her log-likelihood.
        ``"bootstrap"``: the same people with Dirichlet weights, the parameters being refitted under each set of these:
        the same without that approximation, for more time; where noise is discrete, its draws add to the intervals.
        ``"simulate"``: people drawn from the SCM at each draw of the parameters, about as many as the data have (1,024
        to 32,768); what their number adds to the variance is estimated and taken out. All is by the program, the total
        too; intervals are about the population of the program, and shorter, if it is right.
        ``"exact"``: the same without Monte-Carlo error, where all sites are finite.
    coupling
        How worlds share noise, for all variables or by variable, as in `counterfactuals`; see `SCM.couplings`. By
        default as the posterior's program says. Terms depend on it.
    draws
        How many draws; default all. With few, intervals of ``"standardise"`` are too wide: several times as many as
        the program has parameters are enough.
    prob
        The probability of the credible intervals (shortest).
    bounds
        Find also between what each term lies under every coupling (`coupling_low`, `coupling_high`), where all
        variables are finite and known: by two linear programs for each of six means and each draw, some tenths of a
        second for five binary variables (draws are solved in parallel, by `joblib`; few are enough for means). Where
        there are too many response functions for these, they are outer bounds, labelled. Instead of people who are
        simulated they take all whom the program can give, as ``"exact"`` does.
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
        nobody (of the data: fewer than five people) with X = x and Y = y, or if a site is not finite (exact, bounds) or
        not known of somebody (bounds).
    InferenceError
        If several continuous latents of each person were drawn together with the parameters (standardise, bootstrap).

    Warns
    -----
    CausalAuditWarning
        If the program does not give the error rates that the people of the data have: the group, and by how much
        (`ErrorRateResult.observed`). Then ``"simulate"`` and ``"exact"`` explain a difference which is not there, and
        the others divide the observed one by mechanisms that may be wrong.

    Notes
    -----
    `table` has the additive terms of the four decompositions of Theorem 7: direct + indirect + spurious = total. The
    first is the causal explanation formula (Theorem 2) with the signs taken in: direct = ERd from x0 to x1 among x0,
    indirect = −ERi from x1 to x0 among x0, spurious = −ERs from x1 to x0. `measures` has the raw measures of
    Definitions 1 to 3 with their direction, the effect of treatment on the treated (equation 20), and the natural
    direct and indirect effects (equations 33 and 34).

    How worlds share noise is an assumption (`coupling`): the indirect and the spurious terms depend on it, the
    total and the direct term of the first decomposition do not. `coupling_low` and `coupling_high` are the means over
    draws of the least and the greatest value of a term under any coupling in which one mechanism serves everybody, and
    its noise is its own; `ErrorRateResult.bounds` has them by draw. Of people of the data (standardise, bootstrap) they
    are about these people. A coupling by number below zero that is asked of three states or more need not be one that a
    mechanism can have.

    References
    ----------
    Zhang and Bareinboim (2018), Equality of opportunity in classification: a causal approach.
    Hausman (1978), Specification tests in econometrics: the variance with which rates are compared with the observed.
    Giordano and Broderick (2023), The Bayesian infinitesimal jackknife for variance: intervals of "standardise".

    Examples
    --------
    >>> import causalaudit as ca
    >>> scm = ca.models.standard_prediction.scm_b()
    >>> people = scm.prior_predictive(200, draws=1).isel(draw=0).to_dataframe()[["Z", "X", "W", "Y", "D"]]
    >>> posterior = ca.fit(scm, people)
    >>> rule = lambda people: people.W + people.D + people.X >= 2
    >>> result = ca.decompose_error_rates(posterior, rule, "X", outcome="Y", population="exact", draws=1)
    >>> result.summary()["mean"].round(3).to_dict()
    {'total': 0.535, 'direct': 0.207, 'indirect': 0.35, 'spurious': -0.022}
    """
    check_types(decompose_error_rates, locals())
    check_posterior(posterior)
    scm = posterior.scm
    question = read_question(
        posterior.data, classifier, protected, outcome, features=_features(posterior, classifier, features, outcome),
        y=y, yhat=yhat, baseline=baseline, contrast=contrast, levels=scm.levels,
    )  # fmt: skip
    _check_variables(posterior, question)
    if population not in get_args(Population):
        raise DataError(f"population is {population!r}, but must be one of {', '.join(get_args(Population))}.")
    prob, draws, seed = check_share("prob", prob), check_draws(draws), check_seed(seed)
    options: dict[str, Any] = {"draws": draws, "coupling": scm.couplings(coupling)}
    people = _population(posterior, question, population, options, seed)
    within = _bounds(posterior, question, people, options, progress) if bounds else None
    rates, halves = _evidence(question, people, progress)
    settings = {
        **question.settings, "method": population, "prob": prob, "seed": seed, "draws": len(rates),
        "program": scm.name, "coupling": options["coupling"], "bounds": bool(bounds),
    }  # fmt: skip
    if "weights" in posterior.settings:
        settings["weights"] = posterior.settings["weights"]
    given, noise = rates, halves
    if population in _OF_THE_DATA:  # their rates are the observed ones: it is the program that is compared
        options["draws"] = min(_draws_checked(posterior), len(rates))
        given, noise = _evidence(question, _population(posterior, question, "simulate", options, seed), progress)
    surveyed = _surveyed(posterior, given, options["draws"])
    observed = observed_rates(question, posterior.data, given, _noise(noise), surveyed)
    warn_of_rates(question, observed, population in _OF_THE_DATA, stacklevel=3)
    return _result(question, rates, halves, observed, settings, within)


def _features(
    posterior: "Posterior", classifier: Any, features: Sequence[str] | None, outcome: str
) -> Sequence[str] | None:
    """Return what the classifier reads: by default all variables, not all columns of the data."""
    if features is not None or len(getattr(classifier, "feature_names_in_", ())):
        return features
    return [str(name) for name in posterior.data.columns if name in posterior.scm.columns and name != outcome]


def _check_variables(posterior: "Posterior", question: RateQuestion) -> None:
    """Refuse columns that the program does not model, and values of X and Y that it cannot give."""
    scm = posterior.scm
    roles = {question.protected: "protected column", question.outcome: "outcome"}
    for name in (*roles, *question.features):
        if name not in scm.columns:
            role = roles.get(name, "feature")
            raise DataError(
                f"The {role} {name!r} is not a variable of the SCM {scm.name!r}: {nearest(name, scm.columns)}"
            )
    for name, values in ((question.protected, list(question.levels)), (question.outcome, [question.y])):
        law = scm.structure.laws[name]
        if law.support is not None and not law.support.is_discrete and not scm.families[name] == "Delta":
            raise DataError(f"{name!r} is continuous ({scm.families[name]}), but must have distinct values.")
        check_support(name, scm.codec.encode(name, pd.Series(values)), law)


def _draws_checked(posterior: "Posterior") -> int:
    """Return at how many draws the program is compared with the data: of weighted people slopes are fitted to them."""
    if posterior.weights is None:
        return _CHECKED
    return max(_CHECKED, _BY_NUMBER * sum(value.size for value in posterior.parameters(1).values()))


def _surveyed(posterior: "Posterior", rates: np.ndarray, draws: int | None) -> Surveyed | None:
    """Return the weights of the people, if they have some, and their influence on the own rates of both groups."""
    if posterior.weights is None:
        return None
    own = np.stack([rates[:, x, x, x] for x in (0, 1)], axis=1)
    return Surveyed(posterior.weights, influence_through_parameters(posterior, own, draws))


def _population(
    posterior: "Posterior", question: RateQuestion, population: Population, options: dict[str, Any], seed: int
) -> _People:
    """Return the people whose error rates are explained."""
    if population == "exact":
        return population_of(posterior, kind="enumerated", **options)
    if population == "simulate":
        return population_of(posterior, kind="simulated", seed=seed, **options)
    question.refuse_few(posterior.data if posterior.weights is None else posterior.data[posterior.weights > 0])
    kind: Any = "standardised" if population == "standardise" else "reweighted"
    return population_of(posterior, kind=kind, alike=[question.protected, question.outcome], seed=seed, **options)


def _evidence(question: RateQuestion, people: _People, progress: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the nested rates by draw and, of simulated people, those of their two halves."""
    if isinstance(people, EnumeratedPeople):
        return enumerated_rates(question, people), None
    if isinstance(people, SimulatedPeople):
        raw, halves = simulated_rates(question, people, progress)
        return without_noise(raw, noise_covariance(halves)), halves
    if people.refits:
        return reweighted_rates(question, people, progress).rates, None
    return standardised_rates(question, people, progress), None


def _bounds(
    posterior: "Posterior", question: RateQuestion, people: _People, options: dict[str, Any], progress: bool
) -> TermBounds:
    """Bound the terms over all couplings; of simulated people over all that there can be."""
    if isinstance(people, SimulatedPeople):
        people = population_of(posterior, kind="enumerated", **options)
    return bound_terms(question, people, progress)


def _noise(halves: np.ndarray | None) -> np.ndarray:
    """Return the Monte-Carlo variance of the own rate of each group at a single draw."""
    if halves is None:
        return np.zeros(2)
    return np.array([((halves[0] - halves[1])[:, x, x, x] ** 2).mean() / 4 for x in (0, 1)])


def _result(
    question: RateQuestion,
    rates: np.ndarray,
    halves: np.ndarray | None,
    observed: pd.DataFrame,
    settings: dict[str, Any],
    within: TermBounds | None,
) -> ErrorRateResult:
    prob, levels = settings["prob"], question.levels
    table = term_rows().join(summarise(term_values(rates), prob)).assign(observed_total=observed["observed"].iloc[-1])
    if within is not None:
        ends = {"coupling_low": within.low.mean(axis=0), "coupling_high": within.high.mean(axis=0)}
        table = table.assign(**ends, coupling_bounds=within.kinds)
    return ErrorRateResult(
        table=table,
        settings=settings,
        measures=measure_rows(levels).join(summarise(measure_values(rates), prob)),
        rates=rate_rows(levels).join(summarise(rates.reshape(len(rates), int(np.prod(SHAPE))), prob)),
        draws=rates,
        observed=observed,
        monte_carlo=None if halves is None else _monte_carlo(term_values(halves)),
        bounds=within,
    )


def _monte_carlo(halves: np.ndarray) -> pd.DataFrame:
    """Return the error of a single draw, from the difference of its two halves, and its share of their variance."""
    error = np.sqrt(((halves[0] - halves[1]) ** 2).mean(axis=0)) / 2
    variance = halves.mean(axis=0).var(axis=0)
    share = np.divide(error**2, variance, out=np.zeros_like(error), where=variance > 0)
    return term_rows().assign(error=error, share=np.minimum(share, 1.0))
