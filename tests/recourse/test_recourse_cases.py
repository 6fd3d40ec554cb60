"""The small cases of the reference: costs, feasibility, flips, notions and ranks on hand-written input."""

import json

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.evidence.evaluation import SameFeatures, evaluate
from causalaudit.recourse.evidence.known_answers import KnownAnswers
from causalaudit.recourse.notions import measures
from causalaudit.recourse.notions.notion import Notion, dense_ranks
from causalaudit.recourse.question.change_rules import make_rules
from causalaudit.recourse.question.coding import code_people

IDS = (
    "min_cost_phi0.3", "min_cost_phi0.7", "choice_phi0.3", "choice_phi0.7", "max_effectiveness", "within_budget_5",
    "within_budget_13", "within_budget_20", "within_budget_33", "within_budget_40", "within_budget_53",
    "within_budget_60", "within_budget_73", "within_budget_80", "conditional_mean_recourse",
    "conditional_mean_recourse_none", "incorrect_recourses", "cost_of_effectiveness_two_groups_a",
    "cost_of_effectiveness_two_groups_b", "rank_cost_of_effectiveness_phi.5",
    "rank_cost_of_effectiveness_phi.6_nan_is_last", "rank_cost_of_effectiveness_phi.6_ignore_infs", "rank_micro_phi.5",
    "rank_micro_phi.73", "ks_scaled", "ks_scaled_2", "choice_phi.6_two_subgroups", "effectiveness_two_subgroups",
    "end_to_end_rules", "end_to_end_scan", "cumulative_micro", "cost_functions", "cost_sum", "feasibility",
)  # fmt: skip


@pytest.fixture(scope="module")
def cases(reference_folder):
    listed = json.loads((reference_folder / "recourse" / "metric_cases.json").read_text())["cases"]
    return {case["id"]: case for case in listed}


def test_every_case_is_tested(cases):
    assert tuple(cases) == IDS


def _candidates(subgroups, sizes=None):
    """Make candidates of effectivenesses: [(actions of group 0, actions of group 1), ...], each by rising cost."""
    sizes = np.full((2, len(subgroups)), 100.0) if sizes is None else sizes
    costs = [[action["cost"] for action in sides[0]] for sides in subgroups]
    start = np.cumsum([0, *map(len, costs)])
    share = np.array([[action["effectiveness"] for sides in subgroups for action in sides[side]] for side in (0, 1)])
    counts = share * np.repeat(sizes, np.diff(start), axis=1)
    counts = counts.round().astype(int) if np.allclose(counts, counts.round()) else counts
    nothing = np.zeros((len(subgroups), 1), dtype=int)
    return Candidates(nothing, sizes, start, nothing, np.concatenate(costs).astype(float), counts, counts)


def _sides(groups):
    return groups["Male"]["actions"], groups["Female"]["actions"]


def _one(case):
    return _candidates([(case["input"]["actions"], case["input"]["actions"])])


@pytest.mark.parametrize("name", IDS[:2])
def test_cost_of_effectiveness(cases, name):
    candidates, phi = _one(cases[name]), cases[name]["input"]["phi"]
    assert (measures.cost_of_effectiveness(candidates, phi, "macro") == float(cases[name]["expected"])).all()


@pytest.mark.parametrize("name", IDS[2:4])
def test_choice(cases, name):
    assert (measures.choices(_one(cases[name]), cases[name]["input"]["phi"]) == cases[name]["expected"]).all()


@pytest.mark.parametrize("name", IDS[4:14])
def test_effectiveness(cases, name):
    expected, budget = cases[name]["expected"], cases[name]["input"].get("budget", np.inf)
    expected = 0 if isinstance(expected, str) else expected  # no action in budget: the paper's definition
    assert (measures.within_budget(_one(cases[name]), budget, "macro") == expected).all()


@pytest.mark.parametrize("name", IDS[14:16])
def test_conditional_mean_recourse(cases, name):
    given = cases[name]["input"]
    rows = zip(given["cumulative_effectiveness"], given["cost"], strict=True)
    actions = [{"effectiveness": share, "cost": cost} for share, cost in rows]
    assert measures.conditional_mean(_candidates([(actions, actions)])) == pytest.approx(float(cases[name]["expected"]))


