"""The standard fairness prediction model (Zhang and Bareinboim 2018, figure 6 and experiment 1).

Variables Z, X, W, Y, D, all binary.

Diagram of `xor`, `xor_exogenous`, `plain_bernoulli` and `scm_b` (that of the paper's figure 6)::

    Z -> X
    Z -> W
    X -> W
    Z -> Y
    X -> Y
    W -> Y
    Z -> D
    X -> D
    W -> D
    Y -> D

`xor` and `xor_exogenous` are experiment 1, with the noise that the paper states, in the two ways a program can
state a noise of its own: as the base of a transformed distribution, and as latent sites of which the variables are
functions (these sites, U_Z to U_D, are in the diagram too, each a parent of its variable)::

    Z = U_Z,  X = Z ⊕ U_X,  W = X ⊕ Z ⊕ U_W,  Y = X ⊕ Z ⊕ W ⊕ U_Y,  D = X ⊕ Z ⊕ W ⊕ Y ⊕ U_D
    P(U_Z = 1) = 0.9, P(U_X = 1) = 0.5, and 0.1 for the others

`plain_bernoulli` has the same distribution of the data, but monotone noise ``v = 1[u > 1 − p(parents)]``. The data
cannot tell the two apart, it passes consistency, and it is wrong: under do(X := 1 − X) it gets W right for 80 % and
Y right for 84 % of the people. Discrete noise is an assumption.

`scm_b` has monotone noise in truth: P(Z) = .60, P(X) = .30 + .40 Z, P(W) = .20 + .30 X + .25 Z,
P(Y) = .10 + .15 X + .20 Z + .35 W, P(D) = .07 + .10 X + .15 Z + .20 W + .41 Y.
"""

import pyro
import pyro.distributions as dist
import torch
from torch.distributions import constraints
from torch.distributions.transforms import Transform

from causalaudit.scm import SCM

_NOISE = {"Z": 0.9, "X": 0.5, "W": 0.1, "Y": 0.1, "D": 0.1}


class Xor(Transform):
    """Exclusive or with a 0/1 tensor: its own inverse."""

    domain = constraints.boolean
    codomain = constraints.boolean
    bijective = True

    def __init__(self, other: torch.Tensor) -> None:
        super().__init__()
        self.other = other

    def _call(self, x: torch.Tensor) -> torch.Tensor:
        return (x - self.other).abs()

    _inverse = _call

    def log_abs_det_jacobian(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(x)


def _xor(*values: torch.Tensor) -> torch.Tensor:
    result = values[0]
    for value in values[1:]:
        result = (result - value).abs()
    return result


def xor_program(n: int) -> None:
    """Experiment 1, the noise being the base of a transformed distribution."""

    def site(name: str, *parents: torch.Tensor) -> torch.Tensor:
        noise = dist.Bernoulli(torch.full((n,), _NOISE[name]))
        law = dist.TransformedDistribution(noise, [Xor(_xor(*parents))]) if parents else noise
        return pyro.sample(name, law)

    with pyro.plate("individuals", n):
        z = site("Z")
        x = site("X", z)
        w = site("W", x, z)
        y = site("Y", x, z, w)
        site("D", x, z, w, y)


def xor() -> SCM:
    """Return experiment 1 with its noise stated by a transform.

    Examples
    --------
    >>> import causalaudit as ca
    >>> sorted(ca.models.standard_prediction.xor().graph.predecessors("W"))
    ['X', 'Z']
    """
    return SCM(xor_program, name="standard prediction, xor")


def xor_exogenous_program(n: int) -> None:
    """Experiment 1, the noise being latent sites."""
    with pyro.plate("individuals", n):
        noise = {name: pyro.sample(f"U_{name}", dist.Bernoulli(share)) for name, share in _NOISE.items()}
        z = pyro.deterministic("Z", noise["Z"])
        x = pyro.deterministic("X", _xor(z, noise["X"]))
        w = pyro.deterministic("W", _xor(x, z, noise["W"]))
        y = pyro.deterministic("Y", _xor(x, z, w, noise["Y"]))
        pyro.deterministic("D", _xor(x, z, w, y, noise["D"]))


def xor_exogenous() -> SCM:
    """Return experiment 1 with its noise stated by latent sites.

    Examples
    --------
    >>> import causalaudit as ca
    >>> sorted(ca.models.standard_prediction.xor_exogenous().graph.predecessors("W"))
    ['U_W', 'X', 'Z']
    """
    latents = [f"U_{name}" for name in _NOISE]
    return SCM(xor_exogenous_program, latents=latents, name="standard prediction, xor of exogenous sites")


def plain_bernoulli_program(n: int) -> None:
    """The distribution of experiment 1 by plain Bernoulli sites: the data fit, the counterfactuals do not."""

    def site(name: str, *parents: torch.Tensor) -> torch.Tensor:
        share = torch.tensor(_NOISE[name])
        return pyro.sample(name, dist.Bernoulli((_xor(*parents) - share).abs() if parents else share))

    with pyro.plate("individuals", n):
        z = site("Z")
        x = site("X", z)
        w = site("W", x, z)
        y = site("Y", x, z, w)
        site("D", x, z, w, y)


def plain_bernoulli() -> SCM:
    """Return the warning example: experiment 1 with the default, monotone noise.

    Examples
    --------
    >>> import causalaudit as ca
    >>> ca.models.standard_prediction.plain_bernoulli().couplings()["W"]
    'monotone'
    """
    return SCM(plain_bernoulli_program, name="standard prediction, plain Bernoulli")


def scm_b_program(n: int) -> None:
    """A standard prediction model whose noise is monotone."""
    with pyro.plate("individuals", n):
        z = pyro.sample("Z", dist.Bernoulli(0.60))
        x = pyro.sample("X", dist.Bernoulli(0.30 + 0.40 * z))
        w = pyro.sample("W", dist.Bernoulli(0.20 + 0.30 * x + 0.25 * z))
        y = pyro.sample("Y", dist.Bernoulli(0.10 + 0.15 * x + 0.20 * z + 0.35 * w))
        pyro.sample("D", dist.Bernoulli(0.07 + 0.10 * x + 0.15 * z + 0.20 * w + 0.41 * y))


def scm_b() -> SCM:
    """Return a standard prediction model with spurious effects, whose noise is monotone.

    Examples
    --------
    >>> import causalaudit as ca
    >>> ca.models.standard_prediction.scm_b().prior_predictive(n=3, draws=2)["D"].shape
    (2, 3)
    """
    return SCM(scm_b_program, name="standard prediction, SCM-B")
