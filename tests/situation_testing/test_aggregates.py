"""The aggregate tables of the papers against plain loops over what `explain` shows."""

import numpy as np
import pandas as pd
import pytest
from situations import bank

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.situation_testing import average_shares, count_two_sided, describe_groups

ASKED = {"features": ["salary", "balance"], "progress": False}


@pytest.fixture(scope="module")
def with_centres(applicants, worlds):
    return ca.situation_testing(
        applicants, bank, {"gender": "female"}, counterfactuals=worlds, k=5, centres=True, **ASKED
    )


def looped(result, who, first):
    """Averages over complainants, row by row: `first` is 1 without the centre, 0 with it."""
    sides = {}
    for side in ("control", "test"):
        rows = []
        for person in who:
            group = result.explain(person)[side].iloc[first:]
            rejected = (group["decision"] == 0).sum()
            row = {"rejected": rejected, "share_rejected": rejected / len(group)}
            for name in ("salary", "balance"):
                row |= {f"mean {name}": group[name].mean(), f"std {name}": group[name].std()}
            rows.append(row)
        sides[side] = pd.DataFrame(rows).mean()
    return pd.DataFrame(sides)


def test_groups_are_described_as_a_loop_does(result, with_centres):
    cases = result.at().index[result.at().beyond_tau]
    pd.testing.assert_frame_equal(describe_groups(result), looped(result, cases, 1))
    some = with_centres.at().index[::7]
    pd.testing.assert_frame_equal(describe_groups(with_centres, some), looped(with_centres, some, 0))


def test_levels_have_shares_and_small_groups_are_what_they_are():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": ["F", "M"] * 60, "x": rng.random(120), "region": rng.choice(["n", "s"], 120)})
    people["y"] = rng.integers(0, 2, 120)
    result = ca.situation_testing(people, "y", {"sex": "F"}, features=["x", "region"], k=4, max_distance=0.05)
    who = result.at().index[(result.counts.n_control > 1) & (result.counts.n_test > 1)]
    found = describe_groups(result, who)
    groups = [result.explain(person)["control"].iloc[1:].dropna() for person in who]
    share = np.mean([(group.region == "n").mean() for group in groups])
    assert found.loc["share region = n", "control"] == pytest.approx(share)
    assert found.loc["std x", "control"] == pytest.approx(np.mean([group.x.std() for group in groups]))
    assert found.loc[["share region = n", "share region = s"], "test"].sum() == pytest.approx(1)


def test_shares_of_several_tests(result, with_centres):
    sets = {"cases": result.at().index[result.at().beyond_tau], "first": result.at().index[:3]}
    found = average_shares({"without": result, "with": with_centres}, sets)
    assert found["", "complainants"].tolist() == [len(sets["cases"]), 3]
    for name, who in sets.items():
        assert found.loc[name, ("with", "p_test")] == with_centres.at().loc[who, "p_test"].mean()
        assert found.loc[name, ("without", "p_control")] == result.at().loc[who, "p_control"].mean()


def test_two_sided_counts(result, with_centres, applicants):
    """Equation 11, by hand: the bound of equation 10 with the quantile of alpha / 2, on either side."""
    found = count_two_sided(with_centres).loc[5]
    table, own = with_centres.at(), applicants.loc[with_centres.at().index, "approved"] == 0
    width = 1.959964 * np.sqrt((table.p_control * (1 - table.p_control) + table.p_test * (1 - table.p_test)) / 6)
    above, below = table.delta - width > 0, table.delta + width < 0
    changed = own != with_centres.evidence.counterfactual.rejected
    assert found.tolist() == [len(table), *(int(one.sum()) for one in (above, below, changed, above & changed,
                                                                       below & changed))]  # fmt: skip
    assert (count_two_sided(result)["above"] <= result.summary()["significant_cases"]).all()
    rejected_men = applicants.assign(coin=(applicants.gender == "female").astype(int))
    plain = ca.situation_testing(rejected_men, "coin", {"gender": "female"}, k=5, **ASKED)
    women = len(plain.at())
    assert count_two_sided(plain).loc[5].to_dict() == {"complainants": women, "above": 0, "below": women}


def test_bad_questions_about_groups(result):
    with pytest.raises(DataError, match="-1 is not a complainant of the test of gender = female against male"):
        describe_groups(result, [-1])
    with pytest.raises(DataError, match="nobody to average over"):
        describe_groups(result, [])
    with pytest.raises(DataError, match=r"results is .*, but must be a mapping to a SituationTestingResult"):
        average_shares(result, {"all": result.at().index})