@pytest.mark.parametrize("name", IDS[17:19])
def test_two_groups(cases, name):
    notion = Notion("cost_of_effectiveness", cases[name]["input"]["phi"], "macro")
    values = notion.values(_candidates([_sides(cases[name]["input"]["groups"])]))
    expected = cases[name]["expected"]
    assert values.ravel().tolist() == [expected["Male"], expected["Female"]]
    worse = notion.disadvantage(values)[0]
    assert abs(worse) == expected["score"]
    assert {0: None, -1: "Female", 1: "Male"}[int(np.sign(worse))] == expected["against"]


def _scores(case, metric, viewpoint, phi=float("nan")):
    groups = case["input"].get("subgroups", case["input"].get("subgroups_cumulative"))
    notion = Notion(metric, phi, viewpoint)
    values = notion.values(_candidates([_sides(group) for group in groups.values()]))
    return list(groups), values, notion.disadvantage(values)


@pytest.mark.parametrize("name", [IDS[19], IDS[20], IDS[22], IDS[23]])
def test_ranks(cases, name):
    case = cases[name]
    viewpoint = "micro" if "micro" in name else "macro"
    names, _, worse = _scores(case, "cost_of_effectiveness", viewpoint, case["input"]["phi"])
    scores, expected = np.abs(worse), case["expected"]
    for subgroup, score in zip(names, scores, strict=True):
        theirs = expected["scores"][subgroup]
        # Infinity less infinity is fair, where the other implementation has no number.
        assert score == (0.0 if "inf-inf" in str(theirs) else float(theirs))
    ranks = dense_ranks(scores)
    assert names[int(np.argmin(ranks))] == expected.get("first", expected.get("order", [None])[0])
    if "order" in expected:
        assert (np.diff([ranks[names.index(subgroup)] for subgroup in expected["order"]]) >= 0).all()
    for subgroup, level in expected.get("against", {}).items():
        side = {0: None, -1: "Female", 1: "Male"}[int(np.sign(worse[names.index(subgroup)]))]
        assert side == level


def test_ranks_without_infinite_sides(cases):
    case = cases["rank_cost_of_effectiveness_phi.6_ignore_infs"]
    names, values, worse = _scores(case, "cost_of_effectiveness", "macro", case["input"]["phi"])
    finite = np.isfinite(values).all(axis=0)
    ranks = dense_ranks(np.where(finite, np.abs(worse), -1.0))
    assert names[int(np.argmin(ranks))] == case["expected"]["first"]
    left = [ranks[names.index(subgroup)] for subgroup in case["expected"]["tie_after"]]
    assert left == [2, 2]


@pytest.mark.parametrize("name", ["ks_scaled", "ks_scaled_2"])
def test_trade_off(cases, name):
    case = cases[name]
    groups, affected = case["input"]["subgroups_cumulative"], case["input"]["affected_sizes"]
    _, _, worse = _scores(case, "effectiveness_cost_tradeoff", "micro")
    expected = case["expected"]
    scaled = next(value for key, value in expected.items() if key.startswith("aif360_score"))
    for score, (subgroup, group) in zip(np.abs(worse), groups.items(), strict=True):
        if "ks" in expected:
            assert score == pytest.approx(expected["ks"][subgroup], abs=1e-12)
        sizes = [group[level]["coverage"] * affected[level] for level in ("Male", "Female")]
        assert score * np.sqrt(np.prod(sizes) / np.sum(sizes)) == pytest.approx(scaled[subgroup], abs=1e-12)


def test_choices_of_two_subgroups(cases):
    case = cases["choice_phi.6_two_subgroups"]
    names, values, worse = _scores(case, "equal_choice", "macro", case["input"]["phi"])
    for place, name in enumerate(names):
        counts = case["expected"]["counts"][name]
        assert values[:, place].tolist() == [counts["Male"], counts["Female"]]
    assert [name for name, score in zip(names, worse, strict=True) if score] == case["expected"]["unfair"]


def test_effectiveness_of_two_subgroups(cases):
    case = cases["effectiveness_two_subgroups"]
    names, values, worse = _scores(case, "equal_effectiveness", "macro")
    for place, name in enumerate(names):
        expected = case["expected"]["values"][name]
        assert values[:, place].tolist() == [expected["Male"], expected["Female"]]
    assert [name for name, score in zip(names, worse, strict=True) if score] == case["expected"]["unfair"]


