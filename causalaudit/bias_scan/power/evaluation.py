"""How well scans find a bias that is known to be there: the evaluation of section 3 of the paper."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from scipy.stats import norm

from causalaudit.arguments import check_count, check_seed, check_share, check_types, shown
from causalaudit.bias_scan.power.plots import plot_power
from causalaudit.bias_scan.power.semisynthetic import (
    OUTCOME,
    PREDICTION,
    RECOMMENDATION,
    SemiSyntheticData,
    draw_fair_data,
    inject,
)
from causalaudit.bias_scan.scan import scan_bias
from causalaudit.errors import CausalAuditWarning, DataError, nearest
from causalaudit.global_state import ignored_warnings
from causalaudit.people import read_protected
from causalaudit.progress import parallel
from causalaudit.randomness import spawn
from causalaudit.results import SavedResult
from causalaudit.storage import storable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Detector = Callable[[SemiSyntheticData], np.ndarray]

_PROBABILITY_SIGNALS = ("mu_sep", "mu_suf", "delta")
_SIGNALS = (*_PROBABILITY_SIGNALS, "mu_sep_logit", "mu_suf_logit", "delta_logit")
_PROCESS = ("n_bias", "p_bias", "sigma_true", "sigma_predict")
_SCANS: dict[str, dict[str, Any]] = {
    "separation of predictions": {"criterion": "separation", "prediction": PREDICTION, "direction": "positive"},
    "separation of recommendations": {
        "criterion": "separation", "recommendation": RECOMMENDATION, "direction": "positive",
    },
    "sufficiency of predictions": {"criterion": "sufficiency", "prediction": PREDICTION, "direction": "negative"},
    "sufficiency of recommendations": {
        "criterion": "sufficiency", "recommendation": RECOMMENDATION, "direction": "negative",
    },
}  # fmt: skip


@storable
@dataclass(frozen=True, repr=False, eq=False)
class PowerResult(SavedResult):
    """Accuracy of detectors in an evaluation.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each data set, experiment and detector: the experiment's settings, `dataset`, `detector` and
        `accuracy`, the Jaccard similarity of the people found and those treated otherwise (equation 3).
    settings : dict
        What was asked for.
    """

    table: pd.DataFrame
    settings: dict[str, Any]
    KIND: ClassVar[str] = "detection power"

    def __repr__(self) -> str:
        return f"Detection power, mean of {self.settings['datasets']} data sets\n{self.summary().to_string()}"

    def summary(self) -> pd.DataFrame:
        """Return mean accuracies, a row for each experiment and detector.

        Returns
        -------
        pandas.DataFrame
            The experiment's settings, `detector`, `accuracy`, `standard_error`, and the Wald interval of level `alpha`
            cut to [0, 1]: `wald_low, wald_high`. The repetition is the data set.
        """
        by = [name for name in self.table.columns if name not in ("dataset", "accuracy")]
        accuracy = self.table.groupby(by, sort=False)["accuracy"]
        rows = accuracy.agg(accuracy="mean", standard_error="sem").reset_index()
        reach = norm.ppf(1 - self.settings["alpha"] / 2) * rows["standard_error"]
        low, high = (rows["accuracy"] + side * reach for side in (-1, 1))
        return rows.assign(wald_low=low.clip(0, 1), wald_high=high.clip(0, 1))

    def plot(self, against: str = "mu_sep", ax: "Axes | None" = None, **fixed: float) -> "Axes":
        """Draw accuracy against a setting of the experiments; see `causalaudit.plots.plot_power`."""
        return plot_power(self, against, ax, **fixed)


def experiments(full: bool = False) -> pd.DataFrame:
    """Return the experiments of the paper's figures 1 to 3, one in each row.

    Parameters
    ----------
    full
        All points of the figures; otherwise no signal, two of each bias and one base-rate shift. The paper does not
        list its points: these are 0.05 apart for the signals and 0.1 for `p_bias`.

    Returns
    -------
    pandas.DataFrame
        Columns `mu_sep, mu_suf, delta` (signals) and `n_bias, p_bias` (size of the subgroup).

    Examples
    --------
    >>> from causalaudit.bias_scan import experiments
    >>> len(experiments()), len(experiments(full=True))
    (6, 77)
    """
    check_types(experiments, locals())
    few: list[dict[str, Any]] = [
        {},
        *({"mu_sep": m} for m in (0.25, 0.5)),
        *({"mu_suf": m} for m in (0.25, 0.5)),
        {"delta": 0.25},
    ]
    rows = _figures() if full else few
    defaults: dict[str, Any] = {**dict.fromkeys(_PROBABILITY_SIGNALS, 0.0), "n_bias": 2, "p_bias": 0.5}
    return pd.DataFrame([{**defaults, **row} for row in rows]).drop_duplicates(ignore_index=True)


def _figures() -> list[dict[str, Any]]:
    steps = np.round(np.arange(1, 11) * 0.05, 2).tolist()
    shifts = [*(-step for step in reversed(steps)), 0.0, *steps]
    signals: list[dict[str, Any]] = [{}, *({"mu_sep": step} for step in steps), *({"mu_suf": step} for step in steps)]
    sizes: list[dict[str, Any]] = [
        *({"n_bias": n} for n in (1, 2, 3, 4)),
        *({"p_bias": round(p / 10, 1)} for p in range(1, 11)),
    ]
    biases: list[dict[str, Any]] = [{"mu_sep": 0.5}, {"mu_suf": 0.5}, {"delta": 0.25}]
    return [*signals, *({"delta": shift} for shift in shifts), *(bias | size for bias in biases for size in sizes)]


def evaluate_power(
    covariates: pd.DataFrame,
    grid: pd.DataFrame | None = None,
    datasets: int | None = None,
    *,
    full: bool = False,
    detectors: Mapping[str, Detector] | None = None,
    protected: Mapping[str, Any] | None = None,
    scale: str = "mean",
    alpha: float = 0.05,
    seed: int = 0,
    progress: bool = True,
) -> PowerResult:
    """Inject known biases into semi-synthetic data and measure how well the scans find who is affected.

    Parameters
    ----------
    covariates
        Discrete attributes of real people; nothing else of them is used.
    grid
        The experiments, a row each, with any of the columns `mu_sep, mu_suf, delta` (shifts of probabilities),
        `mu_sep_logit, mu_suf_logit, delta_logit` (of log-odds: μ′ and δ′ of appendix B.3), `n_bias, p_bias, sigma_true,
        sigma_predict`; see `draw_fair_data` and `inject`. Default: `experiments(full)`.
    datasets
        How many data sets to draw for each experiment; default 10, or the paper's 100 if `full`.
    full
        All points of the paper's figures, 77 experiments of 100 data sets and 30,800 scans.
    detectors
        What to evaluate beside the four scans, by name: functions of a `SemiSyntheticData` that return whom they
        found, a boolean for each person.
    protected
        The protected class, as `scan_bias` takes it; None draws it for each data set.
    scale
        Of the scans: see `scan_bias`; the paper's tables have "paper".
    alpha
        Level of the intervals of the means.
    seed
        Same seed, same data, for any number of workers; experiments share the random numbers of a data set. They are
        drawn row by row: the order of the rows is part of the question.
    progress
        Show a bar.

    Returns
    -------
    PowerResult
        With `table`, `summary()` and `plot()`.

    Notes
    -----
    Section 3 and appendix B.3 of Boxer, McFowland and Neill (2024). The scans are not value-conditional, and a scan
    that finds no subgroup finds nobody: accuracy 0.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from causalaudit.bias_scan import evaluate_power
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"sex": rng.choice(["f", "m"], 500), "age": rng.choice(["young", "old"], 500),
    ...                        "job": rng.choice(["a", "b", "c"], 500)})
    >>> power = evaluate_power(people, pd.DataFrame({"mu_sep": [0.0, 0.5]}), datasets=2)
    >>> power.summary().groupby("mu_sep")["accuracy"].mean().round(2).is_monotonic_increasing
    True
    """
    check_types(evaluate_power, locals())
    grid = _checked(experiments(full) if grid is None else grid)
    datasets = (100 if full else 10) if datasets is None else datasets
    check_count("datasets", datasets)
    check_share("alpha", alpha)
    check_seed(seed)
    chosen = {**_scans(scale), **(detectors or {})}
    task = partial(_evaluate, covariates=covariates, grid=grid, detectors=chosen, protected=protected, seed=seed)
    rows = parallel(task, range(datasets), "data sets", progress)
    table = pd.concat(list(rows), ignore_index=True)
    settings = {
        "datasets": int(datasets),
        "protected": None if protected is None else read_protected(covariates, protected).setting,
        "scale": scale,
        "alpha": float(alpha),
        "seed": int(seed),
        "detectors": list(chosen),
    }
    return PowerResult(table, settings)


def _checked(grid: pd.DataFrame) -> pd.DataFrame:
    known = [*_SIGNALS, *_PROCESS]
    for name in grid.columns:
        if name not in known:
            raise DataError(f"The grid has a column {name!r}, which is no setting: {nearest(str(name), known)}")
        numbers = pd.api.types.is_any_real_numeric_dtype(grid[name])
        if not numbers or not np.isfinite(grid[name].to_numpy(dtype=float, na_value=np.nan)).all():
            raise DataError(
                f"The column {name!r} of the grid must hold finite numbers, but is {shown(grid[name].tolist())}."
            )
    if grid.empty:
        raise DataError("The grid has no rows, but each row is an experiment.")
    return grid.reset_index(drop=True)


def _scans(scale: str) -> dict[str, Detector]:
    return {name: partial(_scan, question=question | {"scale": scale}) for name, question in _SCANS.items()}


def _scan(dataset: SemiSyntheticData, question: Mapping[str, Any]) -> np.ndarray:
    """Return whom a scan finds; its warnings about models are not for those who only count."""
    with ignored_warnings(CausalAuditWarning):
        result = scan_bias(
            dataset.data, dataset.protected, OUTCOME, features=dataset.features, progress=False, **question
        )
    return dataset.members(result.subgroup)


def _evaluate(
    number: int,
    covariates: pd.DataFrame,
    grid: pd.DataFrame,
    detectors: Mapping[str, Detector],
    protected: Mapping[str, Any] | None,
    seed: int,
) -> pd.DataFrame:
    """Return the accuracy of all detectors in all experiments on one data set."""
    own = int(spawn(seed, "evaluation", number).generate_state(1)[0])
    fair: dict[tuple[Any, ...], SemiSyntheticData] = {}
    rows: list[dict[str, Any]] = []
    for experiment in grid.to_dict("records"):
        setting: dict[str, Any] = {str(name): value for name, value in experiment.items()}
        process = {name: value for name, value in setting.items() if name in _PROCESS}
        signal = {name: value for name, value in setting.items() if name in _SIGNALS}
        key = tuple(process.values())
        if key not in fair:
            fair[key] = draw_fair_data(covariates, protected, seed=own, **process)
        dataset = inject(fair[key], seed=own, **signal)
        for name, detect in detectors.items():
            found = dataset.accuracy(detect(deepcopy(dataset)))
            rows.append({**setting, "dataset": number, "detector": name, "accuracy": found})
    return pd.DataFrame(rows)
