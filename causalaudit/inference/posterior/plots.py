"""Predictive checks: what a program simulates, beside what was observed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from causalaudit.arguments import check_count, check_types
from causalaudit.errors import DataError, nearest
from causalaudit.figures import GREY, INK, PALETTE, as_written, own_axes
from causalaudit.global_state import cached_property
from causalaudit.inference.posterior.posterior import Posterior
from causalaudit.intervals import hdi
from causalaudit.people import check_table

_GROUPS = (*PALETTE, GREY, INK)
_FEW = 12  # values of a variable, up to which their shares are drawn instead of a curve


def plot_predictive(
    simulated: Posterior | xr.Dataset,
    variable: str,
    by: str | None = None,
    data: pd.DataFrame | None = None,
    draws: int = 200,
    prob: float = 0.9,
    seed: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Compare what a program simulates with what was observed, by group: a prior or posterior predictive check.

    Numbers are shown as the cumulative share of people: the observed one as a line, the simulated ones as a band. A
    variable of few values is shown as the shares of its values: observed as points, simulated as bars.

    Parameters
    ----------
    simulated
        A posterior, from which new people are simulated, or what `SCM.prior_predictive` or `Posterior.predictive`
        returned.
    variable
        What to compare.
    by
        A variable of few values: one colour for each of them. Default: everybody together.
    data
        What was observed. Default: the data of the posterior; for simulated people alone: nothing.
    draws
        How many draws to simulate from a posterior.
    prob
        The probability that a simulated share lies in the band or the bar, at each point on its own (the shortest
        interval).
    seed
        For simulating from a posterior.
    ax
        Where to draw.

    Notes
    -----
    A posterior predictive check looks at the data twice: it finds what the program cannot describe at all, and is no
    test of the diagram. What lies outside of the bands for one group only is a program that is worse for that group.
    Of a variable with missing values those of whom it is known are shown, and the legend counts the others: people are
    simulated whether it would be missing or not, so that the two may differ though the program is right.

    Examples
    --------
    >>> import causalaudit as ca
    >>> scm = ca.models.loan.linear()
    >>> ax = ca.plots.plot_predictive(scm.prior_predictive(n=100, draws=50), "salary", by="gender")
    >>> posterior = ca.fit(scm, ca.datasets.make_loan(100, seed=0))
    >>> ca.plots.plot_predictive(posterior, "salary", by="gender", draws=50).get_xlabel()
    'salary'
    """
    check_types(plot_predictive, locals())
    check_count("draws", draws)
    ax = own_axes(ax)
    if isinstance(simulated, Posterior):
        data = simulated.data if data is None else data
        simulated = simulated.predictive(min(draws, len(simulated.draw_numbers())), seed)
    missing = 0
    if data is not None:
        check_table(data)
        everybody, shown = len(data), [name for name in (variable, by) if name in data.columns]
        data = data.dropna(subset=shown)
        missing = everybody - len(data)
    column = _Column.of(simulated, data, variable)
    groups = None if by is None else _Column.of(simulated, data, by)
    kinds = [0.0] if groups is None else groups.values.tolist()
    if len(kinds) > len(_GROUPS):
        raise DataError(f"{by!r} has {len(kinds)} values, but there may be at most {len(_GROUPS)} groups.")
    for position, kind in enumerate(kinds):
        part = column if groups is None else column.where(groups, kind)
        if column.discrete:
            part.draw_shares(ax, column.values, prob, _GROUPS[position], (position - (len(kinds) - 1) / 2, len(kinds)))
        else:
            part.draw_curve(ax, column.span, prob, _GROUPS[position])
    if column.discrete:
        ax.set_xticks(range(len(column.values)), [column.label(value) for value in column.values])
    ax.set(xlabel=variable, ylabel="share of people" if column.discrete else "share of people up to", ylim=(0, None))
    labels = [] if groups is None else [groups.label(kind) for kind in kinds]
    band = f"simulated, {prob:.0%} {'bars' if column.discrete else 'band'}"
    _add_legend(ax, by, labels, "o" if column.discrete else "-", None if data is None else _of_whom(missing), band)
    return as_written(ax)


