"""Whether draws can be trusted, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TRUSTED_K = 0.7  # of the Pareto tail of importance weights (Vehtari et al. 2024)
ENOUGH = 400  # effective draws for stable intervals


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
    """

    ok: bool
    verdict: str
    numbers: dict[str, float]

    def __str__(self) -> str:
        return self.verdict


def diagnose(method: str, statistics: Mapping[str, Any], draws: int) -> Diagnostics:
    """Judge a posterior by the statistics of its method."""
    if method in ("ml", "map"):
        return Diagnostics(
            True, f"A point estimate ({method}): the draws carry no uncertainty about the parameters.", {}
        )
    if method == "exact":
        return Diagnostics(True, "The program has no free parameters: every draw is the program itself.", {})
    pareto_k, ess = float(statistics["pareto_k"]), float(statistics["ess"])
    numbers = {"pareto_k": pareto_k, "ess": ess}
    if not pareto_k < TRUSTED_K:
        verdict = (
            f"Not trustworthy: Pareto k is {pareto_k:.2f}, and above {TRUSTED_K} importance resampling fails. The "
            "posterior is far from Gaussian: reparametrise, tighten the priors, or use a sampler."
        )
        return Diagnostics(False, verdict, numbers)
    if ess < min(ENOUGH, draws / 2):
        verdict = f"Too few: {draws} draws are worth only {ess:.0f}, and {ENOUGH} are needed. Ask for more draws."
        return Diagnostics(False, verdict, numbers)
    return Diagnostics(
        True, f"Trustworthy: Pareto k is {pareto_k:.2f} (below {TRUSTED_K}), effective sample size {ess:.0f}.", numbers
    )
