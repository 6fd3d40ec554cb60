"""Counterfactuals by abduction, action and prediction, over all draws and people in one vectorised pass."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr

from causalaudit.arguments import check_count, check_seed, check_types, check_value, shown
from causalaudit.arviz_versions import group_names
from causalaudit.callbacks import answer_of
from causalaudit.counterfactuals.abduction import Abduction
from causalaudit.counterfactuals.bounded import AnyCoupling
from causalaudit.counterfactuals.draws import CounterfactualDraws, Do, typed_frame
from causalaudit.counterfactuals.on_disk import write_draws
from causalaudit.errors import DataError, InterventionError, nearest
from causalaudit.inference import Posterior
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.density.patterns import check_missing
from causalaudit.people import check_table
from causalaudit.randomness import label_places
from causalaudit.scm import SCM
from causalaudit.scm.columns import check_support
from causalaudit.scm.handlers import Tensors
from causalaudit.scm.noise import Coupling
from causalaudit.storage import check_new_folder

Edges = Collection[tuple[str, str]]


def counterfactuals(
    posterior: Posterior,
    do: Do,
    data: pd.DataFrame | None = None,
    *,
    rows: Any = None,
    draws: int | None = None,
    coupling: Coupling | Mapping[str, Coupling] | None = None,
    edges: Edges | None = None,
    bounds: bool = False,
    seed: int = 0,
    chunk: int | None = None,
    path: str | Path | None = None,
    progress: bool = True,
) -> CounterfactualDraws:
    """Ask what each person would have been, had something been different.

    For every posterior draw and every person: *abduct* the noise under which the program gives what was
    observed, *act* by setting the variables in `do`, *predict* by replaying the program with that noise.

    Parameters
    ----------
    posterior
        From `fit`.
    do
        Maps variables to a level, a number, an array with an entry for each person, or a function of the
        factual table (a soft intervention).
    data
        People outside the fit; by default those of the fit. Missing values are drawn given what is known of the person,
        at each draw of the parameters, and are the same in both worlds (`CounterfactualDraws.completed`).
    rows
        Which people: a boolean mask over the table, or index labels. Default: all.
    draws
        How many posterior draws, evenly spaced; default all.
    coupling
        How worlds share noise, for all variables or by variable: see `SCM.couplings`. By default as the posterior's
        program says (`Posterior.with_coupling`).
    edges
        The edges along which the change may travel, for path-specific effects; a child sees the factual
        value of a parent along every other edge. Default: all.
    bounds
        Find also between what the probability of each value lies under every coupling (`CounterfactualDraws.bounds`):
        for programs all of whose variables are finite and known. They take 16 bytes × draws × people × values of the
        variables that the intervention reaches.
    seed
        Same seed, same draws, whatever the chunks, the workers and the order of the rows: random numbers go by the
        place of a person's label among the labels of all who are asked about.
    chunk
        Draws in one pass. By default so many that a variable takes 4 MiB in a pass; a pass holds a few dozen
        such arrays at once, besides the result, which takes 8 bytes (levels: 1) × draws × people × variables.
    path
        A folder to write the draws to, where they do not fit into memory (``"worlds.zarr"``): a block of draws at a
        time, so many that a variable takes 128 MiB (or else one), is all that is in memory besides a pass. The draws
        are the same, bit for bit, and are read from the folder when they are needed, by auditors a block at a time.
        The folder gets its name when it is whole; `causalaudit.load` opens it again. Needs the extra
        ``large``, and people without missing values.
    progress
        Show a bar when it is long.

    Returns
    -------
    CounterfactualDraws

    Raises
    ------
    InterventionError
        If `do` names a parameter or an unknown variable, or has a wrong length or level; if bounds are asked for along
        some edges only.
    DataError
        If bounds are asked for and a variable is not finite, not known of everybody, or confounded with another; or on
        disk.
    SavedFileError
        If there is something at `path` already.

    References
    ----------
    Pearl (2009), Causality, theorem 7.1.7.

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(300, seed=0)
    >>> posterior = ca.fit(ca.models.loan.linear(), applicants, seed=0)
    >>> women = applicants.gender == "female"
    >>> worlds = ca.counterfactuals(posterior, do={"gender": "male"}, rows=women, draws=100, seed=0)
    >>> worlds.dataset["salary"].dims
    ('draw', 'individual')
    """
    check_types(counterfactuals, locals())
    check_posterior(posterior)
    scm = posterior.scm
    if chunk is not None:
        check_count("chunk", chunk)
    folder = None if path is None else check_new_folder(path)
    people = select_people(posterior, data, rows)
    abduction = Abduction(
        posterior,
        people,
        encode_do(scm, do, people),
        draws,
        scm.couplings(coupling),
        None if edges is None else _check_edges(scm, edges),
        check_seed(seed),
        chunk,
        stations=None if people.index.is_monotonic_increasing else label_places(people.index),
    )
    if folder is not None:
        if bounds:
            raise DataError("bounds are kept in memory: ask for them without path=, for fewer people or draws.")
        return write_draws(folder, abduction, people, do, progress)
    bounded = AnyCoupling.of(abduction).personal() if bounds else xr.Dataset()
    dataset, completed = abduction.datasets(progress)
    point = typed_frame(people, abduction.point(), dataset)
    return CounterfactualDraws(dataset, people, dict(do), point, abduction.settings, completed, bounded, abduction)


def check_posterior(posterior: Any) -> None:
    """Refuse what does not come from `fit`."""
    if not isinstance(posterior, Posterior):
        raise DataError(f"posterior must come from causalaudit.fit, but is {type(posterior).__name__}.")


def select_people(posterior: Posterior, data: pd.DataFrame | None, rows: Any) -> pd.DataFrame:
    """Return the people who are asked about: of the fit, or others whom the program can explain."""
    scm = posterior.scm
    table = posterior.data if data is None else data
    check_table(table)
    people = _select(table, rows)
    if data is not None:
        check_missing(scm, scm.encode_observed(people), people.index)
    if data is not None and "latents" in group_names(posterior.idata):
        raise InterventionError(
            "data has people outside the fit, but the latents of this program were drawn together with its parameters, "
            "for the fitted people alone. Fit a table that holds the new people too, and choose them by `rows`."
        )
    if data is not None and (scm.latents or "Delta" in scm.families.values()):
        MarginalDensity(scm, scm.encode_observed(people)).refuse_impossible(posterior.parameters(), people.index)
    return people


def _is_flat(rows: Any) -> bool:
    try:
        return np.ndim(rows) == 1 and not isinstance(rows, dict)
    except ValueError:  # lists of several lengths
        return False


def _select(table: pd.DataFrame, rows: Any) -> pd.DataFrame:
    if rows is None:
        return table
    if not _is_flat(rows):
        raise DataError(f"rows is {rows!r}, but must be a mask or a collection of labels, for example [{rows!r}].")
    if isinstance(rows, pd.Series) and pd.api.types.is_bool_dtype(rows):
        if not rows.index.equals(table.index):
            raise DataError("rows is a boolean Series whose index is not that of the data.")
        chosen = table[rows]
    else:
        mask = np.asarray(rows)
        if mask.dtype == bool and len(mask) != len(table):
            raise DataError(f"rows is a mask of length {len(mask)}, but the data have {len(table)} rows.")
        for label in mask if mask.dtype == object else ():
            check_value("What rows names", label)
        missing = [] if mask.dtype == bool else [label for label in mask if label not in table.index]
        if missing:
            raise DataError(f"rows names {missing[0]!r}, which is not in the index of the data.")
        chosen = table.loc[mask]
    if len(chosen) == 0:
        raise DataError("rows selects nobody.")
    check_table(chosen)
    return chosen


def encode_do(scm: SCM, do: Do, people: pd.DataFrame) -> Tensors:
    """Return an intervention as tensors, with an entry for each person."""
    if not isinstance(do, Mapping):
        raise InterventionError(f"do must map variables to values, but is {do!r}: write {{variable: value}}.")
    tensors = {}
    for name, value in do.items():
        if name in (*scm.parameters, *scm.derived):
            raise InterventionError(f"{name!r} is a parameter of the program; only variables of people can be set.")
        if name not in scm.variables:
            raise InterventionError(f"There is no variable {name!r} to intervene on: {nearest(name, scm.variables)}")
        tensors[name] = _encode_value(scm, name, _asked(name, value, people) if callable(value) else value, people)
    return tensors


def _asked(name: str, function: Callable[[pd.DataFrame], Any], people: pd.DataFrame) -> Any:
    try:
        return answer_of(function, people, f"The function given for {name!r}")
    except DataError as error:
        raise InterventionError(str(error)) from error


def _encode_value(scm: SCM, name: str, value: Any, people: pd.DataFrame) -> torch.Tensor:
    if isinstance(value, pd.Series):
        if not people.index.isin(value.index).all():
            raise InterventionError(f"The Series given for {name!r} lacks some of the people (by index).")
        column = value.reindex(people.index)
    elif np.ndim(value) == 0:
        column = pd.Series([value] * len(people), index=people.index)
    else:
        if len(value) != len(people):
            raise InterventionError(
                f"The values given for {name!r} are {len(value)}, but {len(people)} people are asked about."
            )
        column = pd.Series(list(value), index=people.index)
    if column.isna().any():
        raise InterventionError(
            f"The intervention on {name!r} has missing values for {int(column.isna().sum())} people."
        )
    try:
        tensor = scm.codec.encode(name, column)
        check_support(name, tensor, scm.structure.laws[name])
    except DataError as error:
        raise InterventionError(f"Impossible intervention: {error}") from error
    return tensor


def _check_edges(scm: SCM, edges: Edges) -> frozenset[tuple[str, str]]:
    if isinstance(edges, str | dict) or not isinstance(edges, Collection):
        raise InterventionError(f"edges is {shown(edges)}, but must be a list of pairs: [(cause, effect), …].")
    for edge in edges:
        pair = isinstance(edge, tuple | list) and len(edge) == 2 and all(isinstance(end, str) for end in edge)
        if not pair or not scm.graph.has_edge(*edge):
            raise InterventionError(f"{edge!r} is not an edge of {scm.name!r}; its edges are {list(scm.graph.edges)}.")
    return frozenset((cause, effect) for cause, effect in edges)
