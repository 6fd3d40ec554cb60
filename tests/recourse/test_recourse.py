"""Audits of recourse against the definitions of the paper, computed plainly; and what must not change an audit."""

import itertools
import math
import random as python_random

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import causalaudit as ca
from causalaudit.recourse import aggregated_rankings, candidates, metrics, predictions, rank_agreement, ranking_analysis
from causalaudit.recourse.mining import estimated_number, frequent_itemsets

COLUMNS = ["subgroup", "metric", "parameter", "viewpoint", "score", "bias_against", "rank", "interval_low"]
COLUMNS += ["interval_high", "hdi_low", "hdi_high", "n0", "n1"]
WEIGHTS = {"years": 2.0, "job": 3.0, "hours": 0.5}


def make_people(seed, n=120):
    """People with one feature of each kind, and a classifier that is any function of them."""
    random = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "years": random.choice([8, 9, 12, 16], n, p=[0.2, 0.3, 0.3, 0.2]),
            "job": random.choice(["clerk", "smith", "Unknown"], n, p=[0.4, 0.4, 0.2]),
            "hours": random.choice(["part", "full", "over"], n),
            "born": random.choice([True, False], n),
            "sex": random.choice(["female", "male"], n),
        }
    )
    answers = {}

    def classify(table):
        rows = table[["years", "job", "hours", "born", "sex"]].itertuples(index=False, name=None)
        return np.array([answers.setdefault(row, int(random.random() < 0.4)) for row in rows])

    classify(people)
    return people, classify


SETTINGS = {
    "protected": "sex", "features": ["years", "job", "hours", "born"], "numeric": ["years"], "ordinal": ["hours"],
    "orders": {"hours": ["part", "full", "over"]}, "weights": WEIGHTS, "increasing": ["years"], "immutable": ["born"],
    "never": ["Unknown"], "support": 0.1, "budgets": [1, 3.5], "no_recourse_cost": 20, "progress": False,
}  # fmt: skip


def plain_audit(people, classify, support=0.1, phis=(0.3, 0.7), budgets=(1, 3.5), worst=20):
    """Follow the definitions of section 2 word by word, for the settings above; return notion → subgroup → values."""
    features, order = SETTINGS["features"], SETTINGS["orders"]["hours"]
    good = classify(people) == 1
    groups = [people[~good & (people["sex"] == level)] for level in ("female", "male")]

    def frequent(table):
        found = set()
        for size in range(1, len(features) + 1):
            for part in itertools.combinations(features, size):
                counts = table.groupby(list(part)).size()
                found |= {
                    tuple(zip(part, key if isinstance(key, tuple) else (key,), strict=True))
                    for key, count in counts.items()
                    if count >= support * len(table) - 1e-9
                }
        return found

    def cost(feature, old, new):
        if feature == "years":
            return WEIGHTS["years"] * abs(old - new) / (people["years"].max() - people["years"].min())
        if feature == "hours":
            return WEIGHTS["hours"] * abs(order.index(old) - order.index(new))
        return WEIGHTS.get(feature, 1.0) * (old != new)

    def valid(before, after):
        changes = [(name, old, dict(after)[name]) for name, old in before if dict(after)[name] != old]
        return bool(changes) and all(
            name != "born" and new != "Unknown" and not (name == "years" and new < old) for name, old, new in changes
        )

    actions = frequent(people[good])
    answer = {}
    for before in frequent(groups[0]) & frequent(groups[1]):
        own = [after for after in actions if dict(after).keys() == dict(before).keys() and valid(before, after)]
        if not own:
            continue
        costs = [round(sum(cost(name, old, dict(after)[name]) for name, old in before), 12) for after in own]
        members = [group[np.all([group[name] == value for name, value in before], axis=0)] for group in groups]
        flips = [[classify(part.assign(**dict(after))) == 1 for after in own] for part in members]
        answer[before] = [
            plain_values(np.array(flip).reshape(len(own), -1), np.array(costs), phis, budgets, worst) for flip in flips
        ]
    return answer


