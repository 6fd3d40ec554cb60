"""Plots of situation tests: features with levels, and estimates outside of the intervals beside them."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from situations import bank

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.figures import OUTSIDE


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    n = 400
    sex, salary = rng.choice(["F", "M"], n), rng.normal(size=n)
    job = pd.Categorical(rng.choice(["none", "skilled", "unskilled"], n), ["none", "unskilled", "skilled"])
    hired = (salary + (sex == "M") + rng.normal(size=n) > 0).astype(int)
    return pd.DataFrame({"sex": sex, "salary": salary, "job": job, "town": rng.choice(["A", "B"], n), "hired": hired})


@pytest.fixture(scope="module")
def with_levels(people):
    return ca.situation_testing(people, "hired", {"sex": "F"}, features=["salary", "job", "town"], k=5)


@pytest.mark.parametrize(
    ("feature", "levels"),
    [("job", ["none", "unskilled", "skilled"]), ("town", ["A", "B"])],
    ids=["categorical", "text"],
)
def test_groups_of_a_feature_with_levels(people, with_levels, feature, levels):
    complainants = with_levels.at().index[:3]
    ax = ca.plots.plot_groups(with_levels, complainants, feature)
    assert [label.get_text() for label in ax.get_yticklabels()] == levels
    crosses = ax.get_lines()[0].get_ydata()
    assert [levels[int(code)] for code in crosses] == people.loc[complainants, feature].tolist()


@pytest.fixture(scope="module")
def with_draws():
    applicants = ca.datasets.make_loan(600, seed=0)
    posterior = ca.fit(ca.models.loan.linear(), applicants, draws=50, chains=2)
    worlds = ca.counterfactuals(posterior, {"gender": "male"}, rows=applicants.gender == "female")
    rule = lambda people: people.salary + 5 * people.balance > 225_000  # noqa: E731
    features = ["salary", "balance"]
    return ca.situation_testing(
        applicants, rule, {"gender": "female"}, features=features, counterfactuals=worlds, k=[3, 5]
    )


def hollow(ax):
    """The places of hollow marks."""
    marks = [one for one in ax.collections if one.get_label() == OUTSIDE]
    return np.concatenate([one.get_offsets() for one in marks]) if marks else np.empty((0, 2))


@pytest.fixture(scope="module")
def moved(with_draws):
    """The same answer, with the delta of the first two complainants outside of their intervals."""
    table = with_draws.table.copy()
    first = table.index.get_level_values("complainant").isin(with_draws.at().index[:2])
    table.loc[first, "delta"] = table.loc[first, "structural_high"] + 0.1
    return replace(with_draws, table=table)


def test_a_delta_outside_of_its_structural_interval_is_hollow(moved):
    shown = moved.at().index[:4]
    ax = ca.plots.plot_forest(moved, shown)
    assert_array_equal(hollow(ax)[:, 0], moved.at().loc[shown[:2], "delta"])
    assert OUTSIDE in [text.get_text() for text in ax.get_legend().get_texts()]
    assert OUTSIDE not in ca.plots.plot_forest(moved, shown[2:]).get_legend_handles_labels()[1]


@pytest.mark.parametrize("cases", [0, 50])
def test_a_number_of_cases_outside_of_the_band_is_hollow(with_draws, cases, monkeypatch):
    summary = with_draws.summary().assign(cases=cases)
    monkeypatch.setattr(type(with_draws), "summary", lambda self: summary)
    outside = ~(summary["cases"].between(summary["expected_low"], summary["expected_high"]))
    assert len(hollow(ca.plots.plot_cases(with_draws))) == outside.sum()


def test_plots(applicants, result, tmp_path):
    standard = ca.situation_testing(applicants, bank, {"gender": "female"}, features=["salary", "balance"], k=[5, 10])
    both = {"CST": result, "ST": standard}
    assert len(ca.plots.plot_cases(both).get_lines()) == 4
    assert len(ca.plots.plot_cases(result, "cf_cases", ax=plt.gca()).get_lines()) == 6
    plt.close()
    assert ca.plots.plot_cases(both, "delta").get_ylabel() == "mean Δ of the cases"
    assert ca.plots.plot_groups(result, result.at().index[:3], "salary", k=10).get_xlabel() == "complainant"
    assert ca.plots.plot_distributions(result, "balance").get_xlabel() == "balance"
    assert ca.plots.plot_forest(result, k=10).get_xlabel() == "Δ at k = 10"
    assert result.plot().get_xlabel()
    figure = ca.plots.plot_forest(standard).figure
    figure.savefig(tmp_path / "forest.png")


def words(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_legends_say_what_is_a_point_and_what_a_band(result):
    cases = words(ca.plots.plot_cases({"CST": result}))
    assert "CST, all, at the point counterfactual" in cases
    assert "CST, all, over the draws (90%)" in cases
    rows = words(ca.plots.plot_forest(result, result.at().index[:5]))
    assert "Δ at the point counterfactual, Wald 95%" in rows
    assert "mean Δ over the draws, structural 90%" in rows


def test_where_there_is_no_case_the_plot_says_so(applicants):
    none = ca.situation_testing(applicants, bank, {"gender": "female"}, features=["salary"], k=5, tau=1.0)
    ax = ca.plots.plot_forest(none)
    assert ax.texts[0].get_text() == f"none of {len(none.at())} complainants has Δ > 1"
    with pytest.raises(DataError, match="nobody to draw"):
        ca.plots.plot_groups(none, [], "salary")


@pytest.mark.filterwarnings("ignore:.*rest on a poor match:causalaudit.errors.CausalAuditWarning")  # few people
def test_a_level_that_only_the_counterfactual_has_is_drawn(people):
    worlds = ca.CounterfactualDraws.from_frame(people[["salary"]].assign(town="C"))
    moved = ca.situation_testing(
        people, "hired", {"sex": "F"}, features=["salary", "town"], counterfactuals=worlds, k=5
    )
    ax = ca.plots.plot_groups(moved, moved.at().index[:2], "town")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["A", "B", "C"]
    assert ax.get_lines()[1].get_ydata().tolist() == [2, 2]
