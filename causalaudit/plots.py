"""Plots: functions that take axes or make them, and return them."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.axes import Axes

from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.intervals import hdi
from causalaudit.situation_testing.plots import plot_cases, plot_distributions, plot_forest, plot_groups

__all__ = [
    "plot_cases",
    "plot_diagram",
    "plot_distributions",
    "plot_effects",
    "plot_forest",
    "plot_groups",
    "plot_worlds",
]

_FACTUAL, _COUNTERFACTUAL = "#7f7f7f", "#c44e52"


def plot_worlds(worlds: CounterfactualDraws, variable: str, prob: float = 0.9, ax: Axes | None = None) -> Axes:
    """Compare the distribution of a variable in the factual and in the counterfactual world.

    The counterfactual curve is the cumulative share of people, averaged over draws, with a band that holds the curve
    of a draw with probability `prob` at each point (figure 2 of Alvarez and Ruggieri 2025, with its uncertainty).

    Examples
    --------
    >>> import causalaudit as ca
    >>> posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(100, seed=0))
    >>> worlds = ca.counterfactuals(posterior, do={"gender": "male"}, draws=50)
    >>> ca.plots.plot_worlds(worlds, "salary").get_xlabel()
    'salary'
    """
    ax = plt.gca() if ax is None else ax
    factual = np.sort(worlds.factual[variable].to_numpy(dtype=float))
    draws = np.sort(worlds.dataset[variable].to_numpy(), axis=1)
    grid = np.linspace(min(factual[0], draws.min()), max(factual[-1], draws.max()), 200)
    shares = np.stack([np.searchsorted(draw, grid, side="right") for draw in draws]) / draws.shape[1]
    low, high = hdi(shares, prob)
    ax.plot(grid, np.searchsorted(factual, grid, side="right") / len(factual), color=_FACTUAL, label="factual")
    ax.plot(grid, shares.mean(axis=0), color=_COUNTERFACTUAL, label=f"counterfactual, {prob:.0%} band")
    ax.fill_between(grid, low, high, color=_COUNTERFACTUAL, alpha=0.25, linewidth=0)
    ax.set(xlabel=variable, ylabel="share of people below", ylim=(0, 1))
    ax.legend(frameon=False)
    return ax


def plot_effects(draws: dict[str, np.ndarray], prob: float = 0.9, ax: Axes | None = None) -> Axes:
    """Show the posterior of one or more numbers: mean and highest-density interval, a row each.

    Examples
    --------
    >>> import numpy as np
    >>> ax = plot_effects({"shift of salary": np.random.default_rng(0).normal(2, 1, 500)})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['shift of salary']
    """
    ax = plt.gca() if ax is None else ax
    for row, values in enumerate(draws.values()):
        low, high = hdi(np.asarray(values), prob)
        ax.plot([low, high], [row, row], color=_COUNTERFACTUAL, linewidth=2)
        ax.plot(np.mean(values), row, "o", color=_COUNTERFACTUAL)
    ax.axvline(0, color=_FACTUAL, linewidth=0.8, linestyle=":")
    ax.set_yticks(range(len(draws)), list(draws))
    ax.set_ylim(len(draws) - 0.5, -0.5)
    ax.set_xlabel(f"posterior mean and {prob:.0%} highest-density interval")
    return ax


def plot_diagram(graph: "nx.DiGraph[Any]", highlight: Sequence[tuple[str, str]] = (), ax: Axes | None = None) -> Axes:
    """Draw a causal diagram from causes (left) to effects (right); latent variables are dashed.

    Examples
    --------
    >>> import causalaudit as ca
    >>> ax = ca.plots.plot_diagram(ca.models.loan.linear().graph, highlight=[("gender", "salary")])
    """
    ax = plt.gca() if ax is None else ax
    layered = graph.copy()
    for layer, nodes in enumerate(nx.topological_generations(graph)):
        for node in nodes:
            layered.nodes[node]["layer"] = layer
    # A bend keeps an edge that skips a layer visible behind the nodes it passes.
    positions = nx.multipartite_layout(layered, subset_key="layer")
    colours = [_COUNTERFACTUAL if edge in set(highlight) else "#333333" for edge in graph.edges]
    nx.draw_networkx_edges(
        graph, positions, ax=ax, edge_color=colours, node_size=2600, arrowsize=14, connectionstyle="arc3,rad=0.12"
    )
    for node, (x, y) in positions.items():
        style = "dashed" if graph.nodes[node].get("latent") else "solid"
        box = {"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": "#333333", "linestyle": style}
        ax.text(x, y, str(node), ha="center", va="center", bbox=box)
    ax.margins(0.2)
    ax.set_axis_off()
    return ax
