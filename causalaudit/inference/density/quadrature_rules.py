"""Nodes and weights of one-dimensional integrals, from the cheapest to the finest."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

_FINEST_SEARCH = 2500


@dataclass(frozen=True)
class QuadratureRule:
    """Nodes and log-weights for the integral of a function around zero with a spread of about one."""

    nodes: torch.Tensor
    log_weights: torch.Tensor
    steps: int = 0
    """Newton steps by which the centres follow the parameters of a draw."""
    search: int = 0
    """Points by which the range of each person is searched first; 0: the nodes are in units of the spread."""


def hermite(count: int) -> QuadratureRule:
    """Gauss-Hermite quadrature, exact for a Gaussian times a polynomial of degree 2 · count - 1."""
    nodes, weights = np.polynomial.hermite.hermgauss(count)
    log_weights = np.log(weights) + nodes**2 + 0.5 * np.log(2)
    return QuadratureRule(torch.from_numpy(np.sqrt(2) * nodes), torch.from_numpy(log_weights))


def grid(count: int) -> QuadratureRule:
    """The trapezoidal rule on each person's own range, between 0 and 1 here: fast for smooth functions."""
    share = torch.linspace(0.0, 1.0, count, dtype=torch.float64)
    search = min(5 * count // 2, _FINEST_SEARCH)
    return QuadratureRule(share, torch.full_like(share, -np.log(count - 1)), steps=1, search=search)


# Each rule is checked against the next; one that disagrees gives way to it. The first does without the Newton step.
RULES: tuple[Callable[[], QuadratureRule], ...] = (
    lambda: hermite(8),
    lambda: replace(hermite(8), steps=1),
    lambda: replace(hermite(16), steps=1),
    lambda: replace(hermite(32), steps=1),
    lambda: grid(65),
    lambda: grid(257),
    lambda: grid(1025),
    lambda: grid(4097),
    lambda: grid(16385),
)
PRECISE, FIRST_GRID = 2, 4  # places in RULES
