"""The result of an audit of recourse: comparisons in words, rankings, verdicts, plots, files."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from recourse_people import SETTINGS, assert_same_answers, make_people, promotion

import causalaudit as ca
from causalaudit.recourse import aggregated_rankings, rank_agreement, ranking_analysis
from causalaudit.recourse.result.judgement import RULE
from causalaudit.results import VERDICT_COLUMNS
from causalaudit.storage import same


def test_a_comparison_in_words_as_in_the_paper():
    people, company = promotion()
    result = ca.audit_recourse(
        people, company, "sex", ["skill", "team"], support=0.2, actions=ca.Actions(weights={"team": 3})
    )
    comparison = result.explain({"skill": "low"}, "cost_of_effectiveness", parameter=0.7, viewpoint="macro")
    lines = str(comparison).splitlines()
    assert lines[:6] == [
        "If skill=low:",
        "    Protected Subgroup = 'f', 100.00% covered",
        "        Make skill=high with effectiveness 100.00%",
        "    Protected Subgroup = 'm', 100.00% covered",
        "        No recourses for this subgroup.",
        "    Bias against 'm' due to Equal Cost of Effectiveness (threshold=0.7). Unfairness score = inf.",
    ]
    assert lines[6].startswith("    95% interval, for all 3 subgroups at once: ")
    assert repr(comparison) == str(comparison)
    both = result.explain({"skill": "low", "team": "a"})
    assert both.score == 0
    assert "No bias due to Equal Effectiveness. Unfairness score = 0." in str(both)
    within = result.explain({"team": "a"}, "effectiveness_within_budget", parameter=result.settings["budgets"][0])
    assert (within.shown(0)["cost"] <= result.settings["budgets"][0]).all()
    micro = str(result.explain({"team": "a"}, "equal_effectiveness"))
    assert "        Make team=b with effectiveness 100.00% (so far 100.00%)" in micro
    bound = np.sqrt(-np.log(0.025) * 10 / 50)
    assert f"below {bound:.4g}." in str(result.explain({"team": "a"}, "effectiveness_cost_tradeoff"))


def test_a_comparison_as_html_escapes_what_people_wrote():
    people, company = promotion()
    people = people.replace({"team": {"a": "<a & b>"}})
    result = ca.audit_recourse(people, company, "sex", ["skill", "team"], support=0.2)
    html = result.explain({"team": "<a & b>"})._repr_html_()
    assert "&lt;a &amp; b&gt;" in html
    assert "<a & b>" not in html
    assert html.count("<td") == html.count("</td>") == 2


def test_without_a_notion_the_one_is_explained_by_which_the_subgroup_ranks_first():
    people, classify = make_people(0)
    result = ca.audit_recourse(people, classify, **SETTINGS)
    for place in range(0, len(result.candidates), 7):
        rows = result.table.iloc[place :: len(result.candidates)]
        comparison = result.explain(rows["subgroup"].iloc[0])
        unfair = rows[rows["score"] > 0]
        if len(unfair):
            own = rows.iloc[result.notions.index(comparison.notion)]
            assert own["rank"] == unfair["rank"].min()


def test_top_is_by_rank_and_names_are_checked():
    people, classify = make_people(0)
    result = ca.audit_recourse(people, classify, **SETTINGS)
    top = result.top("cost_of_effectiveness", 5, parameter=0.7, viewpoint="macro")
    assert len(top) == 5
    assert (np.diff(top["rank"]) >= 0).all()
    assert set(top["viewpoint"]) == {"macro"}
    assert set(result.top("equal_choice", 3)["parameter"]) == {0.3}
    assert set(result.top("equal_effectiveness", 3)["viewpoint"]) == {"micro"}
    with pytest.raises(
        ca.errors.DataError, match="There is no metric 'effectiveness'; there are 'equal_effectiveness'"
    ):
        result.top("effectiveness", 3)
    with pytest.raises(ca.errors.DataError, match=r"has no parameter 0\.5; there are 0\.3, 0\.7"):
        result.top("equal_choice", 3, parameter=0.5)
    with pytest.raises(ca.errors.DataError, match=r"is not among the \d+ subgroups"):
        result.explain({"years": 8, "job": "Unknown", "hours": "over", "born": True})
    with pytest.raises(ca.errors.DataError, match="'height' is not a feature"):
        result.explain({"height": 8})


def test_ranking_analysis_counts_ties_and_directions():
    people, classify = make_people(0)
    result = ca.audit_recourse(people, classify, **SETTINGS)
    analysis = ranking_analysis(result, share=0.25)
    assert len(analysis) == len(result.notions)
    for row, part in zip(analysis.to_dict("records"), result.by_notion(), strict=True):
        unfair = part[part["score"] > 0]
        assert row["unfair"] == len(unfair)
        assert row["most_unfair"] == (unfair["score"] == unfair["score"].max()).sum()
        assert row["against female"] + row["against male"] == math.ceil(len(unfair) / 4)
    with pytest.raises(ca.errors.DataError, match="share is 0"):
        ranking_analysis(result, share=0)


def test_aggregated_rankings_and_agreement():
    people, classify = make_people(0)
    result = ca.audit_recourse(people, classify, **SETTINGS)
    parts = list(result.by_notion())
    aggregated, agreement = aggregated_rankings(result), rank_agreement(result)
    for row, column in [(0, 3), (5, 1), (8, 12)]:
        first = (parts[row]["rank"] == 1).to_numpy()
        expected = parts[column]["rank"][first].mean() / parts[column]["rank"].max() if first.any() else np.nan
        assert aggregated.iloc[row, column] == pytest.approx(expected)
        ranks = [parts[place]["rank"].rank().to_numpy() for place in (row, column)]
        assert agreement.iloc[row, column] == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert np.isnan(np.diag(aggregated)).all()
    assert np.allclose(np.diag(agreement), 1)


def test_what_all_results_share():
    people, classify = make_people(0)
    result = ca.audit_recourse(people, classify, **SETTINGS)
    assert repr(result).startswith(f"Recourse of sex = male against female, {len(result.candidates)} subgroups")
    summary = result.summary()
    assert len(summary) == len(result.notions)
    assert (summary["against female"] + summary["against male"] == summary["unfair"]).all()
    assert (summary["simultaneous_above_0"] <= summary["unfair"]).all()
    constants = result.to_inference_data().constant_data
    assert constants["score"].shape == (len(result.notions), len(result.candidates))


def test_plots_show_what_they_say():
    people, classify = make_people(0)
    result = ca.audit_recourse(people, classify, **SETTINGS)
    assert len(result.plot().get_yticks()) == 10
    top = ca.plots.plot_top_subgroups(result, "cost_of_effectiveness", n=4, parameter=0.7)
    assert len(top.get_yticks()) == 4
    subgroup = result.top("effectiveness_cost_tradeoff", 1)["subgroup"].iloc[0]
    for viewpoint in ("micro", "macro"):
        figure = ca.plots.plot_effectiveness_cost(result, subgroup, viewpoint, ax=top.figure.add_subplot())
        curve = figure.get_lines()[0].get_ydata()
        last = result.actions(subgroup)
        expected = last["together0"].iloc[-1] if viewpoint == "micro" else last["effectiveness0"].max()
        assert curve[-1] == pytest.approx(expected)
    assert len(ca.plots.plot_rank_agreement(result, ax=top.figure.add_subplot()).get_xticks()) == len(result.notions)


def test_a_verdict_has_a_direction_and_a_group_and_is_tested():
    people, classify = make_people(0, n=2_000)
    result = ca.audit_recourse(people, classify, **SETTINGS)
    verdicts = result.verdicts
    assert list(verdicts.columns) == list(VERDICT_COLUMNS)
    assert verdicts["unit"].is_unique
    assert verdicts[["probability", "structural", "sampling"]].isna().all(axis=None)
    by_unit = verdicts.set_index("unit")
    flagged = 0
    for notion, rows in zip(result.notions, result.by_notion(), strict=True):
        for label, row in zip(result.labels, rows.to_dict("records"), strict=True):
            above = row["simultaneous_low"] > 0
            flagged += above
            if notion.metric == "effectiveness_cost_tradeoff":
                unit = by_unit.loc[f"{notion.label}: {label}, female and male differ"]
                assert (unit["value"], unit["flagged"]) == (row["score"], above)
                continue
            for group in result.groups:
                unit = by_unit.loc[f"{notion.label}: {label}, against {group}"]
                sign = 0 if row["bias_against"] is None else 1 if row["bias_against"] == group else -1
                assert unit["value"] == (sign * row["score"] if sign else 0.0)
                assert unit["flagged"] == (above and sign == 1)
    assert verdicts["flagged"].sum() == flagged > 5
    assert set(verdicts["rule"]) == {RULE}
    assert result.summary()["simultaneous_above_0"].sum() == flagged


def test_the_headline_is_the_mean_gap_in_effectiveness():
    people, classify = make_people(0)
    result = ca.audit_recourse(people, classify, **SETTINGS)
    rows = result.rows(result.notion("equal_effectiveness"))
    gaps = result.values.loc[rows.index, "value0"] - result.values.loc[rows.index, "value1"]
    assert len(result.headline) == 1
    assert result.headline[0] == pytest.approx(np.average(gaps, weights=rows["n0"] + rows["n1"]))
    assert result.headline.name == "mean gap in effectiveness (micro) of sex = male against female"
    turned = ca.audit_recourse(people, classify, **SETTINGS | {"protected": {"sex": "female"}})
    assert turned.headline[0] == pytest.approx(-result.headline[0])


def test_every_kind_of_interval_is_explained():
    people, classify = make_people(0)
    result = ca.audit_recourse(people, classify, **SETTINGS)
    kinds = [name.removesuffix("_low") for name in result.table if name.endswith("_low")]
    assert result.intervals["kind"].tolist() == kinds
    assert result.intervals["level"].tolist() == [0.95, 0.9]
    assert result.intervals["scope"].tolist() == ["simultaneous", "one unit"]


def whole_cost(before, after):
    return float(sum(before[name] != after[name] for name in before))


def test_a_result_is_saved_and_loaded(tmp_path):
    people, classify = make_people(0)
    people["hours"] = pd.Categorical(people["hours"], ["part", "full", "over"], ordered=True)
    actions = ca.Actions(ordinal=["hours"], weights=whole_cost, never=["Unknown"])
    result = ca.audit_recourse(people, classify, **SETTINGS | {"actions": actions})
    assert json.loads(json.dumps(result.settings, allow_nan=False)) == result.settings
    assert result.settings["actions"]["weights"] == "whole_cost"
    result.save(tmp_path / "audit.nc")
    loaded = ca.load(tmp_path / "audit.nc")
    assert same(result, loaded)
    assert_same_answers(result, loaded)
    subgroup = result.top("equal_effectiveness", 1)["subgroup"].iloc[0]
    pd.testing.assert_frame_equal(loaded.actions(subgroup), result.actions(subgroup))
    assert str(loaded.explain(subgroup)) == str(result.explain(subgroup))
    assert loaded.explain(subgroup).html() == result.explain(subgroup).html()
    for function in (ranking_analysis, aggregated_rankings, rank_agreement):
        pd.testing.assert_frame_equal(function(loaded), function(result))
    assert loaded.plot().get_xlabel() == result.plot().get_xlabel()
    ca.plots.plot_effectiveness_cost(loaded, subgroup)
    with pytest.raises(ca.errors.DataError, match="need a posterior"):
        loaded.individuals()


def test_results_compare_by_identity():
    people, classify = make_people(0)
    first, second = (ca.audit_recourse(people, classify, **SETTINGS) for _ in range(2))
    assert first != second
    assert len({first, second}) == 2
