"""The same audit in several worlds: which verdicts survive other assumptions."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from causalaudit.arguments import check_share, check_types
from causalaudit.counterfactuals.ask import check_posterior
from causalaudit.errors import CausalAuditError, CausalAuditWarning, DataError, InferenceError
from causalaudit.inference import Posterior
from causalaudit.inference.posterior.diagnostics import TRUSTED_K
from causalaudit.progress import parallel
from causalaudit.results import AuditResult
from causalaudit.worlds.headlines import headline_table
from causalaudit.worlds.leave_one_out import LeaveOneOut, leave_one_out, refuse_without_draws
from causalaudit.worlds.result import WorldsResult
from causalaudit.worlds.scored_columns import ScoredColumns, same_people
from causalaudit.worlds.scores import chosen_weights, loo_table, why_no_evidence
from causalaudit.worlds.units import UnitsByWorld
from causalaudit.worlds.weighting import check_weights

Audit = Callable[[Posterior], AuditResult]


def compare_worlds(
    posteriors: Mapping[str, Posterior],
    audit: Audit,
    weights: str | Mapping[str, float] = "stacking",
    *,
    prob: float = 0.9,
    untrusted: bool = False,
    progress: bool = True,
) -> WorldsResult:
    """Audit in several worlds, and say which verdicts they share.

    Each world is a program fitted to the same people. Nobody knows which of them is true, and data cannot tell: what
    they say of a unit is shown side by side, and where it is averaged, the range over worlds is beside it.

    Parameters
    ----------
    posteriors
        From names of worlds to what `fit` returned.
    audit
        A function of a posterior that returns the result of any auditor. Worlds are audited in parallel, by `joblib`
        (see `joblib.parallel_config`), on a cluster too: the result is the same.
    weights
        "stacking": those with which the worlds together predict people who are left out best. "evidence": posterior
        probabilities of worlds that were equally probable. "equal"; or a number for each world.
    prob
        The probability of the credible intervals of the audit's number.
    untrusted
        Compare also worlds whose diagnostics failed, which are refused otherwise.
    progress
        Show a bar when it is long.

    Returns
    -------
    WorldsResult

    Raises
    ------
    DataError, InferenceError
        If the worlds are on different people, or were not fitted well; if the weights need a score that cannot be
        compared (different columns, a point estimate).

    Notes
    -----
    Scored are all columns that have a parent in some world, given those that have none in any. The leave-one-out
    density of a person (Vehtari, Gelman and Gabry 2017) is that of her columns with latents summed out, by
    Pareto-smoothed importance weights. A column that is a count in one world and continuous in another is scored in
    the second by the probability of its rounding cell, F(x + ½) − F(x − ½).

    The score ranks how well worlds predict what was observed, not their counterfactuals: worlds that differ in
    couplings alone, or in hidden confounding of a saturated edge, have the same score. Stacking weights are no
    probabilities of worlds. They mislead where two worlds predict alike (one may get all of the weight), where no world
    is near the truth (the mixture compensates for errors of several), and with few people (the differences in `loo` are
    then within `difference_se`). "evidence" takes one of the worlds for true, and depends on the priors of parameters.

    On a cluster of dask (``pip install causalaudit[cluster]``), whose workers have one thread each: make a
    `dask.distributed.Client`, then call this under ``joblib.parallel_config("dask")``. On one of ray: call
    `ray.util.joblib.register_ray`, then this under ``joblib.parallel_config("ray", n_jobs=-1)``. A worker audits a
    world by itself, so that more workers than worlds are idle; `fit` and `counterfactuals` by themselves use them all.

    References
    ----------
    Yao, Vehtari, Simpson and Gelman (2018), Using stacking to average Bayesian predictive distributions.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.datasets.make_loan(300, seed=0)
    >>> scms = {"linear": ca.models.loan.linear(), "again": ca.models.loan.linear()}
    >>> posteriors = {name: ca.fit(scm, people, draws=50, seed=0) for name, scm in scms.items()}
    >>> def audit(posterior):
    ...     women = posterior.data.gender == "female"
    ...     worlds = ca.counterfactuals(posterior, do={"gender": "male"}, rows=women)
    ...     bank = lambda people: people.salary + 5 * people.balance > 225_000
    ...     return ca.situation_testing(
    ...         people, bank, {"gender": "female"}, features=["salary", "balance"], counterfactuals=worlds
    ...     )
    >>> result = ca.compare_worlds(posteriors, audit, weights="equal")
    >>> set(result.table.agreement) <= {"all", "none"}
    True
    """
    worlds = _check_worlds(posteriors, audit, untrusted)
    check_weights(weights, worlds)
    check_types(compare_worlds, {"prob": prob, "untrusted": untrusted, "progress": progress})
    check_share("prob", prob)
    people = same_people(posteriors)
    scored, why_not = _scored(posteriors, weights)
    answers = list(parallel(_World(audit, people, scored), list(posteriors.items()), "Worlds", progress))
    results, losses = [result for result, _ in answers], [loss for _, loss in answers]
    no_evidence = why_no_evidence(posteriors, scored)
    loo = loo_table(posteriors, losses, no_evidence)
    _warn_of_tails(loo)
    numbers = chosen_weights(weights, loo, no_evidence)
    units = UnitsByWorld.of(results)
    headlines = {world: result.headline for world, result in zip(worlds, results, strict=True)}
    settings = {
        "weights": weights if isinstance(weights, str) else {world: float(weights[world]) for world in worlds},
        "prob": float(prob),
        "headline": str(results[0].headline.name),
        "value": results[0].VALUE,
        "bounded": results[0].BOUNDED,
        "scored": list(scored.names) if scored else [],
        "rounded": sorted(scored.rounded) if scored else [],
        "not_scored": why_not,
        "no_evidence": no_evidence,
    }
    return WorldsResult(
        loo,
        units.table(worlds, numbers),
        headline_table(headlines, numbers, prob),
        _draws_of(headlines),
        dict(zip(worlds, units.rules, strict=True)),
        settings,
    )


def _check_worlds(posteriors: Any, audit: Any, untrusted: bool) -> list[str]:
    if (
        not isinstance(posteriors, Mapping)
        or len(posteriors) < 2
        or not all(isinstance(one, str) for one in posteriors)
    ):
        raise DataError(
            'posteriors must map the names of at least two worlds to posteriors: {"with": one, "without": …}.'
        )
    if not callable(audit):
        raise DataError(f"audit must be a function of a posterior that returns an audit result, but is {audit!r}.")
    for world, posterior in posteriors.items():
        check_posterior(posterior)
        diagnostics = posterior.diagnostics()
        if not diagnostics.ok and not untrusted:
            raise InferenceError(
                f"The world {world!r} was not fitted well: {diagnostics.verdict} Fit it better, or compare it all the "
                "same with untrusted=True."
            )
    return list(posteriors)


def _scored(posteriors: Mapping[str, Posterior], weights: Any) -> tuple[ScoredColumns | None, str | None]:
    """Return what worlds are scored by; where they cannot be, and the weights need no score, why."""
    try:
        for posterior in posteriors.values():
            refuse_without_draws(posterior)
        return ScoredColumns.of(posteriors), None
    except CausalAuditError as error:
        if isinstance(weights, str) and weights != "equal":
            raise
        return None, str(error)


@dataclass(frozen=True)
class _World:
    """Audits a world, and scores it: what a worker needs."""

    audit: Audit
    people: "pd.Index"
    scored: ScoredColumns | None

    def __call__(self, named: tuple[str, Posterior]) -> tuple[AuditResult, LeaveOneOut | None]:
        world, posterior = named
        try:
            result = self.audit(posterior.copy())
            loss = None if self.scored is None else leave_one_out(posterior, self.people, self.scored)
        except CausalAuditError as error:
            raise type(error)(f"In the world {world!r}: {error}") from error
        if not isinstance(result, AuditResult):
            raise DataError(
                f"audit must return the result of an auditor, but returned {type(result).__name__} in {world!r}."
            )
        return result, loss


def _warn_of_tails(loo: pd.DataFrame) -> None:
    heavy = loo.index[loo["pareto_k"] > TRUSTED_K].tolist()
    if heavy:
        warnings.warn(
            f"The leave-one-out density of somebody is not to be trusted in {', '.join(map(repr, heavy))}: "
            f"the greatest Pareto k is {loo['pareto_k'].max():.2f}, above {TRUSTED_K}. "
            "Use more draws, or look at who is unlike all others.",
            CausalAuditWarning,
            stacklevel=3,
        )


def _draws_of(headlines: Mapping[str, "pd.Series"]) -> pd.DataFrame:
    frames = [
        pd.DataFrame({"world": world, "draw": range(len(one)), "value": one.to_numpy(dtype=float)})
        for world, one in headlines.items()
    ]
    return pd.concat(frames, ignore_index=True)
