"""The canonical exogenous noise of every supported family.

For discrete families the noise is an *assumption* that no data can check: see `coupling`.
"""

from typing import Any

import pyro.distributions as pyro_dist
import torch.distributions as dist
from torch.distributions import Distribution

from causalaudit.errors import ProgramError
from causalaudit.scm.noise.base import Noise
from causalaudit.scm.noise.both_tails import has_tails, is_discrete
from causalaudit.scm.noise.counts import COUNTS
from causalaudit.scm.noise.distribution_function import Continuous, Stepped
from causalaudit.scm.noise.finite import GumbelMax, Monotone, OneHot
from causalaudit.scm.noise.quantile import QUANTILES
from causalaudit.scm.noise.residual import RESIDUALS
from causalaudit.scm.noise.transformed import Transformed

Coupling = str | float  # one of the names, or a correlation
COUPLINGS = ("monotone", "gumbel", "independent")

_FINITE = (dist.Bernoulli, dist.Categorical)
_SUPPORTED = sorted(
    {family.__name__ for table in (RESIDUALS, QUANTILES, COUNTS) for family in table}
    | {"Bernoulli", "Categorical", "OneHotCategorical", "OrderedLogistic", "Delta", "pyro.deterministic"}
    | {"LogNormal, Weibull, Pareto, InverseGamma and any TransformedDistribution with an invertible chain"}
    | {"MixtureSameFamily, ZeroInflatedPoisson, ZeroInflatedNegativeBinomial, and Truncated, Censored and Hurdle of "}
    | {"Independent, MultivariateNormal and Dirichlet with their columns"}
    | {"causalaudit.distributions", "any other one-dimensional distribution with a cdf"}
)

__all__ = ["COUPLINGS", "Coupling", "Noise", "couplings_of", "has_shape", "is_discrete", "noise_of"]


def couplings_of(law: Distribution) -> tuple[str, ...]:
    """Return the couplings a family admits, its default first."""
    if isinstance(law, dist.TransformedDistribution) and type(law) not in RESIDUALS:
        return couplings_of(law.base_dist)
    if isinstance(law, pyro_dist.OrderedLogistic | dist.Bernoulli):
        return ("monotone", "gumbel", "independent")
    if isinstance(law, dist.Categorical | dist.OneHotCategorical):
        return ("gumbel", "monotone", "independent")
    return ("monotone", "independent")


def has_shape(law: Distribution) -> bool:
    """Tell whether a residual of this family is noise only while its shape has no parents."""
    residual = _lookup(law, RESIDUALS)
    return residual is not None and bool(residual.shapes)


def noise_of(law: Distribution, site: str, coupling: Coupling | None = None, shape_has_parents: bool = False) -> Noise:
    """Return the noise of a site from the distribution its program gives it.

    Parameters
    ----------
    law
        The distribution, unwrapped.
    site
        Its name, for the error message.
    coupling
        "monotone" or "gumbel"; by default the first of `couplings_of`. ("independent" uses the
        default noise, drawn afresh; a number too, and worlds share it to that degree.)
    shape_has_parents
        Whether shape parameters (the degrees of freedom of Student's t) depend on parents: then
        the residual would not be exogenous, and the quantile is used.

    Raises
    ------
    ProgramError
        If the family is not supported.

    Examples
    --------
    >>> import pyro.distributions as dist, torch
    >>> law = dist.Poisson(torch.tensor(3.0, dtype=torch.float64))
    >>> noise = noise_of(law, "children")
    >>> five, half = torch.tensor([5.0, 0.5], dtype=torch.float64)
    >>> float(noise.push(law, noise.abduct(law, five, half)))
    5.0
    """
    if not isinstance(coupling, str) or coupling == "independent":
        coupling = couplings_of(law)[0]
    residual = _lookup(law, RESIDUALS)
    if residual is not None and not (residual.shapes and shape_has_parents):
        return residual
    for table in (QUANTILES, COUNTS):
        found: Noise | None = _lookup(law, table)
        if found is not None:
            return found
    if isinstance(law, _FINITE):
        return GumbelMax() if coupling == "gumbel" else Monotone()
    if isinstance(law, dist.OneHotCategorical):
        return OneHot(GumbelMax() if coupling == "gumbel" else Monotone())
    if _is_inverted(law):
        whole = is_discrete(law)
        return Stepped(whole) if whole or getattr(law, "has_atoms", False) else Continuous()
    if isinstance(law, dist.TransformedDistribution):
        if all(transform.bijective for transform in law.transforms) and not law.event_shape:
            return Transformed(noise_of(law.base_dist, site, coupling, shape_has_parents))
        raise ProgramError(
            f"Site {site!r}: the transforms of its TransformedDistribution must be invertible and act on "
            f"single numbers, but they are {law.transforms}. State the noise as explicit latent sites instead."
        )
    raise ProgramError(
        f"Site {site!r} has the distribution {type(law).__name__}, whose exogenous noise is not defined here. "
        f"Supported: {', '.join(_SUPPORTED)}."
    )


def _is_inverted(law: Distribution) -> bool:
    """Tell whether a law has a distribution function whose inverse must be searched for."""
    return not isinstance(law, dist.TransformedDistribution) and has_tails(law)


def _lookup(law: Distribution, table: dict[type[Distribution], Any]) -> Any:
    return next((table[family] for family in type(law).__mro__ if family in table), None)
