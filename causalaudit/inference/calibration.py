"""Simulation-based calibration: whether the posteriors of a program mean what they say.

Parameters are drawn from the prior, people from these parameters, and the program is fitted to these people. If the
posteriors are right, the rank of the true value of a parameter among its posterior draws is uniform.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from causalaudit.errors import InferenceError, check_count
from causalaudit.figures import own_axes
from causalaudit.inference.fit import Method, fit
from causalaudit.inference.rank_file import RankFile
from causalaudit.inference.uniformity import Band, bins, simultaneous_band
from causalaudit.progress import parallel
from causalaudit.randomness import spawn
from causalaudit.scm import SCM
from causalaudit.scm.simulation import prior_draws, simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Calibration", "calibrate"]

_CHAINS = 4
_THINNING = 10  # draws made for each one that is ranked: those that are ranked are nearly independent


def calibrate(
    scm: SCM,
    n: int,
    data_sets: int = 200,
    draws: int = 99,
    method: Method = "auto",
    seed: int = 0,
    path: str | Path | None = None,
    progress: bool = True,
) -> "Calibration":
    """Check by simulation that the posteriors of a program are right.

    Parameters
    ----------
    scm
        The program. It needs parameters, and its prior must give people that it can be fitted to.
    n
        People in each data set.
    data_sets
        How many times to draw parameters and people, and fit. 200 see a bias of a third of a posterior standard
        deviation; each costs a fit.
    draws
        Posterior draws among which the truth is ranked. Each fit makes ten times as many, and evenly spaced ones are
        used.
    method
        Of `fit`.
    seed
        Everything random flows from it.
    path
        A file to which the ranks of each finished data set are added. If it exists, the data sets in it are not
        fitted again: an interrupted run goes on, and a finished one can be made longer by a larger `data_sets`.
    progress
        Show a bar when it is long.

    Returns
    -------
    Calibration

    Raises
    ------
    DataError
        If the file at `path` holds the ranks of another program, prior, method, seed, or number of people or draws.
    InferenceError
        If the program has no parameters, or no fit succeeds.

    Notes
    -----
    `joblib.parallel_config` decides how many data sets are fitted at once; the result is the same.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari and Gelman (2018), Validating Bayesian inference algorithms with
    simulation-based calibration. arXiv:1804.06788.
    Säilynoja, Bürkner and Vehtari (2022), Graphical test for discrete uniformity and its applications. Statistics and
    Computing 32.

    Examples
    --------
    >>> import pyro, pyro.distributions as dist, causalaudit as ca
    >>> from causalaudit.inference.calibration import calibrate
    >>> def wages(n):
    ...     mean = pyro.sample("mean", dist.Normal(20.0, 5.0))
    ...     with pyro.plate("individuals", n):
    ...         pyro.sample("wage", dist.Normal(mean, 4.0))
    >>> calibration = calibrate(ca.SCM(wages), n=20, data_sets=10, draws=19)
    >>> calibration.ok
    True
    """
    for name, value in (("n", n), ("data_sets", data_sets), ("draws", draws)):
        check_count(name, value)
    if not scm.parameters:
        raise InferenceError(f"{scm.name!r} has no free parameters: there is no posterior to calibrate.")
    if method in ("map", "ml"):
        raise InferenceError(f"The method {method!r} gives a point: it has no posterior draws to rank a truth among.")
    truths = prior_draws(scm, data_sets, seed)
    one = partial(_one_data_set, scm, truths, n, draws, method, seed)
    file = None if path is None else RankFile(Path(path), _header(scm, truths, n, draws, method, seed))
    done = {} if file is None else file.read(data_sets)
    missing = [number for number in range(data_sets) if number not in done]
    for record in parallel(one, missing, "Data sets", progress):
        done[record["data_set"]] = record
        if file is not None:
            file.add(record)
    return _collect(scm, [done[number] for number in range(data_sets)], _labels(truths), n, draws)


# One data set


def _labels(truths: dict[str, np.ndarray]) -> list[str]:
    return [
        name if value.ndim == 1 else f"{name}[{', '.join(map(str, position))}]"
        for name, value in truths.items()
        for position in np.ndindex(value.shape[1:])
    ]


def _simulated(scm: SCM, truths: dict[str, np.ndarray], number: int, n: int, seed: int) -> xr.Dataset:
    """Draw the people of one data set, the same whatever the others are."""
    truth = {name: value[number : number + 1] for name, value in truths.items()}
    own_seed = int(spawn(seed, "data set", number).generate_state(1)[0])
    return simulate(scm, truth, n, 1, own_seed).isel(draw=0)


def _one_data_set(
    scm: SCM, truths: dict[str, np.ndarray], n: int, draws: int, method: Method, seed: int, number: int
) -> dict[str, Any]:
    """Return the ranks of one data set, or why there are none; doubts about the fit are kept beside them."""
    size = -(-_THINNING * draws // _CHAINS)
    own_seed = int(spawn(seed, "fit", number).generate_state(1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what fit warns of is read off its diagnostics
        try:
            drawn = _simulated(scm, truths, number, n, seed)
            people = pd.DataFrame({name: scm.codec.decode(name, drawn[name].to_numpy()) for name in scm.columns})
            posterior = fit(scm, people, method, draws=size, chains=_CHAINS, seed=own_seed, progress=False)
        except Exception as error:  # whatever goes wrong in one of many data sets is a finding
            return {"data_set": number, "ranks": None, "failure": f"{type(error).__name__}: {error}", "doubt": None}
        diagnostics, sample = posterior.diagnostics(), posterior.parameters(draws)
    below = [np.ravel((sample[name] < value[number]).sum(axis=0)) for name, value in truths.items()]
    doubt = None if diagnostics.ok else diagnostics.verdict
    return {"data_set": number, "ranks": np.concatenate(below).tolist(), "failure": None, "doubt": doubt}


def _header(
    scm: SCM, truths: dict[str, np.ndarray], n: int, draws: int, method: str, seed: int
) -> dict[str, dict[str, Any]]:
    """Return what makes this calibration different from others: its settings, and the first data set it draws."""
    people = _simulated(scm, truths, 0, n, seed)
    return {
        "settings": {"n": n, "draws": draws, "method": method, "seed": seed, "parameters": _labels(truths)},
        "prior": {name: float(value[0].mean()) for name, value in truths.items()},
        "people": {name: float(people[name].mean()) for name in scm.variables},
    }


# The result


def _collect(scm: SCM, records: list[dict[str, Any]], labels: list[str], n: int, draws: int) -> "Calibration":
    numbers = pd.RangeIndex(len(records), name="data_set")
    rows = [record["ranks"] or [np.nan] * len(labels) for record in records]
    ranks = pd.DataFrame(rows, index=numbers, columns=labels, dtype="float64")
    failures = {record["data_set"]: record["failure"] for record in records if record["failure"]}
    doubts = {record["data_set"]: record["doubt"] for record in records if record["doubt"]}
    if len(failures) == len(records):
        raise InferenceError(f"None of {len(records)} data sets could be fitted. The first: {failures[0]}")
    return Calibration(str(scm.name), ranks, failures, doubts, {"n": n, "draws": draws})


@dataclass(frozen=True)
class Calibration:
    """What `calibrate` returns.

    Attributes
    ----------
    name : str
        The program.
    ranks : pandas.DataFrame
        A row for each data set, a column for each scalar parameter: how many of the posterior draws are below the
        true value. Missing where the fit failed.
    failures, doubts : dict
        Data sets that could not be fitted, and those whose fit warned, with the reasons. The ranks of the latter count.
    settings : dict
        People in a data set (`n`), and posterior draws a truth was ranked among (`draws`).
    alpha : float
        The probability of a false alarm, over all parameters and both tests.
    """

    name: str
    ranks: pd.DataFrame
    failures: dict[int, str]
    doubts: dict[int, str]
    settings: dict[str, int] = field(default_factory=dict)
    alpha: float = 0.01

    def __repr__(self) -> str:
        return (
            f"Calibration of {self.name!r}, {len(self.ranks)} data sets of {self.settings['n']} people: {self.verdict}"
        )

    @property
    def _level(self) -> float:
        return self.alpha / (2 * self.ranks.shape[1])

    @property
    def _known(self) -> pd.DataFrame:
        return self.ranks.dropna()

    @cached_property
    def _band(self) -> Band:
        return simultaneous_band(len(self._known), self.settings["draws"] + 1, self._level)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Two tests of uniform ranks for each parameter.

        Columns `parameter`, `mean_rank` (as a share; above one half: posteriors too low), `p_value` (chi-square over
        at most 20 bins), `deviation` and `bound` (of the cumulative share of ranks from uniform, where it comes
        closest to leaving the simultaneous band), `uniform` (whether both tests pass at `alpha`, corrected for the
        number of tests).
        """
        rows = [self._row(str(parameter), self._known[parameter].to_numpy()) for parameter in self.ranks.columns]
        return pd.DataFrame(rows)

    def _row(self, parameter: str, ranks: np.ndarray) -> dict[str, Any]:
        values = self.settings["draws"] + 1
        edges = np.round(np.linspace(0, values, bins(len(ranks), values) + 1))
        counts, expected = np.histogram(ranks, edges - 0.5)[0], np.diff(edges) / values * len(ranks)
        p_value = float(stats.chisquare(counts, expected).pvalue) if len(counts) > 1 else 1.0
        difference = self._band.difference(ranks)
        worst = self._band.worst(ranks)
        bound = self._band.high[worst] if difference[worst] > 0 else -self._band.low[worst]
        return {
            "parameter": parameter,
            "mean_rank": float(ranks.mean()) / self.settings["draws"],
            "p_value": p_value,
            "deviation": float(difference[worst]),
            "bound": float(bound),
            "uniform": not self._band.leaves(ranks) and p_value >= self._level,
        }

    @property
    def ok(self) -> bool:
        """Whether every data set could be fitted and the ranks of every parameter are uniform."""
        return not self.failures and bool(self.table["uniform"].all())

    @property
    def verdict(self) -> str:
        """The same in words, with the number of failed and of doubtful fits."""
        bent = self.table.loc[~self.table["uniform"], "parameter"].tolist()
        lowest = f"smallest p-value {self.table['p_value'].min():.3f} of {len(self.table)} parameters"
        parts = [
            f"Not calibrated: the ranks of {', '.join(map(repr, bent))} are not uniform ({lowest})."
            if bent
            else f"The ranks of all parameters are uniform ({lowest})."
        ]
        if self.failures:
            first = min(self.failures)
            parts.append(
                f"Undecided all the same: {len(self.failures)} of {len(self.ranks)} fits failed, and have no ranks; "
                f"data set {first}: {self.failures[first]}"
                if not bent
                else f"{len(self.failures)} of {len(self.ranks)} fits failed, and have no ranks."
            )
        if self.doubts:
            parts.append(f"{len(self.doubts)} fits warned; their ranks are counted.")
        return " ".join(parts)

    def plot(self, parameters: Sequence[str] | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw how far the cumulative share of ranks is from uniform, a line for each parameter, and the band.

        A line above zero in the middle: posteriors too high. S-shaped, first above and then below: posteriors too
        narrow; the reverse: too wide. All lines stay inside the band with probability ``1 - alpha / 2`` if all is well;
        those that do not are coloured.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from causalaudit.inference.calibration import Calibration
        >>> ranks = pd.DataFrame({"slope": np.arange(200) % 100})
        >>> ax = Calibration("lines", ranks, {}, {}, {"n": 10, "draws": 99}).plot()
        >>> ax.get_ylabel()
        'cumulative share, above uniform'
        """
        import matplotlib as mpl

        ax = own_axes(ax)
        band = self._band
        ax.fill_between(band.points, band.low, band.high, color="#7f7f7f", alpha=0.2, linewidth=0)
        ax.axhline(0, color="#7f7f7f", linewidth=0.8)
        colours = iter(mpl.colormaps["tab10"](np.arange(10)))
        for parameter in self.ranks.columns if parameters is None else parameters:
            ranks = self._known[parameter].to_numpy()
            style: dict[str, Any] = (
                {"color": next(colours, "#c44e52"), "linewidth": 1.8, "label": f"{parameter}: leaves the band"}
                if band.leaves(ranks)
                else {"color": "#4c72b0", "linewidth": 1.0, "alpha": 0.7}
            )
            ax.plot(np.r_[0, band.points, 1], np.r_[0, band.difference(ranks), 0], **style)
        ax.set(xlim=(0, 1), xlabel="rank of the truth among posterior draws", ylabel="cumulative share, above uniform")
        ax.set_title(f"{self.name}: {len(self._known)} data sets of {self.settings['n']} people", fontsize="medium")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize="small")
        return ax
