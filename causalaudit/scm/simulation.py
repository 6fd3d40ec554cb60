"""Draw parameters from the prior, and people from the program."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
import xarray as xr

from causalaudit.randomness import seeded, uniforms
from causalaudit.scm.execution import numerics, over_draws
from causalaudit.scm.handlers import Intervene, Record, Simulate, Tensors, run

if TYPE_CHECKING:
    from causalaudit.scm.program import SCM


def prior_draws(scm: "SCM", draws: int, seed: int) -> dict[str, np.ndarray]:
    """Draw all parameters from the prior, with a leading axis of draws."""
    samples: dict[str, list[np.ndarray]] = {name: [] for name in scm.parameters}
    with numerics(), torch.no_grad(), seeded(seed, "prior"):
        for _ in range(draws):
            record = Record()
            run(scm.program, 1, record)
            for name, values in samples.items():
                values.append(record.values[name].double().numpy().copy())
    return {name: np.stack(values) for name, values in samples.items()}


def simulate(scm: "SCM", parameters: Mapping[str, np.ndarray], n: int, draws: int, seed: int) -> xr.Dataset:
    """Draw `n` people for each draw of the parameters, all draws in one pass.

    Returns
    -------
    xarray.Dataset
        Parameters by `draw`, variables by `draw` and `individual`.
    """
    mechanisms = scm.mechanisms()
    numbers = np.arange(draws)
    fresh = {}
    for name, noise in mechanisms.noises.items():
        width = noise.width(scm.structure.laws[name])
        fresh[name] = torch.from_numpy(uniforms(seed, f"people {name}", numbers, (n,) if width is None else (n, width)))

    def one_draw(theta: Tensors, people: Tensors) -> Tensors:
        simulation = Simulate(mechanisms, people)
        run(scm.program, n, simulation, Intervene(theta))
        return simulation.values

    with numerics(), torch.no_grad():
        theta = {name: torch.from_numpy(np.array(value, dtype=float)) for name, value in parameters.items()}
        values = over_draws(one_draw, theta, fresh, draws)
    variables = {
        name: (("draw", "individual"), scm.codec.numbers(name, values[name]), scm.codec.attributes(name))
        for name in scm.variables
    }
    constants = {
        name: (("draw", *(f"{name}_dim_{axis}" for axis in range(value.ndim - 1))), value)
        for name, value in parameters.items()
    }
    return xr.Dataset({**constants, **variables}, coords={"draw": numbers, "individual": np.arange(n)})
