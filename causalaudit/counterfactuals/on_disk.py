"""Counterfactual draws beyond memory: written to a folder a block at a time, and read from it when they are needed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from causalaudit.counterfactuals.abduction import Abduction
from causalaudit.counterfactuals.draws import KIND, CounterfactualDraws, Do, typed_frame
from causalaudit.counterfactuals.stored import check_content
from causalaudit.errors import InterventionError, SavedFileError
from causalaudit.storage import Artefact, believing, draws_in_memory, pack, read_folder, unpack, write_folder

_SAVED = ("factual", "do", "point", "settings", "draw", "attributes")


def write_draws(path: Path, abduction: Abduction, people: pd.DataFrame, do: Do, progress: bool) -> CounterfactualDraws:
    """Compute draws a block at a time, write each before the next, and return them as they lie on disk.

    Parameters
    ----------
    path
        The folder, which `check_new_folder` let pass.
    abduction
        The question.
    people, do
        Who was asked about, and the intervention as it was asked for.

    Raises
    ------
    InterventionError
        If values of the people are missing.
    """
    if abduction.missing:
        raise InterventionError(
            f"Values of {', '.join(map(repr, abduction.missing))} are missing, and drawn; such draws cannot be written "
            "to a folder. Leave path out, and ask for fewer people or draws."
        )
    attributes = {name: abduction.scm.codec.attributes(name) for name in abduction.scm.columns}
    levels = xr.Dataset({name: ((), 0, known) for name, known in attributes.items()})
    known: dict[str, Any] = {
        "factual": people,
        "do": dict(do),
        "point": typed_frame(people, abduction.point(), levels),
        "settings": abduction.settings,
    }
    content, arrays = pack({**known, "draw": abduction.numbers, "attributes": attributes})
    blocks = (values for values, _ in abduction.blocks(draws_in_memory(len(people)), progress))
    shape = (len(abduction.numbers), len(people))
    write_folder(path, Artefact(KIND, {"content": content}, {"arrays": arrays}), shape, blocks)
    return replace(open_draws(path), **known, _abduction=abduction)


def open_draws(path: str | Path) -> CounterfactualDraws:
    """Return the draws that `counterfactuals` wrote to a folder; they are read when they are needed.

    Raises
    ------
    SavedFileError
        If it is no such folder, or it is damaged.
    """
    artefact, dataset = read_folder(path)
    if artefact.kind != KIND:
        raise SavedFileError(f"{str(path)!r} holds a {artefact.kind!r}, not {KIND}.")
    with believing(Path(path).name):
        content = unpack(artefact.header["content"], artefact.groups["arrays"])
        check_content(content, _SAVED)
        draw, attributes = content.pop("draw"), content.pop("attributes")
        people = content["factual"]
        if dataset.sizes != {"draw": len(draw), "individual": len(people)}:
            raise SavedFileError(f"{Path(path).name!r} claims {len(draw)} draws of {len(people)} people.")
        dataset = dataset[list(attributes)].assign_coords(draw=draw, individual=people.index.to_numpy())
        for name, known in attributes.items():
            dataset[name].attrs = dict(known)
        return CounterfactualDraws(dataset, **content, path=Path(path))
