"""Whether draws can be trusted, in words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import pandas as pd

from causalaudit.inference.posterior.display import diagnostics_html

TRUSTED_K = 0.7  # of the Pareto tail of importance weights (Vehtari et al. 2024)
WORTHWHILE = 0.1  # share of importance proposals that count, below which they may miss a part of the posterior
FOUND_FIRST = 0.5  # share of the mass that the approximation at the mode must find, for others to be relied on
ENOUGH = 400  # effective draws for stable intervals
MIXED = 1.01  # largest r-hat of chains that agree (Vehtari et al. 2021)
UNCHECKED = "Predictive: not checked; ask for diagnostics(by=...), a column."
EQUAL = 0.9  # effective share of draws whose weights are nearly equal
_WIDER = 1.5  # spread of draws, in that of their curvature, beyond which they are not near enough to a normal
_NAMED = 3  # parameters by which a part of a posterior is called


@dataclass(frozen=True)
class Diagnostics:
    """A verdict on a posterior.

    Attributes
    ----------
    ok : bool
        Whether the draws can be used.
    verdict : str
        The same in words, with the reason.
    numbers : dict
        The figures behind it.
    predictive : str or None
        Whether people whom the program simulates look like the observed ones, by group, in words; None if no groups
        were named. Draws can be trusted though the program describes nobody.
    fits : bool or None
        The same as a yes or no.
    parameters : tuple of str
        Those that are judged; empty if it is all.
    components : tuple of Diagnostics
        Where the posterior factorises, those of each of its independent parts; the verdict is that of the worst.
    inert : tuple of str
        Parameters that enter nothing, because edges were cut (`SCM.without`): their posterior is their prior.
    missing : str or None
        Which values are missing, of how many people, and what that assumes; None if all are known.
    """

    ok: bool
    verdict: str
    numbers: dict[str, float]
    predictive: str | None = None
    fits: bool | None = None
    parameters: tuple[str, ...] = ()
    components: "tuple[Diagnostics, ...]" = ()
    inert: tuple[str, ...] = ()
    missing: str | None = None

    def __str__(self) -> str:
        lines = [self.verdict, self.missing, self.predictive or UNCHECKED]
        if self.inert:
            names = ", ".join(map(repr, self.inert))
            lines.append(f"Inert, as edges were cut: {names}. They enter nothing, and have their priors.")
        return "\n".join(line for line in lines if line)

    def _repr_html_(self) -> str:
        return diagnostics_html(str(self), self.numbers)


def diagnose(method: str, statistics: Mapping[str, Any], draws: int) -> Diagnostics:
    """Judge a posterior by the statistics of its method."""
    if method in ("ml", "map"):
        return Diagnostics(
            True, f"A point estimate ({method}): the draws carry no uncertainty about the parameters.", {}
        )
    if method == "exact":
        return Diagnostics(True, "The program has no free parameters: every draw is the program itself.", {})
    if "components" in statistics:
        return _worst_component(components_in(statistics), draws)
    # Other methods are known by the numbers they give, whatever their names.
    judge = _chains if "r_hat" in statistics else _guide if "elbo" in statistics else _importance
    numbers = {name: value for name, value in statistics.items() if not isinstance(value, str)}
    return _adjusted(judge(numbers, statistics, draws), statistics)


def _adjusted(judged: Diagnostics, statistics: Mapping[str, Any]) -> Diagnostics:
    """Judge, of weighted people, whether the spread of the draws could be adjusted by their curvature."""
    if "beyond_curvature" not in statistics:
        return judged
    width = float(statistics["beyond_curvature"])
    numbers = {**judged.numbers, "beyond_curvature": width}
    if not judged.ok or width < _WIDER:
        return replace(judged, numbers=numbers)
    verdict = (
        f"Not trustworthy: the weighted posterior is {width:.1f} times as wide as its curvature at the maximum says, "
        f"and above {_WIDER} its spread cannot be adjusted to weights. It is far from Gaussian: reparametrise, or "
        "tighten the priors."
    )
    return Diagnostics(False, verdict, numbers)


def missing_words(columns: pd.DataFrame) -> str | None:
    """Say which values of the columns of a program are missing, and what is assumed about them; None if none is."""
    unknown = columns.isna()
    counts = unknown.sum()
    named = ", ".join(f"{name!r} for {count}" for name, count in counts[counts > 0].items())
    if not named:
        return None
    return (
        f"Missing: {named} of {len(columns)} people ({int(unknown.any(axis=1).sum())} lack at least one value). Nobody "
        "is left out: missing values are latents, summed or integrated out. It is assumed, and no data can tell, that "
        "they are missing at random: whether a value is missing depends on observed values of the person alone."
    )


def components_in(statistics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the statistics of each component of a posterior that was drawn in several, with its parameters."""
    found: list[dict[str, Any]] = json.loads(statistics.get("components", "[]"))
    return found


def _worst_component(components: list[dict[str, Any]], draws: int) -> Diagnostics:
    """Judge each component by its own statistics; the verdict is that of the worst."""
    judged = [replace(diagnose(one["method"], one, draws), parameters=tuple(one["parameters"])) for one in components]
    worst = max(judged, key=lambda one: (not one.ok, one.numbers.get("r_hat", one.numbers.get("pareto_k", 0.0))))
    names = ", ".join(map(repr, worst.parameters[:_NAMED])) + (", …" if len(worst.parameters) > _NAMED else "")
    verdict = f"{worst.verdict} That is the worst of {len(components)} independent parts of the posterior ({names})."
    return replace(worst, verdict=verdict, parameters=(), components=tuple(judged))