@dataclass(frozen=True)
class _Column:
    """A variable as it was simulated, a list of people for each draw, and as it was observed; codes have names."""

    simulated: list[np.ndarray]
    observed: np.ndarray | None
    names: list[str] | None

    @classmethod
    def of(cls, simulated: xr.Dataset, data: pd.DataFrame | None, name: str) -> "_Column":
        people = [str(key) for key, array in simulated.data_vars.items() if "individual" in array.dims]
        if name not in people:
            raise DataError(f"No variable {name!r} was simulated: {nearest(name, people)}")
        levels = simulated[name].attrs.get("levels")
        draws = list(simulated[name].to_numpy().astype(float))
        observed = None if data is None else _observed(data, name, levels)
        return cls(draws, observed, None if levels is None else [str(level) for level in levels])

    def where(self, groups: "_Column", kind: float) -> "_Column":
        """Return the people of one group, without the draws in which there are none."""
        masks = [group == kind for group in groups.simulated]
        own = [people[mask] for people, mask in zip(self.simulated, masks, strict=True) if mask.any()]
        observed = None if self.observed is None else self.observed[groups.observed == kind]
        return _Column(own, observed, self.names)

    @cached_property
    def values(self) -> np.ndarray:
        """The distinct values: all codes, or the numbers that occur."""
        seen = [] if self.observed is None else [self.observed]
        return np.arange(len(self.names)) if self.names else np.unique(np.concatenate([*self.simulated, *seen]))

    @property
    def discrete(self) -> bool:
        return self.names is not None or len(self.values) <= _FEW

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are simulated."""
        return all(bool((people == people.round()).all()) for people in self.simulated[:1])

    def label(self, value: float) -> str:
        return f"{value:g}" if self.names is None else self.names[int(value)]

    @property
    def span(self) -> np.ndarray:
        """Points from one tail to the other; a wide prior does not press what was observed into a line."""
        low, high = np.quantile(np.concatenate(self.simulated), [0.002, 0.998])
        if self.observed is not None:
            smallest, largest = self.observed.min(), self.observed.max()
            room = 2 * (largest - smallest)
            low, high = min(max(low, smallest - room), smallest), max(min(high, largest + room), largest)
        return np.arange(np.floor(low), high + 1) if self.whole and high - low < 300 else np.linspace(low, high, 300)

    def draw_curve(self, ax: Axes, grid: np.ndarray, prob: float, colour: str) -> None:
        """Draw cumulative shares."""

        def shares(people: np.ndarray) -> np.ndarray:
            return np.searchsorted(np.sort(people), grid, side="right") / len(people)

        if self.simulated:
            low, high = hdi(np.stack([shares(people) for people in self.simulated]), prob)
            step: Any = "post" if self.whole else None
            ax.fill_between(grid, low, high, color=colour, alpha=0.3, linewidth=0, step=step)
        if self.observed is not None and len(self.observed):
            style: Any = "steps-post" if self.whole else "default"
            ax.plot(grid, shares(self.observed), color=colour, linewidth=1.5, drawstyle=style)
        ax.set_xlim(grid[0], grid[-1])

    def draw_shares(self, ax: Axes, values: np.ndarray, prob: float, colour: str, place: tuple[float, int]) -> None:
        """Draw the share of each value, beside those of other groups."""

        def shares(people: np.ndarray) -> np.ndarray:
            return (people[:, None] == values).mean(axis=0)

        width = 0.75 / place[1]
        places = np.arange(len(values)) + place[0] * width
        if self.simulated:
            low, high = hdi(np.stack([shares(people) for people in self.simulated]), prob)
            ax.bar(places, np.maximum(high - low, 0.002), 0.8 * width, low, color=colour, alpha=0.35)
        if self.observed is not None and len(self.observed):
            ax.plot(places, shares(self.observed), "o", color=colour, markersize=5)


def _observed(data: pd.DataFrame, name: str, levels: Sequence[Any] | None) -> np.ndarray:
    if name not in data.columns:
        raise DataError(f"data has no column {name!r}: {nearest(name, [str(column) for column in data.columns])}")
    if levels is None:
        return data[name].to_numpy(dtype=float)
    codes: np.ndarray = pd.Index(list(levels), dtype=object).get_indexer(pd.Index(data[name], dtype=object))
    if (codes < 0).any():
        raise DataError(f"{name!r} has the value {data[name].iloc[int(np.argmin(codes))]!r}, which is not a level.")
    return codes.astype(float)


def _of_whom(missing: int) -> str:
    return f"observed ({missing} missing)" if missing else "observed"


def _add_legend(ax: Axes, title: str | None, groups: list[str], mark: str, observed: str | None, band: str) -> None:
    """Say which colour is which group, and what marks and bands are."""
    shown: dict[str, Any] = {group: Patch(color=colour) for group, colour in zip(groups, _GROUPS, strict=False)}
    own = GREY if groups else _GROUPS[0]
    if observed:
        line = {"linestyle": "-"} if mark == "-" else {"linestyle": "", "marker": mark, "markersize": 5}
        shown[observed] = Line2D([], [], color=own, **line)
    shown[band] = Patch(color=own, alpha=0.3, linewidth=0)
    ax.legend(list(shown.values()), list(shown), title=title, frameon=False, fontsize="small")
