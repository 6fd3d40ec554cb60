"""The simulated mediation model (Zhang and Bareinboim 2018, figure 1 and appendix B.3).

Columns: a confounder `Z` and a mediator `W`, numbers; a protected attribute `X` and an outcome `Y`, 0 or 1.

Diagram of `true_process` and `linear` (that of the paper's figure 1, with Z as a cause of X as in its appendix B.3)::

    Z -> X
    Z -> W
    X -> W
    Z -> Y
    X -> Y
    W -> Y

`true_process` has the paper's numbers and no free parameters::

    Z = U_Z                                 U_Z ~ Normal(0, 1)
    X = 1[Z + U_X > 0]                      U_X ~ Logistic(0, 1)
    W = 0.5 X + 0.5 Z + U_W                 U_W ~ Normal(0, 1)
    Y = 1[2 X + 4 W + 4 Z + U_Y > 0]        U_Y ~ Logistic(0, 1)

`linear` has the same equations with free coefficients, means and spreads::

    Z = mean_Z + spread_Z · U_Z
    X = 1[base_X + Z_to_X · Z + U_X > 0]
    W = base_W + X_to_W · X + Z_to_W · Z + spread_W · U_W
    Y = 1[base_Y + X_to_Y · X + W_to_Y · W + Z_to_Y · Z + U_Y > 0]

Priors: Normal(0, 1) for what makes Z, X and W; Normal(0, 2.5) for what makes Y, on the scale of log-odds;
HalfNormal(1) for the spreads.

Noise: Z and W have residuals, exact. X and Y are discrete: ``Bernoulli(logits)`` with the default monotone noise is a
logistic noise against a threshold, which is what the paper states, so that here the assumption is the truth.
"""

import pyro
import pyro.distributions as dist
import torch

from causalaudit.scm import SCM


def _people(
    n: int,
    z: tuple[float | torch.Tensor, float | torch.Tensor],
    x: tuple[float | torch.Tensor, float | torch.Tensor],
    w: tuple[float | torch.Tensor, ...],
    y: tuple[float | torch.Tensor, ...],
) -> None:
    """The equations, for numbers or for parameters."""
    with pyro.plate("individuals", n):
        own = pyro.sample("Z", dist.Normal(*z))
        group = pyro.sample("X", dist.Bernoulli(logits=x[0] + x[1] * own))
        between = pyro.sample("W", dist.Normal(w[0] + w[1] * group + w[2] * own, w[3]))
        pyro.sample("Y", dist.Bernoulli(logits=y[0] + y[1] * group + y[2] * between + y[3] * own))


def true_program(n: int) -> None:
    """The printed process."""
    _people(n, z=(0.0, 1.0), x=(0.0, 1.0), w=(0.0, 0.5, 0.5, 1.0), y=(0.0, 2.0, 4.0, 4.0))


def true_process() -> SCM:
    """Return the process of appendix B.3 with its printed numbers: for simulating, and as a known truth.

    Examples
    --------
    >>> import causalaudit as ca
    >>> scm = ca.models.mediation.true_process()
    >>> scm.parameters, sorted(scm.graph.predecessors("Y"))
    ((), ['W', 'X', 'Z'])
    """
    return SCM(true_program, name="mediation, true process")


def linear_program(n: int) -> None:
    """The same equations with free parameters."""

    def effects(names: str, scale: float) -> tuple[torch.Tensor, ...]:
        return tuple(pyro.sample(name, dist.Normal(0.0, scale)) for name in names.split())

    (mean,) = effects("mean_Z", 1.0)
    spread_z = pyro.sample("spread_Z", dist.HalfNormal(1.0))
    base_x, z_to_x = effects("base_X Z_to_X", 1.0)
    to_w = effects("base_W X_to_W Z_to_W", 1.0)
    spread_w = pyro.sample("spread_W", dist.HalfNormal(1.0))
    to_y = effects("base_Y X_to_Y W_to_Y Z_to_Y", 2.5)
    _people(n, z=(mean, spread_z), x=(base_x, z_to_x), w=(*to_w, spread_w), y=to_y)


def linear() -> SCM:
    """Return the same SCM with free parameters, to be fitted.

    Examples
    --------
    >>> import causalaudit as ca
    >>> ca.models.mediation.linear().graph.edges == ca.models.mediation.true_process().graph.edges
    True
    """
    return SCM(linear_program, name="mediation, linear")
