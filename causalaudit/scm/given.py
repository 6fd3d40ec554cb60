"""Covariates that a program conditions on without modelling them."""

from typing import Any

import torch
from pyro.distributions import TorchDistribution
from torch.distributions import constraints


class Given(TorchDistribution):
    """A covariate that is conditioned on, not modelled: no density, no parents, no noise, any value.

    It is a site with a column like any other: a cause in the diagram, open to interventions; counterfactuals keep it.
    Whatever simulates people (`SCM.prior_predictive`, `Posterior.predictive`, error rates) draws it from the data, all
    given covariates of a person together. It may have levels, whose codes the program sees.

    Examples
    --------
    >>> import pyro, pyro.distributions as dist, causalaudit as ca
    >>> def wages(n):
    ...     slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
    ...     with pyro.plate("individuals", n):
    ...         age = pyro.sample("age", ca.Given())
    ...         pyro.sample("wage", dist.Normal(10.0 + slope * age, 4.0))
    >>> list(ca.SCM(wages).graph.edges)
    [('age', 'wage')]
    """

    arg_constraints: Any = {}  # noqa: RUF012
    support = constraints.real

    def __init__(self) -> None:
        super().__init__(torch.Size(), validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "Given":
        new = Given()
        new._batch_shape = torch.Size(batch_shape)
        return new

    def sample(self, sample_shape: Any = ()) -> torch.Tensor:
        """Return numbers between 0 and 1, with which a program is inspected: most functions take them."""
        return torch.rand(self.shape(sample_shape))

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        """Return 0: the value is taken as it is."""
        return torch.zeros_like(value, dtype=torch.get_default_dtype())
