"""Plots of counterfactual people beside the factual ones, and of the posterior of any number."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from causalaudit.arguments import check_kind, check_types, shown
from causalaudit.counterfactuals.draws import CounterfactualDraws
from causalaudit.errors import DataError, nearest
from causalaudit.figures import GREY, RED, as_written, own_axes
from causalaudit.intervals import hdi

_FACTUAL, _COUNTERFACTUAL = GREY, RED


def plot_worlds(worlds: CounterfactualDraws, variable: str, prob: float = 0.9, ax: Axes | None = None) -> Axes:
    """Compare the distribution of a variable in the factual and in the counterfactual world.

    A number is shown as the cumulative share of people: the counterfactual curve is the average over draws, with a
    band that holds the curve of a draw with probability `prob` at each point (figure 2 of Alvarez and Ruggieri 2025,
    with its uncertainty). A variable with levels is shown as the share of people at each of them: bars are factual,
    points the average over draws, with an interval that holds the share of a draw with probability `prob`.

    Examples
    --------
    >>> import causalaudit as ca
    >>> posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(100, seed=0))
    >>> worlds = ca.counterfactuals(posterior, do={"gender": "male"}, draws=50)
    >>> ca.plots.plot_worlds(worlds, "salary").get_xlabel()
    'salary'
    >>> [label.get_text() for label in ca.plots.plot_worlds(worlds, "gender").get_xticklabels()]
    ['male', 'female']
    """
    check_types(plot_worlds, locals())
    known = [str(name) for name in worlds.dataset.data_vars]
    if variable not in known:
        raise DataError(f"The counterfactuals do not hold {variable!r}: {nearest(variable, known)}")
    ax = own_axes(ax)
    levels = worlds.dataset[variable].attrs.get("levels")
    if levels is None:
        _draw_curves(ax, worlds, variable, prob)
    else:
        _draw_shares(ax, worlds, variable, list(levels), prob)
    ax.set_xlabel(variable)
    ax.legend(frameon=False)
    return as_written(ax)


def _draw_curves(ax: Axes, worlds: CounterfactualDraws, variable: str, prob: float) -> None:
    factual, label = _factual(worlds, variable)
    factual = np.sort(factual.astype(float))
    draws = np.sort(worlds.dataset[variable].to_numpy(), axis=1)
    grid = np.linspace(min(factual[0], draws.min()), max(factual[-1], draws.max()), 200)
    shares = np.stack([np.searchsorted(draw, grid, side="right") for draw in draws]) / draws.shape[1]
    low, high = hdi(shares, prob)
    ax.plot(grid, np.searchsorted(factual, grid, side="right") / len(factual), color=_FACTUAL, label=label)
    ax.plot(grid, shares.mean(axis=0), color=_COUNTERFACTUAL, label=f"counterfactual, {prob:.0%} band")
    ax.fill_between(grid, low, high, color=_COUNTERFACTUAL, alpha=0.25, linewidth=0)
    ax.set(ylabel="share of people below", ylim=(0, 1))


def _draw_shares(ax: Axes, worlds: CounterfactualDraws, variable: str, levels: list[object], prob: float) -> None:
    factual, label = _factual(worlds, variable)
    codes = worlds.dataset[variable].to_numpy()
    shares = np.stack([(codes == code).mean(axis=1) for code in range(len(levels))], axis=1)
    mean, (low, high) = shares.mean(axis=0), hdi(shares, prob)
    places = np.arange(len(levels))
    observed = pd.Index(factual).value_counts(normalize=True).reindex(levels, fill_value=0.0)
    ax.bar(places, observed, 0.6, color=_FACTUAL, alpha=0.45, label=label)
    ax.vlines(places, low, high, color=_COUNTERFACTUAL, linewidth=2)
    ax.plot(places, mean, "o", color=_COUNTERFACTUAL, label=f"counterfactual, {prob:.0%} interval")
    ax.set_xticks(places, [str(level) for level in levels])
    ax.set(ylabel="share of people", ylim=(0, 1.05))


def _factual(worlds: CounterfactualDraws, variable: str) -> tuple[np.ndarray, str]:
    """Return the factual values, and what they are called; where some are missing, those of all draws together."""
    if variable not in worlds.completed:
        return worlds.factual[variable].to_numpy(), "factual"
    completed, levels = worlds.completed[variable], worlds.completed[variable].attrs.get("levels")
    values = completed.to_numpy().ravel()
    names = values if levels is None else np.asarray(list(levels), dtype=object)[values]
    return names, f"factual, {int(worlds.factual[variable].isna().sum())} values drawn"


def _numbers(name: Any, values: Any) -> np.ndarray:
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise DataError(f"draws of {name!r} are {shown(values)}, but must be a list of finite numbers.")
    return numbers


def plot_effects(draws: Mapping[str, np.ndarray], prob: float = 0.9, ax: Axes | None = None) -> Axes:
    """Show the posterior of one or more numbers: mean and highest-density interval, a row each.

    Examples
    --------
    >>> import numpy as np, causalaudit as ca
    >>> ax = ca.plots.plot_effects({"shift of salary": np.random.default_rng(0).normal(2, 1, 500)})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['shift of salary']
    """
    check_types(plot_effects, locals())
    check_kind("draws", draws, Mapping, "a mapping from names to draws")
    ax = own_axes(ax)
    for row, (name, values) in enumerate(draws.items()):
        low, high = hdi(_numbers(name, values), prob)
        ax.plot([low, high], [row, row], color=_COUNTERFACTUAL, linewidth=2)
        ax.plot(np.mean(values), row, "o", color=_COUNTERFACTUAL)
    ax.axvline(0, color=_FACTUAL, linewidth=0.8, linestyle=":")
    ax.set_yticks(range(len(draws)), list(draws))
    ax.set_ylim(len(draws) - 0.5, -0.5)
    ax.set_xlabel(f"posterior mean and\n{prob:.0%} highest-density interval")
    return as_written(ax)
