"""What a calibration found: two tests of uniform ranks, in a table, in words and in a figure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from causalaudit.arguments import check_types
from causalaudit.figures import AMBER, BLUE, GREEN, GREY, NAVY, PURPLE, RED, as_written, own_axes
from causalaudit.global_state import cached_property
from causalaudit.inference.calibration.uniformity import UniformityBand, bins, simultaneous_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
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
    def _band(self) -> UniformityBand:
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
        check_types(Calibration.plot, locals())
        ax = own_axes(ax)
        band = self._band
        ax.fill_between(band.points, band.low, band.high, color=GREY, alpha=0.2, linewidth=0)
        ax.axhline(0, color=GREY, linewidth=0.8)
        colours = iter((RED, AMBER, NAVY, GREEN, PURPLE))
        for parameter in self.ranks.columns if parameters is None else parameters:
            ranks = self._known[parameter].to_numpy()
            style: dict[str, Any] = (
                {"color": next(colours, RED), "linewidth": 1.8, "label": f"{parameter}: leaves the band"}
                if band.leaves(ranks)
                else {"color": BLUE, "linewidth": 1.0, "alpha": 0.7}
            )
            ax.plot(np.r_[0, band.points, 1], np.r_[0, band.difference(ranks), 0], **style)
        ax.set(xlim=(0, 1), xlabel="rank of the truth among posterior draws", ylabel="cumulative share, above uniform")
        ax.set_title(f"{self.name}: {len(self._known)} data sets of {self.settings['n']} people", fontsize="medium")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize="small")
        return as_written(ax)