def is_trusted(pareto_k: float, efficiency: float, first_share: float) -> bool:
    """Tell whether importance draws can stand for the posterior."""
    return pareto_k < TRUSTED_K and efficiency >= WORTHWHILE and first_share >= FOUND_FIRST


def _importance(numbers: dict[str, float], statistics: Mapping[str, Any], draws: int) -> Diagnostics:
    names = ("pareto_k", "ess", "efficiency", "first_share")
    pareto_k, ess, efficiency, first_share = (float(numbers[name]) for name in names)
    numbers = {name: float(numbers[name]) for name in names}
    if not pareto_k < TRUSTED_K:
        verdict = (
            f"Not trustworthy: Pareto k is {pareto_k:.2f}, and above {TRUSTED_K} importance resampling fails. The "
            'posterior is far from Gaussian: reparametrise, tighten the priors, or use a sampler (method "nuts").'
        )
        return Diagnostics(False, verdict, numbers)
    if not efficiency >= WORTHWHILE:
        verdict = (
            f"Not trustworthy: only {efficiency:.1%} of the proposals count, and below {WORTHWHILE:.0%} a part of the "
            'posterior may be missed. Reparametrise, tighten the priors, or use a sampler (method "nuts").'
        )
        return Diagnostics(False, verdict, numbers)
    if not first_share >= FOUND_FIRST:
        verdict = (
            f"Not trustworthy: the approximation at the mode found only {first_share:.1%} of the mass that others "
            f"found, and below {FOUND_FIRST:.0%} these may miss a part as well. The posterior is far from Gaussian: "
            'reparametrise, tighten the priors, or use a sampler (method "nuts").'
        )
        return Diagnostics(False, verdict, numbers)
    if ess < min(ENOUGH, draws / 2):
        verdict = f"Too few: {draws} draws are worth only {ess:.0f}, and {ENOUGH} are needed. Ask for more draws."
        return Diagnostics(False, verdict, numbers)
    return Diagnostics(
        True, f"Trustworthy: Pareto k is {pareto_k:.2f} (below {TRUSTED_K}), effective sample size {ess:.0f}.", numbers
    )


def _chains(numbers: dict[str, float], statistics: Mapping[str, Any], draws: int) -> Diagnostics:
    r_hat, bulk, tail = (float(numbers[name]) for name in ("r_hat", "ess", "ess_tail"))
    divergences, worst = int(numbers.get("divergences", 0)), statistics["worst"]
    known = {"divergences": divergences} if "divergences" in numbers else {}  # not every sampler has trajectories
    numbers = {"r_hat": r_hat, "ess": bulk, "ess_tail": tail, **known}
    enough = min(ENOUGH, draws / 4)
    faults = []
    if not r_hat <= MIXED:
        found = f"{r_hat:.3f}" if isfinite(r_hat) else "unknown"
        faults.append(
            f"r-hat of {worst!r} is {found}, and above {MIXED} the chains have not mixed: ask for more draws, "
            "or reparametrise (latents and effects with a fixed scale, signs fixed by the priors)"
        )
    if divergences:
        faults.append(
            f"{divergences} of {draws} trajectories diverged, so that a part of the posterior is left out: "
            "tighten the priors, or reparametrise so that no scale comes close to zero"
        )
    if not min(bulk, tail) >= enough:
        faults.append(
            f"{draws} draws are worth only {bulk:.0f} for means and {tail:.0f} for intervals, and {enough:.0f} are "
            "needed: ask for more draws"
        )
    figures = f"r-hat {r_hat:.3f}, effective sample size {bulk:.0f} (tails {tail:.0f})"
    figures += f", {divergences} divergences" if known else ""
    if faults:
        return Diagnostics(False, f"Not trustworthy: {'; '.join(faults)}.", numbers)
    return Diagnostics(True, f"Trustworthy: {figures}.", numbers)


def _guide(numbers: dict[str, float], statistics: Mapping[str, Any], draws: int) -> Diagnostics:
    pareto_k, ess = float(numbers["pareto_k"]), float(numbers["ess"])
    converged = bool(numbers["elbo_converged"])
    numbers = {"pareto_k": pareto_k, "ess": ess, "elbo": float(numbers["elbo"]), "elbo_converged": float(converged)}
    faults = []
    if not converged:
        faults.append(
            "the evidence lower bound has not converged: rescale the data so that the priors are of order one, tighten "
            'the priors, or use a sampler (method "nuts")'
        )
    # Weights that are nearly equal have a tail that does not matter, whatever its shape.
    if not (pareto_k < TRUSTED_K or ess >= EQUAL * draws):
        faults.append(
            f"Pareto k of the guide is {pareto_k:.2f}, and above {TRUSTED_K} the posterior is not the normal that was "
            'fitted: use "laplace" or "nuts"'
        )
    if faults:
        return Diagnostics(False, f"Not trustworthy: {'; '.join(faults)}.", numbers)
    figures = f"Pareto k {pareto_k:.2f}, {draws} draws of the guide are worth {ess:.0f} of the posterior"
    return Diagnostics(True, f"Trustworthy: the evidence lower bound has converged, {figures}.", numbers)
