"""Posteriors on disk, and whether a file belongs to the program it is read for."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.arviz_versions import InferenceData, group_names, group_of, inference_data
from causalaudit.errors import InferenceError, SavedFileError
from causalaudit.inference.density.log_density import Accuracy, ProgramDensity
from causalaudit.inference.posterior.stored import check_groups, check_settings
from causalaudit.scm import SCM
from causalaudit.scm.noise import Coupling
from causalaudit.storage import pack, read_artefact, unpack, write_artefact

KIND = "posterior"
_GROUPS = ("posterior", "latents", "log_prior", "sample_stats", "observed_data")
_ROUNDING = 1e-9  # of log-likelihoods, on another machine or with another version of torch
_PRIOR_ROUNDING = 1e-6  # the same of log-priors, whose parameters were transformed there and back
_MARGIN = 2  # both what is saved and what is compared with it may be off by the error of the integral


class SavedPosterior:
    """The content of a file, before it is known whether it belongs to a program.

    Attributes
    ----------
    data, idata, settings
        Those of the posterior.
    coupling
        That of its program (`SCM.with_coupling`).
    """

    def __init__(self, path: Path) -> None:
        self._file, artefact = path.name, read_artefact(path)
        if artefact.kind != KIND:
            raise SavedFileError(
                f"{path.name!r} holds {artefact.kind}, and not a posterior: read it with causalaudit.load."
            )
        content = unpack(artefact.header["content"], artefact.groups["arrays"])
        self._program, self._check = artefact.header["program"], content["check"]
        self.settings: dict[str, Any] = artefact.header["settings"]
        self.coupling: dict[str, Coupling] = artefact.header.get("coupling", {})
        check_settings(self.settings, self.coupling)
        check_groups(content["groups"], content["data"], self.settings)
        self.data: pd.DataFrame = content["data"]
        self.idata = inference_data(**content["groups"])

    def refuse_another_structure(self, scm: SCM) -> None:
        """Refuse a program with other sites, families, edges, latents or levels."""
        given = _structure(scm)
        for part, value in given.items():
            if self._program.get(part) != value:
                raise SavedFileError(
                    f"{self._file!r} is the posterior of another program: its {part} are {self._program.get(part)}, "
                    f"those of the given one {value}."
                )

    def under_its_coupling(self, scm: SCM) -> SCM:
        """Return the program under the coupling that was saved; one with another coupling of its own is refused."""
        if scm.coupling not in ({}, self.coupling):
            raise SavedFileError(
                f"{self._file!r} was saved under the coupling {self.coupling or 'of the families'}, but the given "
                f"program has chosen {scm.coupling}: load it with a program that has chosen none, and use "
                "Posterior.with_coupling."
            )
        return scm.with_coupling(self.coupling)

    def refuse_other_equations(self, density: ProgramDensity) -> None:
        """Refuse a program that gives the people or the parameters of two stored draws another density.

        What is compared was computed in the same way when the file was written: the same equations give the same
        numbers, to rounding and, for each person, to the accuracy of the integral over a latent.
        """
        accuracy = self._check["accuracy"]
        now = check_numbers(density, self.idata, accuracy)
        error = _ROUNDING + _MARGIN * density.likelihood_error(accuracy)
        same = _close(now["likelihood"], self._check["likelihood"], _ROUNDING, error) and all(
            _close(value, self._check["prior"][name], _PRIOR_ROUNDING, _PRIOR_ROUNDING)
            for name, value in now["prior"].items()
        )
        if not same:
            raise SavedFileError(
                f"{self._file!r} is the posterior of another program: the given one has the same sites, but gives the "
                "stored draws another density, so that its equations or priors differ."
            )


def write_posterior(
    path: Path, density: ProgramDensity, data: pd.DataFrame, idata: InferenceData, settings: Mapping[str, Any]
) -> None:
    """Write a posterior to a file, with the densities of two draws by which its program is known again."""
    groups = {name: group_of(idata, name) for name in _GROUPS if name in group_names(idata)}
    try:
        check = check_numbers(density, idata, "precise")
    except InferenceError:  # a latent that can be integrated out as accurately as the fit needed it, but not better
        check = check_numbers(density, idata, "good")
    content, arrays = pack({"data": data, "groups": groups, "check": check})
    scm = density.scm
    header = {
        "settings": dict(settings), "program": _structure(scm), "coupling": scm.coupling, "content": content,
    }  # fmt: skip
    write_artefact(path, KIND, header, {"arrays": arrays})


def check_numbers(density: ProgramDensity, idata: InferenceData, accuracy: Accuracy) -> dict[str, Any]:
    """Compute the likelihood of each distinct row, and the priors, of the first and the last draw."""
    latents = tuple(group_of(idata, "latents")) if "latents" in group_names(idata) else ()
    groups = {"posterior": density.scm.parameters, "latents": latents}
    values = {str(name): _ends(idata[group][name]) for group, names in groups.items() for name in names}
    prior = density.over(density.unconstrain(values)).prior
    likelihood = density.likelihood_by_row(values, 2, accuracy=accuracy)
    return {"accuracy": accuracy, "likelihood": likelihood, "prior": prior}


def _ends(array: xr.DataArray) -> np.ndarray:
    values = array.to_numpy()
    return values.reshape(-1, *values.shape[2:])[[0, -1]]


def _close(one: np.ndarray, two: np.ndarray, relative: float, absolute: float) -> bool:
    return one.shape == two.shape and np.allclose(one, two, rtol=relative, atol=absolute)


def _structure(scm: SCM) -> dict[str, Any]:
    """Return the structure of a program in JSON types."""
    structure: dict[str, Any] = {
        "parameters": scm.parameters,
        "variables": scm.families,
        "edges": sorted(scm.graph.edges),
        "latents": sorted(scm.latents),
        "levels": scm.levels,
    }
    if scm.confounding:
        structure["confounding"] = [(pair.first, pair.second, pair.rho) for pair in scm.confounding]
    result: dict[str, Any] = json.loads(json.dumps(structure, default=str))
    return result
