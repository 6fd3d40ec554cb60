"""Bounds of the probability of each value that people would have, over all couplings, by draw of the parameters."""

import numpy as np
import xarray as xr

from causalaudit.counterfactuals.abduction import Abduction
from causalaudit.counterfactuals.coupling_bounds import CouplingBounds
from causalaudit.counterfactuals.finite_sites import Site, tabulate, too_many
from causalaudit.errors import DataError, InterventionError
from causalaudit.people import distinct_rows
from causalaudit.scm.handlers import Tensors

# The most numbers (draws x states) of one person: 128 MiB, a handful of such arrays are alive at once.
_MOST = 2**24
_OTHERWISE = "ask without bounds=True"


def personal_bounds(asked: Abduction) -> xr.Dataset:
    """Return the bounds of the variables that the intervention reaches, by `bound`, `draw`, `individual` and value.

    Raises
    ------
    DataError
        If a variable of the program is not finite or not known of everybody, or if there are too many states.
    InterventionError
        If the intervention travels along some edges only.
    """
    _refuse(asked)
    posterior, numbers = asked.posterior, asked.numbers
    parameters = {name: value[numbers] for name, value in posterior.parameters().items()}
    sites = tabulate(asked.scm, parameters, len(numbers), {}, _OTHERWISE)
    factual, do = _positions(asked, sites, asked.factual), _positions(asked, sites, asked.do)
    people = distinct_rows([*factual.values(), *do.values()])
    bounds = CouplingBounds(
        sites,
        {name: codes[people.first] for name, codes in factual.items()},
        {name: codes[people.first] for name, codes in do.items()},
    )
    states = len(numbers) * int(np.prod([float(size) for size in bounds.sizes]))
    if states > _MOST:
        raise too_many(f"{', '.join(bounds.reached)} have {states:,} joint states at all draws", _OTHERWISE)
    coordinates = {"bound": ["lower", "upper"], "draw": numbers, "individual": asked.people.index.to_numpy()}
    parts = {name: _of_each_value(asked, bounds, name, people.inverse) for name in bounds.reached}
    return xr.Dataset(parts, coords=coordinates)


def _refuse(asked: Abduction) -> None:
    """Refuse what the recursion does not know: values that are not known, noises that are not a site's own."""
    if asked.edges is not None:
        raise InterventionError("Bounds are of interventions along all edges: leave out edges, or bounds=True.")
    if asked.scm.latents:
        raise DataError(
            f"Bounds need every variable to be known, but {asked.scm.latents[0]!r} is latent: {_OTHERWISE}."
        )
    if asked.missing:
        raise DataError(
            f"Bounds need every variable to be known, but {next(iter(asked.missing))!r} is missing of somebody: choose "
            f"others by rows, or {_OTHERWISE}."
        )
    for pair in asked.scm.confounding:
        raise DataError(
            f"Bounds take each variable to have a noise of its own, but {pair.first!r} and {pair.second!r} are "
            f"confounded: {_OTHERWISE}."
        )


def _positions(asked: Abduction, sites: dict[str, Site], values: Tensors) -> dict[str, np.ndarray]:
    """Return where everybody's values are among those of their sites."""
    positions = {}
    for name, tensor in values.items():
        numbers, possible = asked.scm.codec.numbers(name, tensor), sites[name].values
        places = np.minimum(np.searchsorted(possible, numbers), len(possible) - 1)
        strange = possible[places] != numbers
        if strange.any():
            raise DataError(
                f"{name!r} is never {numbers[strange][0]} under the program; it is one of {possible.tolist()}."
            )
        positions[name] = places
    return positions


def _of_each_value(asked: Abduction, bounds: CouplingBounds, name: str, inverse: np.ndarray) -> xr.DataArray:
    values = bounds.sites[name].values
    found = np.stack(
        [bounds.probability(np.arange(len(values)) == place, [name]) for place in range(len(values))], axis=-1
    )
    labels = np.array(asked.scm.codec.decode(name, values).tolist())
    kind = "sharp" if bounds.sharp([name]) else "outer"
    dims = ("bound", "draw", "individual", f"{name}_value")
    return xr.DataArray(np.clip(found[:, :, inverse], 0.0, 1.0), {dims[-1]: labels}, dims, attrs={"bounds": kind})