def _people(rows):
    return pd.DataFrame(rows["data"], columns=rows["columns"])


def _ten(old, new):
    return 10 * abs(old - new)


def _audit(case, predict):
    people = _people(case["input"]["rows"])
    weights = dict.fromkeys("abcd", _ten)
    return ca.audit_recourse(
        people,
        predict,
        "sex",
        [*"abcd", "age"],
        actions=ca.Actions(weights=weights),
        support=0.5,
        phi=[0.5],
        budgets=[],
    )


def test_end_to_end_rules(cases):
    case = cases["end_to_end_rules"]
    result = _audit(case, lambda people: ((people["a"] > 20) | (people["c"] < 15)).astype(int))
    found = result.table["subgroup"].iloc[: len(result.candidates)].tolist()
    assert found == [subgroup["if"] for subgroup in case["expected"]["subgroups"]]
    for expected in case["expected"]["subgroups"]:
        comparison = result.explain(expected["if"])
        assert dict(zip(comparison.groups, comparison.coverage, strict=True)) == pytest.approx(expected["coverage"])
        rows = comparison.actions.to_dict("records")
        assert [row["action"] for row in rows] == [action["then"] for action in expected["actions"]]
        assert [row["cost"] for row in rows] == [action["cost"] for action in expected["actions"]]
        shares = [(row["effectiveness0"], row["effectiveness1"]) for row in rows]
        assert shares == [
            tuple(action["effectiveness"][level] for level in result.groups) for action in expected["actions"]
        ]


def test_end_to_end_scan(cases):
    def predict(people):
        low = (people["sex"] == "Female") & (people["d"] < 15)
        return np.where(low, people["c"] < 5, (people["a"] > 20) | (people["c"] < 15)).astype(int)

    case = cases["end_to_end_scan"]
    result = _audit(case, predict)
    rows = result.rows(result.notion("cost_of_effectiveness", 0.5, "macro"))
    for expected in case["expected"]["scores"]:
        row = rows.iloc[result.place(expected["if"])]
        assert row["score"] == float(expected["score"])
        assert row["bias_against"] == expected.get("against") or row["bias_against"] is expected.get("against") is None
    for expected in case["expected"]["effectiveness"]:
        actions = result.actions(expected["if"])
        (row,) = [row for row in actions.to_dict("records") if row["action"] == expected["then"]]
        assert row["cost"] == expected["cost"]
        assert [row["effectiveness0"], row["effectiveness1"]] == [expected[level] for level in result.groups]


def _apply(people, predict, extra, features, subgroup_and_actions, weights):
    """Apply given actions, whose values `extra` people bring along, to a given subgroup."""
    everyone = pd.concat([people, extra], ignore_index=True)
    coded = code_people(everyone, "sex", features)
    rules = make_rules(coded, everyone, ca.Actions(weights=weights))
    answers = KnownAnswers.of(coded, predict, 1)
    affected = ~answers.factual()
    subgroup, actions = subgroup_and_actions
    places = np.array([features.index(name) for name in subgroup])
    code = {name: {v: c for c, v in enumerate(coded.vocabulary.levels[at])} for at, name in enumerate(features)}
    before = np.array([[code[name][value] for name, value in subgroup.items()]])
    after = np.array([[code[name][action[name]] for name in subgroup] for action in actions])
    block = SameFeatures(places, before, np.zeros(len(actions), dtype=int), after)
    return coded, evaluate(coded, affected, [block], rules, answers)


def test_cumulative_micro(cases):
    def predict(people):
        first = (people["b"] < 10) & (people["a"] > 20)
        return (first | (people["b"] < 20) & (people["a"] > 23) | (people["c"] < 15)).astype(int)

    case = cases["cumulative_micro"]
    people = _people(case["input"]["rows"])
    extra = people.iloc[[2, 2]].assign(a=[24, 25], c=[7, 14])
    weights = {
        name: lambda old, new, weight=weight: weight * abs(old - new)
        for name, weight in case["input"]["weights"].items()
    }
    for given, expected in zip(case["input"]["candidates"], case["expected"]["micro_ecd"], strict=True):
        coded, found = _apply(people, predict, extra, [*"abcd", "age"], (given["if"], given["then"]), weights)
        assert found.costs.tolist() == expected["cost"]
        curves = measures.distribution(found, "micro")
        for side, level in enumerate(coded.vocabulary.groups):
            assert curves[side].tolist() == expected[level]


