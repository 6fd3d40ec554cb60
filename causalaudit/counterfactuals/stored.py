"""What a file says of counterfactual draws, compared with itself before it is believed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.errors import SavedFileError

_TYPES: dict[str, type] = {
    "dataset": xr.Dataset, "factual": pd.DataFrame, "do": dict, "point": pd.DataFrame, "settings": dict,
    "completed": xr.Dataset, "bounds": xr.Dataset,
}  # fmt: skip


def check_content(content: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Refuse what was read of counterfactual draws if its parts are of other types, or do not fit one another."""
    if set(content) != set(names):
        raise SavedFileError(f"The file holds {sorted(content)}, where draws have {sorted(names)}.")
    for name in set(names) & set(_TYPES):
        if not isinstance(content[name], _TYPES[name]):
            raise SavedFileError(f"The file holds a {type(content[name]).__name__} as the {name} of draws.")
    people, point = content["factual"], content["point"]
    if not (people.index.equals(point.index) and people.columns.equals(point.columns)):
        raise SavedFileError("The file holds a point of other people or other columns than the factual ones.")


def check_dataset(dataset: xr.Dataset, people: pd.DataFrame) -> None:
    """Refuse draws by other people, or of other shapes."""
    if "draw" not in dataset.coords or not np.array_equal(dataset["individual"].to_numpy(), people.index.to_numpy()):
        raise SavedFileError("The file holds draws of other people than the factual ones.")
    for name, array in dataset.data_vars.items():
        if array.dims != ("draw", "individual"):
            raise SavedFileError(f"The file holds {name!r} by {array.dims}, and not by draw and individual.")


def check_values(dataset: xr.Dataset, finite: bool) -> None:
    """Refuse codes that are none of the levels, and numbers that are not finite in what a program computed."""
    for name, array in dataset.data_vars.items():
        values, levels = array.to_numpy(), array.attrs.get("levels")
        if levels is not None and not _are_codes(values, len(levels)):
            raise SavedFileError(f"The file holds codes of {name!r} that are none of its {len(levels)} levels.")
        if values.dtype.kind not in "biuf" or (finite and not np.isfinite(values).all()):
            raise SavedFileError(f"The file holds values of {name!r} that are no finite numbers.")


def _are_codes(values: np.ndarray, levels: int) -> bool:
    if values.dtype.kind == "f":
        return bool((np.isfinite(values) & (values == np.floor(values)) & (values >= 0) & (values < levels)).all())
    return values.dtype.kind in "iu" and (not values.size or 0 <= values.min() <= values.max() < levels)
