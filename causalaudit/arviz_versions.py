"""All that is asked of ArviZ, in one place: 0.2x has InferenceData, 1.x has xarray's DataTree and other defaults.

Every probability and kind of interval is given here, because the defaults of the versions differ. ArviZ is imported
when it is first needed.
"""

from functools import cache
from types import ModuleType
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.global_state import ignored_warnings

InferenceData: TypeAlias = Any  # az.InferenceData, or xarray.DataTree with ArviZ 1: they share what is used of them

_TAILS = (0.05, 0.95)  # the quantiles whose effective sizes are those of the tails


@cache
def import_arviz() -> ModuleType:
    """Import ArviZ, whichever process of several is the first to do so today.

    ArviZ 0.23 announces its next version once a day, and notes the day in a file. Of two processes that write it at the
    same time one finds its own file gone and cannot be imported; by then the other has noted the day.
    """
    with ignored_warnings(FutureWarning, "\\s*ArviZ is undergoing a major refactor"):
        try:
            import arviz
        except FileNotFoundError:
            import arviz
    return arviz


def inference_data(**groups: xr.Dataset) -> InferenceData:
    """Return groups of draws in the form of the ArviZ that is installed.

    Examples
    --------
    >>> import xarray as xr
    >>> draws = xr.Dataset({"slope": (("chain", "draw"), [[0.5, 0.7]])})
    >>> group_names(inference_data(posterior=draws))
    frozenset({'posterior'})
    """
    az = import_arviz()

    if "InferenceData" in vars(az):
        return az.InferenceData(**groups)
    return xr.DataTree.from_dict(groups)


def group_names(draws: InferenceData) -> frozenset[str]:
    """Return the names of the groups."""
    return frozenset(draws.children) if isinstance(draws, xr.DataTree) else frozenset(draws.groups())


def group_of(draws: InferenceData, name: str) -> xr.Dataset:
    """Return one group as a dataset."""
    return draws[name].to_dataset() if isinstance(draws, xr.DataTree) else draws[name]


def add_group(draws: InferenceData, name: str, group: xr.Dataset) -> None:
    """Add a group, in place."""
    if isinstance(draws, xr.DataTree):
        draws[name] = xr.DataTree(group)
    else:
        draws.add_groups({name: group})


def copied(draws: InferenceData) -> InferenceData:
    """Return draws that can be changed without changing these; log-likelihoods of people, which are large, are shared.

    Examples
    --------
    >>> import xarray as xr
    >>> draws = inference_data(posterior=xr.Dataset({"slope": (("chain", "draw"), [[0.5, 0.7]])}))
    >>> copied(draws)["posterior"]["slope"].values[0, 0] = 0.0
    >>> float(draws["posterior"]["slope"][0, 0])
    0.5
    """
    groups = {name: group_of(draws, name) for name in group_names(draws)}
    return inference_data(**{name: group.copy(deep=name != "log_likelihood") for name, group in groups.items()})


def pareto_smoothed(log_weights: np.ndarray, efficiency: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return Pareto-smoothed log-weights, which sum to one along the last axis, and k of each row.

    Parameters
    ----------
    log_weights
        Logarithms of importance weights, known up to a factor for each row.
    efficiency
        The effective size of the draws divided by their number.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling.

    Examples
    --------
    >>> import numpy as np
    >>> smoothed, k = pareto_smoothed(np.random.default_rng(0).normal(size=1000))
    >>> round(float(np.exp(smoothed).sum()), 6), bool(k < 0.7)
    (1.0, True)
    """
    az = import_arviz()

    if hasattr(az, "psislw"):
        smoothed, k = az.psislw(log_weights.copy(), efficiency)
    else:
        from arviz_stats.base import array_stats

        smoothed, k = array_stats.psislw(-log_weights, r_eff=efficiency)  # of log-likelihoods, as in LOO
    return np.asarray(smoothed), np.asarray(k)


def r_hat(chains: np.ndarray) -> float:
    """Return the rank-normalised split r-hat of draws by chain."""
    az = import_arviz()

    return float(az.rhat(chains))


def effective_size(chains: np.ndarray, of: Literal["bulk", "tail"]) -> float:
    """Return the effective size of draws by chain, for their bulk or for their 5 % and 95 % quantiles."""
    az = import_arviz()

    return float(az.ess(chains, method=of, prob=_TAILS) if of == "tail" else az.ess(chains, method=of))


def statistics_table(draws: InferenceData, prob: float) -> pd.DataFrame:
    """Return mean, standard deviation and the shortest interval that holds `prob` of the draws, for each entry."""
    az = import_arviz()

    if isinstance(draws, xr.DataTree):
        asked: dict[str, Any] = {"ci_prob": prob, "ci_kind": "hdi"}
    else:
        asked = {"hdi_prob": prob}
    table: Any = az.summary(draws, kind="stats", round_to="none", **asked)
    table.columns = pd.Index(["mean", "sd", "credible_low", "credible_high"])
    return table


def chain_table(draws: InferenceData) -> pd.DataFrame:
    """Return effective size, error of the mean and r-hat of each entry, from its chains."""
    az = import_arviz()

    table: Any = az.summary(draws, kind="diagnostics", round_to="none")
    return table.rename(columns={"ess_bulk": "ess", "mcse_mean": "mcse"})[["ess", "mcse", "r_hat"]]
