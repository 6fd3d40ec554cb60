"""Plots of two worlds: numbers as curves, levels as shares."""

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from causalaudit.errors import DataError


@pytest.fixture(scope="module")
def worlds():
    posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(200, seed=0), draws=20, chains=2)
    return ca.counterfactuals(posterior, {"gender": "male"}, draws=8)


def test_numbers(worlds):
    ax = ca.plots.plot_worlds(worlds, "salary")
    factual, counterfactual = (line.get_ydata() for line in ax.get_lines())
    assert factual[-1] == counterfactual[-1] == 1
    assert (counterfactual <= factual + 1e-9).all()  # everybody would have had as much or more


def test_levels(worlds):
    ax = ca.plots.plot_worlds(worlds, "gender")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["male", "female"]
    heights = [bar.get_height() for bar in ax.patches]
    shares = worlds.factual["gender"].value_counts(normalize=True)
    np.testing.assert_allclose(heights, [shares["male"], shares["female"]])
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [1, 0])


def test_levels_of_a_categorical_column():
    frame = pd.DataFrame({"job": pd.Categorical(["none", "skilled", "none", "none"])})
    ax = ca.plots.plot_worlds(ca.CounterfactualDraws.from_frame(frame), "job")
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [0.75, 0.25])


def test_a_variable_that_is_not_there(worlds):
    with pytest.raises(DataError, match="did you mean 'salary'"):
        ca.plots.plot_worlds(worlds, "salery")


def test_effects():
    ax = ca.plots.plot_effects({"a": np.arange(100.0), "b": np.ones(100)})
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
