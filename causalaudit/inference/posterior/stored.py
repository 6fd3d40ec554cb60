"""What a file says of a posterior, compared with itself before it is believed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.errors import SavedFileError

_NECESSARY = frozenset({"sample_stats", "observed_data"})
_OF_PARAMETERS = frozenset({"posterior", "log_prior"})  # both, or neither where a program has none
_GROUPS = _NECESSARY | _OF_PARAMETERS | {"latents"}


def check_settings(settings: Any, coupling: Any) -> None:
    """Refuse settings that no fit has."""
    types = {"method": str, "draws": int, "chains": int, "seed": int}
    if not isinstance(settings, dict) or set(settings) - {"weights"} != set(types):
        raise SavedFileError(f"The file holds the settings {str(settings)[:80]}, where {sorted(types)} are.")
    if any(type(settings[name]) is not cls for name, cls in types.items()) or settings["seed"] < 0:
        raise SavedFileError(f"The file holds the settings {str(settings)[:80]}, which no fit has.")
    if not isinstance(coupling, dict) or not all(type(one) in (str, int, float) for one in coupling.values()):
        raise SavedFileError(f"The file holds the coupling {str(coupling)[:80]}.")


def check_groups(groups: Any, data: Any, settings: Mapping[str, Any]) -> None:
    """Refuse draws that are not as many as the settings say, not of these people, or not finite."""
    if not isinstance(data, pd.DataFrame) or not isinstance(groups, dict):
        raise SavedFileError(f"The file holds a {type(data).__name__} where the people of a posterior should be.")
    whole = _NECESSARY <= set(groups) <= _GROUPS and _OF_PARAMETERS & set(groups) in (set(), _OF_PARAMETERS)
    if not whole or not all(isinstance(one, xr.Dataset) for one in groups.values()):
        raise SavedFileError(
            f"The file holds the groups {sorted(map(str, groups))}, where {sorted(_GROUPS)} should be."
        )
    if not groups["observed_data"].data_vars:
        raise SavedFileError("The file holds a posterior of people of whom nothing was observed.")
    if "weights" in settings and settings["weights"] not in data.columns:
        raise SavedFileError(f"The file claims the weights {str(settings['weights'])[:80]!r}, which are no column.")
    shape = {"chain": settings["chains"], "draw": settings["draws"]}
    for name, group in groups.items():
        _check_people(name, group, data)
        if name != "observed_data" and {axis: group.sizes.get(axis) for axis in shape} != shape:
            raise SavedFileError(f"The file claims {shape} for {name!r}, but holds {dict(group.sizes)}.")
    for name in {"posterior", "latents"} & set(groups):
        _check_draws(groups[name])


def _check_people(name: str, group: xr.Dataset, data: pd.DataFrame) -> None:
    if "individual" in group.sizes and not np.array_equal(group["individual"].to_numpy(), data.index.to_numpy()):
        raise SavedFileError(f"The file holds {name!r} of other people than those in its table.")


def _check_draws(group: xr.Dataset) -> None:
    for name, array in group.data_vars.items():
        if array.dims[:2] != ("chain", "draw") or array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise SavedFileError(f"The file holds draws of {name!r} that are no finite numbers by chain and draw.")
