"""Counterfactual people as data: one table a draw, and the point that the papers compute."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.arguments import check_kind, check_types
from causalaudit.arviz_versions import InferenceData, inference_data
from causalaudit.counterfactuals.abduction import Abduction
from causalaudit.counterfactuals.bounded import AnyCoupling
from causalaudit.counterfactuals.stored import check_content, check_dataset, check_values
from causalaudit.errors import CausalAuditError, DataError, SavedFileError
from causalaudit.global_state import cached_property
from causalaudit.people import check_cells, check_table, find_column, pick_column
from causalaudit.progress import pieces
from causalaudit.scm.columns import typed
from causalaudit.storage import Artefact, draws_in_memory, pack, unpack, write_artefact

Do = Mapping[str, Any]
KIND = "counterfactual draws"
_SAVED = ("dataset", "factual", "do", "point", "settings", "completed", "bounds")


@dataclass(frozen=True, eq=False)
class CounterfactualDraws:
    """Counterfactual people, draw by draw: plain data.

    Attributes
    ----------
    dataset : xarray.Dataset
        The variables of the program that have a column, by `draw` and `individual`; those with levels as integer
        codes, with the levels in the attribute `levels`.
    factual : pandas.DataFrame
        The people as they are, all columns of the data.
    do : dict
        The intervention, as it was asked for.
    point : pandas.DataFrame
        The counterfactual people at the posterior mean of the parameters, all columns of the data, in the order of
        `factual`. Discrete noise is in the middle of its interval, and finite latents are at their most probable state:
        this is what the papers compute. Of noise that is shared to a degree r, the part that is new is zero.
    settings : dict
        The assumptions behind the draws: couplings, edges, seed, and the `posterior` they come from, by the digest of
        its parameters and of what its program assumes of noise. Empty if they were computed elsewhere.
    completed : xarray.Dataset
        The factual values of the columns that are missing of anyone, by `draw` and `individual`: what is missing is
        drawn given what is known of the person, at each draw of the parameters, and is the same in the counterfactual
        world of that draw. Empty if nothing is missing. At the `point`, missing values are at their mean or, if they
        are finite, at their most probable state.
    path : pathlib.Path or None
        The folder on disk in which the draws are (``counterfactuals(..., path=)``): then `dataset` reads them when they
        are needed, and not before. None if they are in memory.
    bounds : xarray.Dataset
        Of each variable that the intervention reaches, the least and the greatest probability of each of its values
        under any coupling of the worlds, by `bound` (`lower`, `upper`), `draw`, `individual` and `<variable>_value`;
        empty unless it was asked for. The probabilities of all sites are those of the draw, whatever noise the program
        states. The attribute `bounds` of a variable is "sharp" where some coupling attains them, else "outer". They are
        a person's: one coupling serves everybody, so that their means bound the share of a group, but can be far too
        wide; see `share_bounds`.
    """

    dataset: xr.Dataset
    factual: pd.DataFrame
    do: dict[str, Any]
    point: pd.DataFrame
    settings: dict[str, Any] = field(default_factory=dict)
    completed: xr.Dataset = field(default_factory=xr.Dataset)
    bounds: xr.Dataset = field(default_factory=xr.Dataset)
    _abduction: Abduction | None = None
    path: Path | None = None

    def __repr__(self) -> str:
        sizes, where = self.dataset.sizes, "" if self.path is None else f", on disk in {self.path.name!r}"
        asked = f"Counterfactuals under do({', '.join(self.do)})"
        return f"{asked}: {sizes['draw']} draws of {sizes['individual']} people{where}"

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, do: Do | None = None) -> "CounterfactualDraws":
        """Take counterfactuals that were computed elsewhere, as a single draw.

        Parameters
        ----------
        frame
            The counterfactual people, with the index of the factual ones. It may hold more people than an audit
            asks about; only the columns that the audit compares (and a decision read from a column) are required. In
            columns of text no value may be missing.
        do
            A record of the intervention; not checked.

        Examples
        --------
        >>> import pandas as pd, causalaudit as ca
        >>> frame = pd.DataFrame({"gender": ["male", "male"], "salary": [51.0, 43.5]}, index=[3, 8])
        >>> ca.CounterfactualDraws.from_frame(frame, do={"gender": "male"})
        Counterfactuals under do(gender): 1 draws of 2 people
        """
        check_types(CounterfactualDraws.from_frame, locals())
        check_table(frame)
        check_kind("do", {} if do is None else do, Mapping, "a mapping from variables to values")
        variables: dict[str, Any] = {}
        for name in frame.columns:
            column = find_column(frame, name, "column")
            check_cells(column, "column")
            if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
                variables[str(name)] = (("draw", "individual"), column.to_numpy(dtype=float)[None])
            else:
                codes, levels = _factorized(pick_column(frame, name, "column"))
                attributes = {"levels": list(levels)}
                variables[str(name)] = (("draw", "individual"), codes.astype(np.int32)[None], attributes)
        coordinates = {"draw": [0], "individual": frame.index.to_numpy()}
        return cls(xr.Dataset(variables, coords=coordinates), frame.copy(), dict(do or {}), frame.copy())

    @cached_property
    def latents(self) -> xr.Dataset:
        """The latent variables, drawn for every draw of the parameters; computed when first asked for, never saved.

        They are the same in the factual and in the counterfactual world, unless they are intervened on or have parents.
        """
        if self._abduction is None:
            raise CausalAuditError("These draws were loaded, or computed elsewhere: their latents are not known.")
        return self._abduction.latents()

    @cached_property
    def noise(self) -> xr.Dataset:
        """The abducted noise of every variable, draw by draw; computed when first asked for, never saved.

        It is that of the factual world, which a coupling by number mixes with fresh noise in the other.

        Residuals for location-scale families, uniform quantiles for other ordered ones, Gumbel noises (with an axis
        for the values) for categorical ones.
        """
        if self._abduction is None:
            raise CausalAuditError("These draws were loaded, or computed elsewhere: their noise is not known.")
        return self._abduction.noise()

    @cached_property
    def any_coupling(self) -> AnyCoupling:
        """What these people can be under any coupling of the worlds; for auditors."""
        if self._abduction is None:
            raise CausalAuditError(
                "These draws were loaded or computed elsewhere: they have no bounds but those saved."
            )
        return AnyCoupling.of(self._abduction)

    @cached_property
    def share_bounds(self) -> xr.Dataset:
        """Between what the share of these people lies who have each value, under any coupling of the worlds.

        Of each variable that the intervention reaches, by `bound`, `draw` and `<variable>_value`; computed when first
        asked for, never saved. One mechanism serves everybody: a linear program for each draw finds the law of its
        responses. The attribute `bounds` of a variable is "sharp" where some coupling attains both ends; else it is
        "outer", and the attribute `why` says why: where there are too many response functions, these are the means of
        the personal bounds.
        """
        return self.any_coupling.shares()

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
        for part in self.in_memory():
            for draw in range(part.dataset.sizes["draw"]):
                yield part.frame(slice(draw, draw + 1))

    def in_memory(self, names: Sequence[str] | None = None) -> Iterator["CounterfactualDraws"]:
        """Yield consecutive draws that are in memory: all at once, or those of a folder, a block at a time.

        A block has so many draws that each variable takes 128 MiB, or else one.

        Parameters
        ----------
        names
            The variables that are needed; default all.
        """
        if self.path is None:
            yield self
            return
        dataset = self.dataset if names is None else self.dataset[list(names)]
        for part in pieces(dataset.sizes["draw"], budget=draws_in_memory(dataset.sizes["individual"])):
            block = dataset.isel(draw=part).load()
            check_values(block, _is_computed(self.settings))
            yield replace(self, dataset=block, path=None, _abduction=None)

    def frame(self, draws: slice) -> pd.DataFrame:
        """Return the people of several draws below one another; the index repeats itself."""
        check_kind("draws", draws, slice, "a slice, such as slice(0, 10)")
        part = self.dataset.isel(draw=draws)
        return typed_frame(self.factual, {name: part[name].to_numpy().ravel() for name in self._columns}, part)

    def completions(self) -> Iterator[tuple[pd.DataFrame, "CounterfactualDraws"]]:
        """Yield for each draw the people without missing values, and their counterfactuals in that draw.

        Auditors refuse missing values in the columns they use, since no single value is true. An audit of each
        completion, whose results are then compared or averaged, carries what is not known of the people; everybody is
        in each of them. If nothing is missing, all tables are the same.

        Examples
        --------
        >>> import causalaudit as ca
        >>> applicants = ca.datasets.make_loan(300, seed=0)
        >>> applicants["salary"] = applicants["salary"].mask(applicants.index % 10 == 0)
        >>> posterior = ca.fit(ca.models.loan.linear(), applicants, seed=0)
        >>> worlds = ca.counterfactuals(posterior, do={"gender": "male"}, draws=5)
        >>> [int(people["salary"].isna().sum()) for people, _ in worlds.completions()]
        [0, 0, 0, 0, 0]
        """
        for draw, world in enumerate(self.frames()):
            known = self.completed.isel(draw=[draw]) if self.completed else self.completed
            numbers = {str(name): values.to_numpy().ravel() for name, values in known.data_vars.items()}
            people = typed_frame(self.factual, numbers, known) if numbers else self.factual.copy()
            dataset = self.dataset.isel(draw=[draw])
            yield people, CounterfactualDraws(dataset, people, self.do, world, self.settings)

    @property
    def _columns(self) -> list[str]:
        return [str(name) for name in self.dataset.data_vars if name in self.factual.columns]

    def to_inference_data(self) -> InferenceData:
        """Return the draws as ArviZ predictions, with one chain, beside the factual values as constant data."""
        predictions = self.dataset.expand_dims(chain=[0])
        factual = {
            name: ("individual", self.factual[name].to_numpy())
            for name in self._columns
            if self.factual[name].dtype.kind in "biuf"
        }
        constants = xr.Dataset(factual, coords={"individual": self.factual.index.to_numpy()})
        return inference_data(predictions=predictions, predictions_constant_data=constants)

    def save(self, path: str | Path) -> None:
        """Write the draws to one file, in which nothing can run code; `causalaudit.load` reads it back.

        Raises
        ------
        SavedFileError
            If the draws are in a folder: they are saved already, and `causalaudit.load` reads the folder.
        """
        check_types(CounterfactualDraws.save, locals())
        if self.path is not None:
            raise SavedFileError(
                f"These draws are saved already, in the folder {str(self.path)!r}, which may be copied: "
                "causalaudit.load reads it."
            )
        content, arrays = pack({name: getattr(self, name) for name in _SAVED})
        write_artefact(path, KIND, {"content": content}, {"arrays": arrays})

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "CounterfactualDraws":
        """Return the draws that a file holds.

        Raises
        ------
        SavedFileError
            If its parts do not fit one another, or codes are none of the levels.
        """
        content = unpack(artefact.header["content"], artefact.groups["arrays"])
        check_content(content, _SAVED)
        check_dataset(content["dataset"], content["factual"])
        check_values(content["dataset"], _is_computed(content["settings"]))
        return cls(**content)


def _is_computed(settings: Mapping[str, Any]) -> bool:
    return "posterior" in settings


def _factorized(column: "pd.Series[Any]") -> tuple[np.ndarray, Any]:
    try:
        return pd.factorize(column, sort=True)
    except TypeError as error:  # values of several types have no order
        raise DataError(f"The column {column.name!r} holds values of several types: make them texts.") from error


def typed_frame(factual: pd.DataFrame, values: Mapping[str, np.ndarray], dataset: xr.Dataset) -> pd.DataFrame:
    """Put numbers and codes into copies of the factual table, below one another, with its order, types and levels."""
    repeats = len(next(iter(values.values()))) // len(factual)
    frame = pd.concat([factual] * repeats) if repeats > 1 else factual.copy()
    for name, numbers in values.items():
        frame[name] = typed(numbers, factual[name].dtype, dataset[name].attrs.get("levels"))
    return frame
