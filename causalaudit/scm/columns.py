"""Between the columns of a table and the tensors of a program."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyro.distributions as dist
import torch
from torch.distributions import Distribution, OneHotCategorical, constraints

from causalaudit.arguments import check_value
from causalaudit.errors import DataError, nearest
from causalaudit.people import find_column, pick_column
from causalaudit.scm.noise import is_discrete


def site_column(name: str, data: pd.DataFrame, missing: bool = False) -> "pd.Series[Any]":
    """Return the column of a per-person site, in which values may be missing or not."""
    if name not in data.columns:
        raise DataError(
            f"The program has a per-person site {name!r}, but data has no such column: "
            f"{nearest(name, [str(column) for column in data.columns])} If nobody observes it, add it to `latents`."
        )
    return find_column(data, name, "column") if missing else pick_column(data, name, "column")


def check_support(name: str, values: torch.Tensor, law: Distribution, among: torch.Tensor | None = None) -> None:
    """Refuse values that the distribution of a variable cannot give, of all people or `among` some."""
    if isinstance(law, dist.Delta):
        return
    support: Any = law.support
    # A range that depends on parameters (Uniform) is the business of the likelihood.
    if not is_discrete(law) and constraints.is_dependent(type(law).support):
        return
    bad = ~support.check(values)
    if among is not None:
        bad = bad & among
    if bool(bad.any()):
        raise DataError(
            f"{name!r} has the value {values[bad][0].tolist()} in {int(bad.sum())} of {len(values)} rows, which its "
            f"distribution {type(law).__name__} cannot give (support: {support}). Correct the data or the program."
        )


def typed(numbers: np.ndarray, dtype: Any, levels: Collection[Any] | None) -> Any:
    """Return codes or numbers as values of a column of a table: levels by name, whole numbers in its own type."""
    if levels is not None:
        return pd.array(np.asarray(list(levels), dtype=object)[numbers.astype(int)], dtype=dtype)
    if dtype.kind in "iub" and (numbers == np.round(numbers)).all():
        return numbers.astype(getattr(dtype, "numpy_dtype", dtype))
    return numbers


@dataclass(frozen=True)
class Codec:
    """Translates the columns of variables: levels to codes, numbers to the types a program works on."""

    levels: Mapping[str, Collection[Any]]
    laws: Mapping[str, Distribution]
    dtypes: Mapping[str, torch.dtype]

    def encode(self, name: str, column: "pd.Series[Any]") -> torch.Tensor:
        """Return a column, or an intervention on it, as a tensor."""
        return self.tensor(name, self._numbers(name, column))

    def encode_observed(self, name: str, column: "pd.Series[Any]") -> torch.Tensor:
        """Return a column as a tensor; if values are missing, in float64 with NaN in their place."""
        known = column.notna()
        if known.all():
            return self.encode(name, column)
        tensor = self.encode(name, column[known].infer_objects()) if known.any() else self.tensor(name, np.empty(0))
        full = torch.full((len(column), *tensor.shape[1:]), torch.nan, dtype=torch.float64)
        full[torch.tensor(known.to_numpy(dtype=bool))] = tensor.to(torch.float64)
        return full

    def tensor(self, name: str, numbers: np.ndarray) -> torch.Tensor:
        """Return plain numbers of a variable (codes of levels and of one-hot vectors) as the program works on them."""
        tensor = torch.from_numpy(np.array(numbers, dtype=float))
        law, dtype = self.laws[name], self.dtypes[name]
        fractional = tensor != tensor.round()
        if isinstance(law, OneHotCategorical):
            return (torch.arange(law.event_shape[-1]) == tensor.unsqueeze(-1)).to(torch.float64)
        if not dtype.is_floating_point and bool(fractional.any()):
            raise DataError(f"{name!r} must hold whole numbers, but has {float(tensor[fractional][0])}.")
        return tensor if dtype.is_floating_point else tensor.to(dtype)

    def number(self, name: str, value: Any) -> float:
        """Return the number (or code) that stands for a value of a column."""
        return float(self.numbers(name, self.encode(name, pd.Series([value])))[0])

    def _numbers(self, name: str, column: "pd.Series[Any]") -> np.ndarray:
        if name in self.levels:
            levels = list(self.levels[name])
            for value in column.tolist() if column.dtype == object else ():
                check_value(f"A value of {name!r}", value)
            codes = pd.Index(levels, dtype=object).get_indexer(pd.Index(column, dtype=object))
            if (codes < 0).any():
                unknown = sorted({repr(value) for value in column[codes < 0]})
                raise DataError(f"{name!r} has the values {', '.join(unknown[:5])}, but its levels are {levels}.")
            return codes.astype(float)
        if not pd.api.types.is_any_real_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            raise DataError(
                f"Column {name!r} holds {column.dtype} values; give their order, for example "
                f"levels={{{name!r}: {sorted(map(str, column.unique()))[:3]}}}."
            )
        return column.to_numpy(dtype=float, copy=True)

    def numbers(self, name: str, values: torch.Tensor) -> np.ndarray:
        """Return a tensor of a variable as plain numbers, one-hot vectors and levels as small integer codes."""
        if isinstance(self.laws[name], OneHotCategorical):
            values = values.argmax(-1)
        if name in self.levels:
            return values.to(torch.int8 if len(self.levels[name]) < 128 else torch.int32).numpy()
        return values.to(torch.float64).numpy()

    def decode(self, name: str, numbers: np.ndarray) -> np.ndarray:
        """Return codes of a variable as its levels, and other numbers as they are."""
        if name not in self.levels:
            return numbers
        return np.asarray(list(self.levels[name]), dtype=object)[numbers.astype(int)]

    def attributes(self, name: str) -> dict[str, Any]:
        """Return what a reader of the codes must know."""
        return {"levels": list(self.levels[name])} if name in self.levels else {}
