"""Draw parameters from the prior, and people from the program."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
import xarray as xr

from causalaudit.errors import ProgramError
from causalaudit.people import check_table
from causalaudit.randomness import seeded, uniforms
from causalaudit.scm.columns import site_column
from causalaudit.scm.edge_cut import refuse_unknown_means
from causalaudit.scm.execution import numerics, over_draws
from causalaudit.scm.handlers import Intervene, Record, Simulate, Tensors, run

if TYPE_CHECKING:
    from causalaudit.scm.program import SCM


def prior_draws(scm: "SCM", draws: int, seed: int) -> dict[str, np.ndarray]:
    """Draw all parameters from the prior, with a leading axis of draws."""
    refuse_unknown_means(scm.cuts)
    samples: dict[str, list[np.ndarray]] = {name: [] for name in scm.parameters}
    with numerics(), torch.no_grad(), seeded(seed, "prior"):
        for _ in range(draws):
            record = Record()
            run(scm.program, 1, record)
            for name, values in samples.items():
                values.append(record.values[name].double().numpy().copy())
    return {name: np.stack(values) for name, values in samples.items()}


ROWS = "given rows"  # the name of the uniforms that choose them


def drawn_rows(known: Tensors, uniforms: Tensors, weights: np.ndarray | None = None) -> Tensors:
    """Return given covariates of rows that uniforms choose, all of a person from the same row; by weights of the rows.

    Examples
    --------
    >>> import numpy as np, torch
    >>> drawn_rows({"age": torch.tensor([30, 40])}, {ROWS: torch.tensor([0.1, 0.7])}, np.array([3.0, 1.0]))
    {'age': tensor([30, 30])}
    """
    if not known:
        return {}
    count = len(next(iter(known.values())))
    if weights is None:
        rows = (uniforms[ROWS] * count).to(torch.int64)
    else:
        edges = torch.from_numpy(np.cumsum(weights) / weights.sum())
        rows = torch.searchsorted(edges, uniforms[ROWS].double().contiguous(), right=True)
    rows = rows.clamp(max=count - 1)
    return {name: value[rows] for name, value in known.items()}


def given_people(scm: "SCM", data: pd.DataFrame | None) -> Tensors:
    """Return the covariates of a table that the program conditions on, one entry for each row."""
    if not scm.given:
        return {}
    if data is None:
        raise ProgramError(
            f"{scm.name!r} conditions on {', '.join(map(repr, scm.given))} (Given), which cannot be simulated: hand "
            "over data= with these columns, whose rows are drawn."
        )
    check_table(data)
    return {name: scm.codec.encode(name, site_column(name, data)) for name in scm.given}


def simulate(
    scm: "SCM",
    parameters: Mapping[str, np.ndarray],
    n: int,
    draws: int,
    seed: int,
    *,
    data: pd.DataFrame | None = None,
    weights: np.ndarray | None = None,
) -> xr.Dataset:
    """Draw `n` people for each draw of the parameters, all draws in one pass, given covariates from the rows of data.

    Rows are drawn by their weights, if they have some.

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
    for pair in scm.confounding:
        fresh = pair.coupled(fresh)
    known = given_people(scm, data)
    if known:
        fresh[ROWS] = torch.from_numpy(uniforms(seed, ROWS, numbers, (n,)))

    def one_draw(theta: Tensors, people: Tensors) -> Tensors:
        simulation = Simulate(mechanisms, people)
        run(scm.program, n, simulation, Intervene({**theta, **drawn_rows(known, people, weights)}))
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
