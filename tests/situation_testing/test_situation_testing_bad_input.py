"""What situation testing refuses, and what it says."""

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from causalaudit.errors import DataError


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "sex": np.repeat(["F", "M"], [12, 20]),
            "x": rng.random(32),
            "region": rng.choice(["north", "south"], 32),
            "hired": rng.integers(0, 2, 32),
        }
    )
    table.loc[0, "hired"], table.loc[1, "hired"] = 0, 1
    return table


@pytest.fixture
def run(people):
    def call(data=people, decision="hired", protected=None, features=("x", "region"), k=5, **options):
        protected = {"sex": "F"} if protected is None else protected
        return ca.situation_testing(data, decision, protected, features=list(features), k=k, **options)

    return call


@pytest.fixture
def as_men(people):
    return ca.CounterfactualDraws.from_frame(people[["x", "region"]].assign(x=people.x + 0.1), do={"sex": "M"})


def test_a_decision_is_favourable_for_some_and_not_for_all(people, run):
    with pytest.raises(DataError, match="Every decision is 1, the favourable value"):
        run(people.assign(hired=1))
    with pytest.raises(DataError, match="No decision is 1, the favourable value; there are 'no', 'yes'"):
        run(people.assign(hired=np.where(people.hired == 1, "yes", "no")))
    with pytest.raises(DataError, match="missing for 1 of 32"):
        run(people.assign(hired=people.hired.astype(float).where(people.index != 3)))
    with pytest.raises(DataError, match="'promoted' is not a column"):
        run(decision="promoted")
    with pytest.raises(DataError, match=r"shape \(2,\) for 32 people"):
        run(decision=lambda frame: [0, 1])


def test_probabilities_are_refused_with_the_fix(run):
    with pytest.raises(DataError, match=r"probabilities, for example .*, but labels are needed here.*> 0\.5"):
        run(decision=lambda frame: frame.x)


def test_all_labels_but_the_favourable_are_unfavourable(people, run):
    several = np.where(people.hired == 1, "yes", np.where(people.index % 2, "no", "later"))
    pd.testing.assert_frame_equal(run(people.assign(hired=several), favourable="yes").table, run().table)


def test_text_and_minus_one_are_decisions_too(people, run):
    expected = run().table
    for bad, good in (("no", "yes"), (-1.0, 1.0), (-1, 1)):
        table = run(people.assign(hired=np.where(people.hired == 1, good, bad)), favourable=good).table
        pd.testing.assert_frame_equal(table, expected)


def test_protected_levels(people, run):
    with pytest.raises(DataError, match="Nobody in data has 'sex' equal to 'female'; its levels are 'F', 'M'"):
        run(protected={"sex": "female"})
    with pytest.raises(DataError, match="equal to 'X'"):
        run(protected={"sex": ("F", "X")})
    with pytest.raises(DataError, match="one other"):
        run(protected={"sex": ("F", "F")})
    with pytest.raises(DataError, match="'gender' is not in data"):
        run(protected={"gender": "F"})
    for wrong in ("sex", {"sex": "F", "region": "north"}, {}):
        with pytest.raises(DataError, match=r"\{column: level\} or \{column: \(level, reference\)\}"):
            run(protected=wrong)
    with pytest.raises(DataError, match="missing for 1 of 32 people"):
        run(people.assign(sex=people.sex.where(people.index != 3)))


def test_groups_that_are_empty_or_too_small(people, run):
    with pytest.raises(DataError, match="Everyone in data has 'sex' equal to 'F'"):
        run(people.assign(sex="F"))
    with pytest.raises(DataError, match="k is 12, but a complainant can be compared with 11 others"):
        run(k=12)
    with pytest.raises(DataError, match="k is 21, but there are 20 people"):
        run(pd.concat([people, people.assign(sex="F")], ignore_index=True), k=21)
    with pytest.raises(DataError, match="k is 1, but a complainant can be compared with 0 others"):
        run(people.iloc[11:], k=1)


@pytest.mark.parametrize("k", [0, -3, 2.5, "5", None, True, [5, 0], [5, 2.0]])
def test_k_is_a_whole_number(run, k):
    with pytest.raises(DataError, match=r"k is .*, but must be a whole number"):
        run(k=k)