def test_incorrect_recourses(cases):
    def predict(people):
        return ((people["a"] <= 0) & (people["c"] < 15)).astype(int)

    case = cases["incorrect_recourses"]
    once = _people(case["input"]["rows"])
    people = pd.concat([once.assign(sex=level) for level in ("f", "m")])
    extra = once.iloc[[0]].assign(a=-10, sex="f")
    _, found = _apply(people, predict, extra, [*"abcd"], (case["input"]["if"], [case["input"]["then"]]), None)
    expected = case["expected"]
    assert found.sizes.ravel().tolist() == [expected["covered"]] * 2
    assert (found.sizes - found.flipped).ravel().tolist() == [expected["not_flipped"]] * 2
    assert measures.effectiveness(found, "macro").ravel().tolist() == [expected["effectiveness"]] * 2


def _rules(values, **more):
    data = pd.DataFrame({"sex": ["f", "m"] * len(values), "x": np.repeat(values, 2)})
    return make_rules(code_people(data, "sex", ["x"]), data, ca.Actions(**more))


def _cost(rules, old, new):
    return float(rules.cost(np.array([0]), np.array([[old]]), np.array([[new]]))[0])


def test_cost_functions(cases):
    given, expected = cases["cost_functions"]["input"], cases["cost_functions"]["expected"]
    for key, weight in (("numeric_weighted_10", 10), ("numeric_weight_1", 1)):
        for (old, new), cost in zip(given[key], expected[key], strict=True):
            # By the range, which is the difference here: the weight; in units of the feature: what the case says.
            assert _cost(_rules([old, new], numeric=["x"], weights={"x": weight}), 0, 1) == weight
            assert _cost(_rules([old, new], numeric=["x"], weights={"x": weight * abs(old - new)}), 0, 1) == cost
    assert _cost(_rules([1, 5]), 0, 1) == expected["categorical_w1"]
    assert _cost(_rules([1, 5], weights={"x": 3}), 0, 1) == expected["categorical_w3"]
    for weight in (11, 13):
        positions = given[f"ordinal_w{weight}_positions"]
        assert (
            _cost(_rules(range(6), ordinal=["x"], weights={"x": weight}), *positions) == expected[f"ordinal_w{weight}"]
        )
    assert _cost(_rules([0, 5, 20], numeric=["x"]), 0, 1) == 0.25


def test_cost_sum(cases):
    case = cases["cost_sum"]
    old, new = pd.DataFrame([case["input"]["if"]]), pd.DataFrame([case["input"]["then"]])
    data = pd.concat([old, new], ignore_index=True).assign(sex=["f", "m"])
    weights = {
        name: lambda a, b, weight=weight: weight * abs(a - b) for name, weight in case["input"]["weights"].items()
    }
    people = code_people(data, "sex", [*"abc"])
    rules = make_rules(people, data, ca.Actions(weights=weights))
    assert rules.cost(np.arange(3), people.codes[:1], people.codes[1:]).tolist() == [case["expected"]]


def test_feasibility(cases):
    given = cases["feasibility"]["input"]
    features = [*given["non_decreasing"], *given["frozen"], "other"]
    data = pd.DataFrame({name: [0, 1, 2] for name in given["non_decreasing"]})
    data = data.assign(sex=["f", "m", "f"], other=["a", "b", given["forbidden_target"]], group=["x", "y", "x"])
    people = code_people(data, "group", features)
    actions = ca.Actions(
        increasing=given["non_decreasing"], immutable=given["frozen"], never=[given["forbidden_target"]]
    )
    rules = make_rules(people, data, actions)
    for place, name in enumerate(features):
        codes = np.arange(len(people.vocabulary.levels[place]))[:, None]
        valid = rules.feasible(np.array([place]), codes, codes)
        assert not valid.diagonal().any()  # it must change something
        if name in given["non_decreasing"]:
            assert (valid == (codes < codes.T)).all()
        elif name in given["frozen"]:
            assert not valid.any()
        else:
            unknown = people.vocabulary.levels[place].index(given["forbidden_target"])
            assert not valid[:, unknown].any()
            assert valid.sum() == 4