def plain_values(flips, costs, phis, budgets, worst):
    """Return every notion of one group, from whom each action (rows) flips."""
    size = flips.shape[1]

    def micro(c):
        return flips[costs <= c].any(axis=0).sum() / size

    def macro(c):
        return max((flips[costs <= c].sum(axis=1) / size).tolist(), default=0.0)

    paid = [min((c for c, flip in zip(costs, column, strict=True) if flip), default=math.inf) for column in flips.T]
    have = [c for c in paid if c < math.inf]
    values = {("equal_effectiveness", None, "micro"): micro(math.inf)}
    values["equal_effectiveness", None, "macro"] = macro(math.inf)
    for phi in phis:
        enough = [row.sum() * 10 >= round(10 * phi) * size for row in flips]
        values["equal_choice", phi, "macro"] = sum(enough)
        for name, curve in (("micro", micro), ("macro", macro)):
            reached = [c for c in costs if round(curve(c) * size) * 10 >= round(10 * phi) * size]
            values["cost_of_effectiveness", phi, name] = min(reached, default=math.inf)
    for budget in budgets:
        values["effectiveness_within_budget", budget, "micro"] = micro(budget)
        values["effectiveness_within_budget", budget, "macro"] = macro(budget)
    values["conditional_mean_recourse", None, "micro"] = sum(have) / len(have) if have else math.inf
    values["mean_recourse", None, "micro"] = (sum(have) + worst * (size - len(have))) / size
    curves = {c: (micro(c), macro(c)) for c in costs}
    return values, curves


@pytest.mark.parametrize("seed", range(4))
def test_an_audit_follows_the_definitions(seed):
    people, classify = make_people(seed)
    result = ca.audit_recourse(people, classify, **SETTINGS)
    expected = plain_audit(people, classify)
    found = [frozenset(subgroup.items()) for subgroup in result.table["subgroup"].iloc[: len(result.candidates)]]
    assert len(found) > 10
    assert set(found) == {frozenset(subgroup) for subgroup in expected}
    for subgroup, sides in expected.items():
        place = result.place(dict(subgroup))
        for notion in result.notions:
            row = result.notions.index(notion) * len(result.candidates) + place
            values = result.values.loc[row].tolist()
            score = result.table.loc[row, "score"]
            if notion.metric == "effectiveness_cost_tradeoff":
                view = ("micro", "macro").index(notion.viewpoint)
                distance = max(abs(sides[0][1][c][view] - sides[1][1][c][view]) for c in sides[0][1])
                assert score == pytest.approx(distance, abs=1e-12)
                continue
            key = (notion.metric, None if math.isnan(notion.parameter) else notion.parameter, notion.viewpoint)
            theirs = [side[0][key] for side in sides]
            assert values == pytest.approx(theirs, abs=1e-9)
            same = theirs[0] == pytest.approx(theirs[1], abs=1e-12)
            assert score == pytest.approx(0.0 if same else abs(theirs[0] - theirs[1]), abs=1e-9)
            worse = (theirs[0] > theirs[1]) == notion.is_cost
            assert result.table.loc[row, "bias_against"] == (None if same else "female" if worse else "male")


def test_the_table_has_the_columns_of_the_design():
    people, classify = make_people(0)
    result = ca.audit_recourse(people, classify, **SETTINGS)
    table = result.table
    assert list(table.columns) == COLUMNS
    assert table.index.equals(pd.RangeIndex(len(table)))
    assert set(table["metric"]) == {
        "equal_effectiveness", "equal_choice", "effectiveness_within_budget", "cost_of_effectiveness",
        "effectiveness_cost_tradeoff", "conditional_mean_recourse", "mean_recourse",
    }  # fmt: skip
    assert set(table.loc[table["metric"] == "equal_choice", "viewpoint"]) == {"macro"}
    assert set(table.loc[table["metric"].str.contains("mean_recourse"), "viewpoint"]) == {"micro"}
    assert not table.drop(columns=["parameter", "bias_against", "hdi_low", "hdi_high"]).isna().any(axis=None)
    assert table[["hdi_low", "hdi_high"]].isna().all(axis=None)
    assert (table["bias_against"].isna() == (table["score"] == 0)).all()
    for _, part in table.groupby(["metric", "parameter", "viewpoint"], dropna=False):
        ranks = part.sort_values("score", ascending=False)["rank"].tolist()
        assert ranks == sorted(ranks)
        assert set(ranks) == set(range(1, max(ranks) + 1))
    inside = (table["interval_low"] - 1e-9 <= table["score"]) & (table["score"] <= table["interval_high"] + 1e-9)
    assert inside.all()
    without = ca.audit_recourse(people, classify, **SETTINGS | {"no_recourse_cost": None})
    assert "mean_recourse" not in set(without.table["metric"])
    assert result.settings["searched"] == len(result.candidates) <= result.settings["mined"]