def test_k_is_not_empty(run):
    with pytest.raises(DataError, match="k is empty"):
        run(k=[])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in ("alpha", "prob") for value in (0, 1, -0.1, 1.5, "0.05", None, np.nan)),
        *(("tau", value) for value in (-1.1, 2, "0", np.nan)),
        ("direction", "both"),
        ("max_distance", 0),
        ("max_distance", -1.0),
        ("max_distance", "near"),
    ],
)
def test_numbers_out_of_range(run, name, value):
    with pytest.raises(DataError, match=f"{name} is "):
        run(**{name: value})


def test_features(people, run):
    with pytest.raises(DataError, match="features is empty"):
        run(features=[])
    with pytest.raises(DataError, match="must be a list of columns"):
        ca.situation_testing(people, "hired", {"sex": "F"}, features="x")
    with pytest.raises(DataError, match="'regio' is not in data: did you mean 'region'"):
        run(features=["regio"])
    with pytest.raises(DataError, match="given twice"):
        run(features=["x", "x"])
    with pytest.raises(DataError, match="infinite values"):
        run(people.assign(x=np.inf))


@pytest.mark.parametrize(("name", "role"), [("sex", "protected column"), ("hired", "decision")])
def test_a_feature_has_no_other_role(run, name, role):
    with pytest.raises(DataError, match=f"'{name}' is the {role}, so it cannot be a feature too"):
        run(features=["x", "region", name])


def test_missing_features(people, run, as_men):
    with pytest.raises(DataError, match="feature 'x' is missing for 1 of 32 people"):
        run(people.assign(x=people.x.where(people.index != 2)))
    lacking = ca.CounterfactualDraws.from_frame(as_men.point.assign(x=people.x.where(people.index != 2)))
    with pytest.raises(DataError, match="counterfactual feature 'x' is missing for 1 complainants"):
        run(counterfactuals=lacking)


def test_people_who_are_infinitely_far_from_all_others(run):
    with pytest.raises(DataError, match="fewer than 5 people to be compared with"):
        run(distance=lambda a, b: np.full((len(a), len(b)), np.inf))


@pytest.mark.parametrize("seed", [-1, 0.5, None, True])
def test_seeds(run, seed):
    with pytest.raises(DataError, match="seed is"):
        run(seed=seed)


def test_counterfactuals_of_other_people(people, run, as_men):
    with pytest.raises(DataError, match="lack 2 of the 12 complainants"):
        run(counterfactuals=ca.CounterfactualDraws.from_frame(as_men.point.iloc[2:]))
    with pytest.raises(DataError, match="lack 12 of the 12"):
        run(counterfactuals=ca.CounterfactualDraws.from_frame(as_men.point.iloc[15:]))
    with pytest.raises(DataError, match="lack the feature 'region'"):
        run(counterfactuals=ca.CounterfactualDraws.from_frame(as_men.point[["x"]]))
    with pytest.raises(DataError, match="number in data, but not elsewhere"):
        run(counterfactuals=ca.CounterfactualDraws.from_frame(as_men.point.assign(x="high")))
    # More people than complainants, in another order, are fine.
    shuffled = ca.CounterfactualDraws.from_frame(as_men.point.sample(frac=1, random_state=0))
    only = ca.CounterfactualDraws.from_frame(as_men.point[people.sex == "F"])
    pd.testing.assert_frame_equal(run(counterfactuals=shuffled).table, run(counterfactuals=only).table)


def test_draws_of_other_people_with_the_same_labels():
    applicants, others = ca.datasets.make_loan(100, seed=0), ca.datasets.make_loan(100, seed=1)
    others["gender"] = applicants["gender"]
    posterior = ca.fit(ca.models.loan.linear(), others, seed=0)
    worlds = ca.counterfactuals(posterior, {"gender": "male"}, draws=5)
    with pytest.raises(DataError, match="are of other people"):
        ca.situation_testing(
            applicants, "approved", {"gender": "female"}, features=["salary"], counterfactuals=worlds, k=3
        )


def test_recorded_decisions_where_counterfactual_ones_are_needed(people, run, as_men):
    with pytest.raises(DataError, match="'hired' is a recorded column, which the counterfactuals do not hold"):
        run(counterfactuals=as_men, centres=True)
    with pytest.raises(DataError, match="give counterfactuals"):
        run(centres=True)
    assert "cf_flip" not in run(counterfactuals=as_men).table
    held = ca.CounterfactualDraws.from_frame(as_men.point.assign(hired=1))
    assert "cf_flip" in run(counterfactuals=held, centres=True).table


