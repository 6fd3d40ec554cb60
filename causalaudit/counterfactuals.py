"""Counterfactuals by abduction, action and prediction, over all draws and people in one vectorised pass."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import torch
import xarray as xr

from causalaudit.abduction import Abduction
from causalaudit.errors import CausalAuditError, DataError, InterventionError, check_count, nearest
from causalaudit.inference import Posterior
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.scm import SCM
from causalaudit.scm.columns import check_support, check_table, typed
from causalaudit.scm.handlers import Tensors

Do = Mapping[str, Any]
Edges = Collection[tuple[str, str]]


def counterfactuals(
    posterior: Posterior,
    do: Do,
    data: pd.DataFrame | None = None,
    rows: Any = None,
    draws: int | None = None,
    coupling: str | Mapping[str, str] | None = None,
    edges: Edges | None = None,
    seed: int = 0,
    chunk: int | None = None,
    progress: bool = True,
) -> "CounterfactualDraws":
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
        People outside the fit; by default those of the fit.
    rows
        Which people: a boolean mask over the table, or index labels. Default: all.
    draws
        How many posterior draws, evenly spaced; default all.
    coupling
        The assumption on discrete noise, for all variables or by variable: see `SCM.couplings`.
    edges
        The edges along which the change may travel, for path-specific effects; a child sees the factual
        value of a parent along every other edge. Default: all.
    seed
        Same seed, same draws, whatever the chunks and the workers.
    chunk
        Draws in one pass. By default so many that a variable takes 4 MiB in a pass; a pass holds a few dozen
        such arrays at once, besides the result, which takes 8 bytes (levels: 1) × draws × people × variables.
    progress
        Show a bar when it is long.

    Returns
    -------
    CounterfactualDraws

    Raises
    ------
    InterventionError
        If `do` names a parameter or an unknown variable, or has a wrong length or level.

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
    scm = posterior.scm
    if chunk is not None:
        check_count("chunk", chunk)
    table = posterior.data if data is None else data
    check_table(table)
    people = _select(table, rows)
    if data is not None and "latents" in posterior.idata.groups():
        raise InterventionError(
            "data has people outside the fit, but the latents of this program were drawn together with its parameters, "
            "for the fitted people alone. Fit a table that holds the new people too, and choose them by `rows`."
        )
    if data is not None and (scm.latents or "Delta" in scm.families.values()):
        MarginalDensity(scm, scm.encode(people)).refuse_impossible(posterior.parameters(), people.index)
    abduction = Abduction(
        posterior,
        people,
        _encode_do(scm, do, people),
        draws,
        scm.couplings(coupling),
        None if edges is None else _check_edges(scm, edges),
        seed,
        chunk,
    )
    return CounterfactualDraws(abduction.dataset(progress), people, dict(do), abduction)


def _select(table: pd.DataFrame, rows: Any) -> pd.DataFrame:
    if rows is None:
        return table
    if np.ndim(rows) == 0:
        raise DataError(f"rows is {rows!r}, but must be a mask or a collection of labels, for example [{rows!r}].")
    if isinstance(rows, pd.Series) and pd.api.types.is_bool_dtype(rows):
        if not rows.index.equals(table.index):
            raise DataError("rows is a boolean Series whose index is not that of the data.")
        chosen = table[rows]
    else:
        mask = np.asarray(rows)
        if mask.dtype == bool and len(mask) != len(table):
            raise DataError(f"rows is a mask of length {len(mask)}, but the data have {len(table)} rows.")
        missing = [] if mask.dtype == bool else [label for label in mask if label not in table.index]
        if missing:
            raise DataError(f"rows names {missing[0]!r}, which is not in the index of the data.")
        chosen = table.loc[mask]
    if len(chosen) == 0:
        raise DataError("rows selects nobody.")
    check_table(chosen)
    return chosen


def _encode_do(scm: SCM, do: Do, people: pd.DataFrame) -> Tensors:
    if not isinstance(do, Mapping):
        raise InterventionError(f"do must map variables to values, but is {do!r}: write {{variable: value}}.")
    tensors = {}
    for name, value in do.items():
        if name in (*scm.parameters, *scm.derived):
            raise InterventionError(f"{name!r} is a parameter of the program; only variables of people can be set.")
        if name not in scm.variables:
            raise InterventionError(f"There is no variable {name!r} to intervene on: {nearest(name, scm.variables)}")
        tensors[name] = _encode_value(scm, name, value(people) if callable(value) else value, people)
    return tensors


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
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2 or not scm.graph.has_edge(*edge):
            raise InterventionError(f"{edge!r} is not an edge of {scm.name!r}; its edges are {list(scm.graph.edges)}.")
    return frozenset((cause, effect) for cause, effect in edges)


@dataclass(frozen=True)
class CounterfactualDraws:
    """Counterfactual people, draw by draw.

    Attributes
    ----------
    dataset : xarray.Dataset
        The variables of the program that have a column, by `draw` and `individual`; those with levels as integer
        codes, with the levels in the attribute `levels`.
    factual : pandas.DataFrame
        The people as they are, all columns of the data.
    do : dict
        The intervention, as it was asked for.
    """

    dataset: xr.Dataset
    factual: pd.DataFrame
    do: dict[str, Any]
    _abduction: Abduction | None = None

    def __repr__(self) -> str:
        sizes = self.dataset.sizes
        return f"Counterfactuals under do({', '.join(self.do)}): {sizes['draw']} draws of {sizes['individual']} people"

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, do: Do | None = None) -> "CounterfactualDraws":
        """Take counterfactuals that were computed elsewhere, as a single draw.

        Parameters
        ----------
        frame
            The counterfactual people, with the index of the factual ones. It may hold more people than an audit
            asks about; only the columns that the audit compares (and a decision read from a column) are required.
        do
            A record of the intervention; not checked.

        Examples
        --------
        >>> import pandas as pd, causalaudit as ca
        >>> frame = pd.DataFrame({"gender": ["male", "male"], "salary": [51.0, 43.5]}, index=[3, 8])
        >>> ca.CounterfactualDraws.from_frame(frame, do={"gender": "male"})
        Counterfactuals under do(gender): 1 draws of 2 people
        """
        check_table(frame)
        variables: dict[str, Any] = {}
        for name in frame.columns:
            column = frame[name]
            if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
                variables[str(name)] = (("draw", "individual"), column.to_numpy(dtype=float)[None])
            else:
                codes, levels = pd.factorize(column, sort=True)
                attributes = {"levels": list(levels)}
                variables[str(name)] = (("draw", "individual"), codes.astype(np.int32)[None], attributes)
        coordinates = {"draw": [0], "individual": frame.index.to_numpy()}
        return cls(xr.Dataset(variables, coords=coordinates), frame.copy(), dict(do or {}))

    @property
    def settings(self) -> dict[str, Any]:
        """The assumptions behind the draws: couplings, edges and seed."""
        if self._abduction is None:
            return {}
        return {"coupling": self._abduction.coupling, "edges": self._abduction.edges, "seed": self._abduction.seed}

    @property
    def posterior(self) -> Posterior | None:
        """The posterior that the draws come from; None if they were computed elsewhere."""
        return None if self._abduction is None else self._abduction.posterior

    @cached_property
    def point(self) -> pd.DataFrame:
        """The counterfactual people at the posterior mean of the parameters, all columns of the data.

        Discrete noise is in the middle of its interval, and finite latents are at their most probable state: this
        is what the papers compute.
        """
        if self._abduction is None:
            return self.factual
        return self._frame(self._abduction.point())

    @cached_property
    def latents(self) -> xr.Dataset:
        """The latent variables, drawn for every draw of the parameters; computed when first asked for.

        They are the same in the factual and in the counterfactual world, unless they are intervened on or have parents.
        """
        if self._abduction is None:
            raise CausalAuditError("These counterfactuals were computed elsewhere: their latents are not known.")
        return self._abduction.latents()

    @cached_property
    def noise(self) -> xr.Dataset:
        """The abducted noise of every variable, draw by draw; it is computed when it is first asked for.

        Residuals for location-scale families, uniform quantiles for other ordered ones, Gumbel noises (with an axis
        for the values) for categorical ones.
        """
        if self._abduction is None:
            raise CausalAuditError("These counterfactuals were computed elsewhere: their noise is not known.")
        return self._abduction.noise()

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield the counterfactual people of each draw as a table like the data, with levels.

        Columns that the program does not model keep their factual values.

        Examples
        --------
        >>> import pandas as pd, causalaudit as ca
        >>> worlds = ca.CounterfactualDraws.from_frame(pd.DataFrame({"gender": ["male"], "salary": [51.0]}))
        >>> [frame.gender.item() for frame in worlds.frames()]
        ['male']
        """
        for draw in range(self.dataset.sizes["draw"]):
            yield self.frame(slice(draw, draw + 1))

    def frame(self, draws: slice) -> pd.DataFrame:
        """Return the people of several draws below one another; the index repeats itself."""
        part = self.dataset.isel(draw=draws)
        return self._frame({name: part[name].to_numpy().ravel() for name in self._columns})

    @property
    def _columns(self) -> list[str]:
        return [str(name) for name in self.dataset.data_vars if name in self.factual.columns]

    def _frame(self, values: dict[str, np.ndarray]) -> pd.DataFrame:
        """Put numbers and codes into copies of the factual table, with its order, types and levels."""
        repeats = len(next(iter(values.values()))) // len(self.factual)
        frame = pd.concat([self.factual] * repeats) if repeats > 1 else self.factual.copy()
        for name, numbers in values.items():
            frame[name] = typed(numbers, self.factual[name].dtype, self.dataset[name].attrs.get("levels"))
        return frame

    def to_inference_data(self) -> az.InferenceData:
        """Return the draws as ArviZ predictions, with one chain, beside the factual values as constant data."""
        predictions = self.dataset.expand_dims(chain=[0])
        factual = {
            name: ("individual", self.factual[name].to_numpy())
            for name in self._columns
            if self.factual[name].dtype.kind in "biuf"
        }
        constants = xr.Dataset(factual, coords={"individual": self.factual.index.to_numpy()})
        return az.InferenceData(predictions=predictions, predictions_constant_data=constants)