@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.05, 0.1, 0.3]))
@settings(max_examples=15)
def test_mining_finds_what_is_frequent_and_nothing_else(seed, share):
    random = np.random.default_rng(seed)
    groups = [random.integers(0, 3, (size, 4)) for size in random.integers(5, 150, 2)]
    found = frequent_itemsets(groups, share)
    expected = set()
    for values in itertools.product(range(-1, 3), repeat=4):
        part = [place for place, value in enumerate(values) if value >= 0]
        counts = [(group[:, part] == [values[place] for place in part]).all(axis=1).sum() for group in groups]
        if part and all(
            count * 20 >= round(share * 20) * len(rows) and count for count, rows in zip(counts, groups, strict=True)
        ):
            expected.add(values)
    assert {tuple(row) for row in found.tolist()} == expected
    assert len(found) == len(expected)


def test_the_estimate_of_the_number_of_itemsets_is_near_it():
    random = np.random.default_rng(0)
    common = random.integers(0, 2, (600, 1))
    rows = np.where(random.random((600, 9)) < 0.6, common, random.integers(0, 3, (600, 9)))
    exact = len(frequent_itemsets([rows], 0.02))
    estimates = [estimated_number([rows], [12], seed) for seed in range(5)]
    assert np.mean(estimates) == pytest.approx(exact, rel=0.1)


def _same_tables(first, second):
    """Whether two audits give the same rows, in whatever order subgroups are."""

    def key(table):
        names = [str(sorted(subgroup.items(), key=str)) for subgroup in table["subgroup"]]
        return table.assign(subgroup=names).sort_values(
            ["metric", "parameter", "viewpoint", "subgroup"], ignore_index=True
        )

    pd.testing.assert_frame_equal(key(first.table), key(second.table), check_dtype=False)


@pytest.mark.parametrize("change", ["rows", "index", "categories", "more columns", "feature order"])
def test_what_does_not_matter(change):
    people, classify = make_people(1)
    plain = ca.audit_recourse(people, classify, **SETTINGS)
    settings = dict(SETTINGS)
    if change == "rows":
        people = people.sample(frac=1, random_state=0)
    elif change == "index":
        people.index = [f"person {number}" for number in range(len(people))]
    elif change == "categories":
        people = people.astype({"job": "category", "sex": "category"})
        people["hours"] = pd.Categorical(people["hours"], ["part", "full", "over", "nobody"], ordered=True)
        del settings["orders"]
    elif change == "more columns":
        people["label"], people["note"] = np.arange(len(people)), None
    else:
        settings["features"] = settings["features"][::-1]
    _same_tables(plain, ca.audit_recourse(people, classify, **settings))


def test_groups_change_places_with_the_protected_levels():
    people, classify = make_people(2)
    first = ca.audit_recourse(people, classify, **SETTINGS)
    second = ca.audit_recourse(people, classify, **SETTINGS | {"protected": {"sex": ("male", "female")}})
    assert second.groups == first.groups[::-1]
    assert (first.table["n0"] == second.table["n1"]).all()
    same = ["score", "bias_against", "rank", "interval_low", "interval_high"]
    pd.testing.assert_frame_equal(first.table[same], second.table[same])


def test_two_of_three_levels():
    people, classify = make_people(3)
    more = pd.concat([people, people.iloc[:30].assign(sex="unsaid", years=8)], ignore_index=True)
    chosen = ca.audit_recourse(more, classify, **SETTINGS | {"protected": {"sex": ("female", "male")}})
    _same_tables(ca.audit_recourse(people, classify, **SETTINGS), chosen)


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (candidates, "_ANSWERED", 1_000),
        (candidates, "_COUNTED", 300),
        (candidates, "_KEYS", 16),
        (predictions, "ROWS", 7),
        (predictions, "_LARGEST", 12),
    ],
)
def test_batches_and_long_keys_give_the_same(monkeypatch, module, name, value):
    people, classify = make_people(1)
    plain = ca.audit_recourse(people, classify, **SETTINGS)
    monkeypatch.setattr(module, name, value)
    cut = ca.audit_recourse(people, classify, **SETTINGS)
    pd.testing.assert_frame_equal(plain.table, cut.table)


def test_each_counterfactual_row_is_asked_about_once_and_batches_are_bounded(monkeypatch):
    people, classify = make_people(1)
    seen = []

    def watch(table):
        seen.append(table.copy())
        return classify(table)

    monkeypatch.setattr(predictions, "ROWS", 20)
    result = ca.audit_recourse(people, watch, **SETTINGS)
    counterfactual = pd.concat(seen[1:])
    assert len(seen[0]) == len(people)
    assert max(map(len, seen[1:])) <= 20
    assert not counterfactual.duplicated().any()
    assert len(counterfactual) == result.settings["predicted"] > 50
    assert (counterfactual.dtypes == people.dtypes).all()
    assert list(counterfactual.columns) == list(people.columns)