@pytest.mark.filterwarnings("ignore:.*rest on a poor match")  # 32 people, of two regions
def test_a_rule_sees_the_level_that_was_set(people, run, as_men):
    """The table of counterfactuals lacks the protected column: the intervention says what it is."""
    result = run(decision=lambda frame: frame.sex == "M", counterfactuals=as_men, favourable=True)
    assert result.table["cf_flip"].all()


def test_probabilities_need_draws(run, as_men):
    result = run(counterfactuals=as_men)
    for ask in (result.false_discovery_rate, result.discoveries):
        with pytest.raises(DataError, match="several counterfactual draws"):
            ask()
    with pytest.raises(DataError, match="rate is 2"):
        result.discoveries(2)


def test_questions_to_a_result(run, as_men):
    result = run()
    with pytest.raises(DataError, match="31 is not a complainant"):
        result.explain(31)
    with pytest.raises(DataError, match="k is 7, but the test was made for 5"):
        result.at(7)
    with pytest.raises(DataError, match="standard situation testing"):
        ca.plots.plot_distributions(result, "x")
    with pytest.raises(DataError, match="not a number"):
        ca.plots.plot_distributions(run(counterfactuals=as_men), "region")
    with pytest.raises(DataError, match="do not hold 'hired'"):
        ca.plots.plot_distributions(run(counterfactuals=as_men), "hired")
    with pytest.raises(DataError, match="'hired' is not a feature"):
        ca.plots.plot_groups(result, [0], "hired")
    with pytest.raises(DataError, match="must be 'cases', 'delta' or 'cf_cases'"):
        ca.plots.plot_cases(result, "p")
    with pytest.raises(DataError, match="counterfactual people is not known"):
        ca.plots.plot_cases(result, "cf_cases")


def test_distances(people, run):
    with pytest.raises(DataError, match="scale is 'iqr'"):
        ca.Gower("iqr")
    with pytest.raises(DataError, match=r"categorical is the text 'x', but must be a list of names: \['x'\]"):
        ca.Gower(categorical="x")
    with pytest.raises(DataError, match="weight of 'x' is -1"):
        ca.Gower(weights={"x": -1})
    with pytest.raises(DataError, match="'age', which is not a feature"):
        run(distance=ca.Gower(weights={"age": 1.0}))
    with pytest.raises(DataError, match="weight 0"):
        run(distance=ca.Gower(weights={"x": 0.0, "region": 0.0}))
    with pytest.raises(DataError, match=r"returned shape \(1,\)"):
        run(distance=lambda a, b: [1.0])
    with pytest.raises(DataError, match="missing or negative"):
        run(distance=lambda a, b: -np.ones((len(a), len(b))))
    ordered = people.assign(region=pd.Categorical(people.region, ["north", "south"], ordered=True))
    worlds = ca.CounterfactualDraws.from_frame(people[["x"]].assign(region="west"))
    with pytest.raises(DataError, match="has a level that is not among"):
        run(ordered, counterfactuals=worlds)


def test_multidimensional(people, run):
    with pytest.raises(DataError, match="two or more situation tests"):
        ca.multiple_discrimination([run()])
    with pytest.raises(DataError, match=r"differ in alpha: 0\.05, 0\.1"):
        ca.multiple_discrimination([run(), run(alpha=0.1)])
    with pytest.raises(DataError, match="Nobody is a complainant in all tests"):
        ca.multiple_discrimination([run(), run(protected={"sex": "M"})])
    with pytest.raises(DataError, match="two or more columns"):
        ca.intersection(people, sex="F")
    with pytest.raises(DataError, match="'race' is not in data"):
        ca.intersection(people, sex="F", race="B")
    with pytest.raises(DataError, match="'sex' equal to 'X'"):
        ca.intersection(people, sex="X", region="north")
    with pytest.raises(DataError, match="'x' is missing"):
        ca.intersection(people.assign(x=np.nan), sex="F", x=1.0)
    both = ca.intersection(people, sex="F", region="north")
    assert both.index.equals(people.index)
    assert set(both) == {"F-north", "Other"}
    assert ((both == "F-north") == ((people.sex == "F") & (people.region == "north"))).all()
