"""Audits of recourse against the definitions of the paper, computed plainly."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from recourse_people import ACTIONS, SETTINGS, WEIGHTS, make_people

import causalaudit as ca
from causalaudit.recourse.notions import measures

COLUMNS = ["subgroup", "metric", "parameter", "viewpoint", "score", "bias_against", "rank", "simultaneous_low"]
COLUMNS += ["simultaneous_high", "credible_low", "credible_high", "n0", "n1"]


def plain_audit(people, classify, support=0.1, phis=(0.3, 0.7), budgets=(1, 3.5), worst=20):
    """Follow the definitions of section 2 word by word, for the settings above; return notion → subgroup → values."""
    features, order = SETTINGS["features"], ACTIONS["orders"]["hours"]
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
    assert not table.drop(columns=["parameter", "bias_against", "credible_low", "credible_high"]).isna().any(axis=None)
    assert table[["credible_low", "credible_high"]].isna().all(axis=None)
    assert (table["bias_against"].isna() == (table["score"] == 0)).all()
    for _, part in table.groupby(["metric", "parameter", "viewpoint"], dropna=False):
        ranks = part.sort_values("score", ascending=False)["rank"].tolist()
        assert ranks == sorted(ranks)
        assert set(ranks) == set(range(1, max(ranks) + 1))
    inside = (table["simultaneous_low"] - 1e-9 <= table["score"]) & (
        table["score"] <= table["simultaneous_high"] + 1e-9
    )
    assert inside.all()
    without = ca.audit_recourse(people, classify, **SETTINGS | {"no_recourse_cost": None})
    assert "mean_recourse" not in set(without.table["metric"])
    assert result.settings["searched"] == len(result.candidates) <= result.settings["mined"]


def test_budgets_are_percentiles_of_the_costs_of_half_effectiveness():
    people, classify = make_people(0)
    result = ca.audit_recourse(people, classify, **SETTINGS | {"budgets": None})
    costs = measures.least_cost(result.candidates, 0.5, "micro")
    finite = np.sort(costs[np.isfinite(costs)])
    expected = {finite[math.ceil(share * len(finite)) - 1] for share in (0.3, 0.6, 0.9)}
    assert result.settings["budgets"] == sorted(expected)
    assert set(result.table["parameter"].dropna()) == {0.3, 0.7, *expected}
    fraction = ca.audit_recourse(people, classify, **SETTINGS | {"budgets": [2 / 8, 1 / 3, 2 / 3]})
    assert len(fraction.settings["budgets"]) == 3