def test_probabilities_text_labels_and_pipelines():
    people, _ = make_people(0, n=400)
    encoder = ColumnTransformer([("levels", OneHotEncoder(), ["job", "hours", "born", "sex"])], remainder="passthrough")
    outcome = (people["years"] > 9) ^ (people["job"] == "smith")
    named = make_pipeline(encoder, LogisticRegression()).fit(people[["years", "job", "hours", "born", "sex"]], outcome)
    plain = ca.audit_recourse(people, named, **SETTINGS, favourable=True)
    by_probability = ca.audit_recourse(people, lambda table: named.predict_proba(table)[:, 1], **SETTINGS)
    _same_tables(plain, by_probability)
    by_text = ca.audit_recourse(
        people, lambda table: np.where(named.predict(table), "yes", "no"), **SETTINGS, favourable="yes"
    )
    _same_tables(plain, by_text)


def test_costs_by_functions():
    people, classify = make_people(1)
    plain = ca.audit_recourse(people, classify, **SETTINGS)
    span = people["years"].max() - people["years"].min()
    single = WEIGHTS | {"years": lambda old, new: WEIGHTS["years"] * abs(new - old) / span}
    _same_tables(plain, ca.audit_recourse(people, classify, **SETTINGS | {"weights": single}))

    def whole(before, after):
        order = SETTINGS["orders"]["hours"]
        total = 2.0 * abs(before.get("years", 0) - after.get("years", 0)) / span
        total += 3.0 * (before.get("job") != after.get("job"))
        return total + 0.5 * abs(order.index(before.get("hours", "part")) - order.index(after.get("hours", "part")))

    _same_tables(plain, ca.audit_recourse(people, classify, **SETTINGS | {"weights": whole}))


def test_budgets_are_percentiles_of_the_costs_of_half_effectiveness():
    people, classify = make_people(0)
    result = ca.audit_recourse(people, classify, **SETTINGS | {"budgets": None})
    costs = metrics.least_cost(result.candidates, 0.5, "micro")
    finite = np.sort(costs[np.isfinite(costs)])
    expected = {finite[math.ceil(share * len(finite)) - 1] for share in (0.3, 0.6, 0.9)}
    assert result.settings["budgets"] == sorted(expected)
    assert set(result.table["parameter"].dropna()) == {0.3, 0.7, *expected}
    fraction = ca.audit_recourse(people, classify, **SETTINGS | {"budgets": [2 / 8, 1 / 3, 2 / 3]})
    assert len(fraction.settings["budgets"]) == 3


def test_the_same_bits_and_global_states_left_alone():
    people, classify = make_people(0)
    np.random.seed(5)  # noqa: NPY002
    states = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist(), python_random.getstate()  # noqa: NPY002
    first = ca.audit_recourse(people, classify, **SETTINGS)
    assert states == (
        np.random.get_state()[1].tolist(),  # noqa: NPY002
        torch.get_rng_state().tolist(),
        python_random.getstate(),
    )
    pd.testing.assert_frame_equal(first.table, ca.audit_recourse(people, classify, **SETTINGS).table)


def promotion():
    """Ten people like those of figure 1: what helps women never helps men."""
    people = pd.DataFrame(
        {"sex": ["f"] * 6 + ["m"] * 6, "skill": (["low"] * 5 + ["high"]) * 2, "team": (["a"] * 5 + ["b"]) * 2}
    )

    def company(table):
        return np.where(table["sex"] == "f", table["skill"] == "high", table["team"] == "b").astype(int)

    return people, company


def test_a_comparison_in_words_as_in_the_paper():
    people, company = promotion()
    result = ca.audit_recourse(people, company, "sex", ["skill", "team"], support=0.2, weights={"team": 3})
    comparison = result.explain({"skill": "low"}, "cost_of_effectiveness", 0.7, "macro")
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
    within = result.explain({"team": "a"}, "effectiveness_within_budget", result.settings["budgets"][0])
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
    assert repr(result).startswith(f"Recourse of sex = female against male, {len(result.candidates)} subgroups")
    summary = result.summary()
    assert len(summary) == len(result.notions)
    assert (summary["against female"] + summary["against male"] == summary["unfair"]).all()
    assert (summary["certain"] <= summary["unfair"]).all()
    verdicts = result.verdicts
    assert list(verdicts.columns) == ["unit", "flagged", "probability"]
    assert verdicts["unit"].is_unique
    assert len(verdicts) == len(result.table)
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
