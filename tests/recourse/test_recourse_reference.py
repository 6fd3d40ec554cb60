"""Audits of recourse against the frozen reference: mining, actions, costs, flips, and all notions."""

import numpy as np
import pytest
from recourse_reference import NAMES, arguments, audited, reference, table

import causalaudit as ca
from causalaudit.recourse.evidence.itemsets import frequent_itemsets
from causalaudit.recourse.question.coding import code_people

# Names of metrics in the reference, in their order of choice between notions.
_METRICS = {
    "equal_effectiveness_within_budget": "effectiveness_within_budget",
    "equal_effectiveness": "equal_effectiveness",
    "equal_choice": "equal_choice",
    "equal_cost_of_effectiveness": "cost_of_effectiveness",
    "fair_tradeoff_ks": "effectiveness_cost_tradeoff",
    "conditional_mean_recourse": "conditional_mean_recourse",
    "mean_recourse_cinf30": "mean_recourse",
}
_BOTH = ("equal_effectiveness", "effectiveness_within_budget", "cost_of_effectiveness", "effectiveness_cost_tradeoff")


def _notion(result, name):
    """Return our notion for a metric of the reference, such as equal_cost_of_effectiveness_0.3_macro."""
    start = next(known for known in _METRICS if name.startswith(known))
    rest = name.removeprefix(start).strip("_").split("_")
    viewpoint = next((part for part in rest if part in ("micro", "macro")), None)
    parameter = next((float(part) for part in rest if part and part[0].isdigit()), None)
    return result.notion(_METRICS[start], parameter, viewpoint)


def _same(ours, theirs):
    return ours == theirs or abs(ours - theirs) < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_mining_gives_the_counts_of_the_reference(reference_folder, name):
    result, meta = audited(reference_folder, name), reference(reference_folder)[name]["meta"]
    counts = meta.get("counts", meta)
    assert dict(zip(result.groups, result.affected, strict=True)) == meta["affected"]
    assert result.settings["mined"] == counts["subgroups_intersection"]
    assert result.settings["searched"] == len(result.candidates) == counts["subgroups_with_a_valid_action"]
    assert len(result.candidates.costs) == counts["valid_pairs"]
    if "unaffected" not in meta:
        return
    given = arguments(reference_folder, name)
    people = code_people(given["data"], given["protected"], given["features"], given["actions"].orders)
    good = table(reference_folder, name)["pred"].to_numpy() == 1
    assert good.sum() == meta["unaffected"]
    alone = {
        level: len(frequent_itemsets([people.codes[~good & (people.group == side)]], meta["min_support"]))
        for side, level in enumerate(result.groups)
    }
    assert alone == counts["frequent_itemsets_per_group"]
    actions = frequent_itemsets([people.codes[good]], meta["min_support"])
    assert len(actions) == counts["frequent_itemsets_unaffected_without_protected"]


@pytest.mark.parametrize("name", NAMES)
def test_actions_costs_and_flips_are_those_of_the_reference(reference_folder, name):
    result = audited(reference_folder, name)
    for theirs in reference(reference_folder)[name]["subgroups"]:
        actions = result.actions(theirs["if"])
        ours = {tuple(sorted((theirs["if"] | row["action"]).items())): row for _, row in actions.iterrows()}
        assert set(ours) == {tuple(sorted(action["then"].items())) for action in theirs["actions"]}
        place = result.place(theirs["if"])
        for side, level in enumerate(result.groups):
            assert result.candidates.sizes[side, place] == theirs["n"][level]
            reached = result.candidates.reached[side, result.candidates.pairs(place)][-1]
            assert reached == theirs["recoursable"][level]
            for action in theirs["actions"]:
                row = ours[tuple(sorted(action["then"].items()))]
                assert _same(row["cost"], action["cost"])
                assert row[f"flipped{side}"] == action["flipped"][level]
                if "effectiveness" in action:
                    assert _same(row[f"effectiveness{side}"], action["effectiveness"][level])


@pytest.mark.parametrize("name", NAMES)
def test_all_notions_are_those_of_the_reference(reference_folder, name):
    result = audited(reference_folder, name)
    checked = 0
    for theirs in reference(reference_folder)[name]["subgroups"]:
        place = result.place(theirs["if"])
        for metric, expected in theirs["metrics"].items():
            notion = _notion(result, metric)
            row = result.notions.index(notion) * len(result.candidates) + place
            ours = result.table.loc[row]
            assert (ours["subgroup"], ours["metric"]) == (theirs["if"], notion.metric)
            assert ours["bias_against"] == expected["against"] or (ours["bias_against"] is expected["against"] is None)
            assert _same(ours["score"], float(expected["score"]))
            for side, level in enumerate(result.groups):
                if "values" in expected:
                    assert _same(result.values.loc[row, f"value{side}"], float(expected["values"][level]))
            checked += 1
    assert checked >= 16 * 60


def test_micro_and_macro_differ_where_the_reference_differs(reference_folder):
    counts = {}
    for name in NAMES:
        result = audited(reference_folder, name)
        both = [notion for notion in result.notions if notion.metric in _BOTH and notion.viewpoint == "micro"]
        differs = np.zeros(len(result.candidates), dtype=bool)
        for notion in both:
            parameter = None if np.isnan(notion.parameter) else notion.parameter
            macro = result.rows(result.notion(notion.metric, parameter, "macro"))["score"].to_numpy()
            micro = result.rows(notion)["score"].to_numpy()
            differs |= ~np.isclose(micro, macro, rtol=0, atol=1e-9)
        counts[name] = int(differs.sum())
        for theirs in reference(reference_folder)[name]["subgroups"]:
            metrics = theirs["metrics"]
            pairs = [(metric, metric.replace("micro", "macro")) for metric in metrics if metric.endswith("micro")]
            apart = [
                float(metrics[micro]["score"]) != pytest.approx(float(metrics[macro]["score"]))
                for micro, macro in pairs
            ]
            assert differs[result.place(theirs["if"])] == any(apart)
    expected = reference(reference_folder)["compas_rule"]["meta"]["micro_differs_from_macro"]
    assert counts == {"adult": 0, "compas": 0, "compas_rule": expected}


def test_budgets_of_the_paper(reference_folder):
    settings = arguments(reference_folder, "compas") | {"budgets": None}
    assert ca.audit_recourse(**settings).settings["budgets"] == [1.0, 10.0]


def test_the_trade_off_scaled_by_group_sizes(reference_folder):
    result = audited(reference_folder, "compas_rule")
    rows = result.rows(result.notion("effectiveness_cost_tradeoff", None, "micro"))
    for theirs in reference(reference_folder)["compas_rule"]["subgroups"]:
        row = rows.iloc[result.place(theirs["if"])]
        scaled = row["score"] * np.sqrt(row["n0"] * row["n1"] / (row["n0"] + row["n1"]))
        assert _same(scaled, theirs["metrics"]["fair_tradeoff_ks_micro"]["scaled_sqrt"])


@pytest.mark.parametrize(("name", "printed", "predicted"), [("adult", 10_205, 10_814), ("compas", 745, 699)])
def test_the_affected_of_the_paper_have_the_bad_label_not_the_bad_prediction(
    reference_folder, name, printed, predicted
):
    """What appendix D calls the number of affected individuals, against its definition in section 2.1."""
    people = table(reference_folder, name)
    assert (people["label"] == 0).sum() == printed
    assert (people["pred"] == 0).sum() == predicted
