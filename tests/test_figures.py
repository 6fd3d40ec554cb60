"""A plot opens a figure of its own, whose labels are all inside."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import causalaudit as ca
from causalaudit.figures import as_written, own_axes

PACKAGE = Path(ca.__file__).parent


def test_plots_in_a_row_have_figures_of_their_own():
    draws = {"shift": np.linspace(0, 1, 50)}
    first, second = ca.plots.plot_effects(draws), ca.plots.plot_effects(draws)
    third = ca.plots.plot_diagram(ca.models.loan.linear().graph)
    assert len({id(ax.figure) for ax in (first, second, third)}) == 3
    assert len(first.get_lines()) == len(second.get_lines()) == 3


def test_axes_that_are_given_are_drawn_into():
    _, ax = plt.subplots()
    assert ca.plots.plot_effects({"shift": np.linspace(0, 1, 50)}, ax=ax) is ax
    assert len(plt.get_fignums()) == 1


def test_a_plain_savefig_cuts_no_label_off():
    ax = ca.plots.plot_effects({"a name of an effect that is as long as a sentence": np.linspace(0, 1, 50)})
    ax.figure.canvas.draw()
    (label,) = ax.get_yticklabels()
    assert label.get_window_extent().x0 >= 0


def test_no_plot_draws_into_whatever_is_open():
    for path in PACKAGE.rglob("*.py"):
        assert "gca()" not in path.read_text(encoding="utf-8"), path


def test_dollars_are_no_mathematics():
    ax = own_axes(None)
    ax.set_title("cost: $ and $x_{")
    ax.set_xticks([0, 1], ["$\\oops_{", "10$ to 20$"])
    ax.plot([0, 1], [0, 1], label="$^{")
    ax.legend()
    as_written(ax).figure.canvas.draw()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["$\\oops_{", "10$ to 20$"]
