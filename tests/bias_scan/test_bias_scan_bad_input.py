"""What the bias scan refuses or warns of, and what it says."""

import warnings

import numpy as np
import pandas as pd
import pytest
from bias_scan_people import biased, fair
from sklearn.linear_model import LogisticRegression

import causalaudit as ca
from causalaudit.bias_scan import bonferroni
from causalaudit.errors import CausalAuditWarning, DataError


@pytest.fixture
def people():
    return biased(400, seed=0)


@pytest.fixture
def run(people):
    def call(data=people, protected=None, outcome="y", features=("x1", "x2"), **options):
        if not {"prediction", "recommendation"} & set(options):
            options["recommendation"] = "flagged"
        return ca.scan_bias(data, protected or {"group": "b"}, outcome, features=list(features), **options)

    return call


def warned(run, *arguments, **options):
    """All warnings of a scan, one after the other."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run(*arguments, **options)
    assert all(issubclass(one.category, CausalAuditWarning) for one in said)
    return " ".join(str(one.message) for one in said)


def test_everybody_or_nobody_is_protected(people, run):
    with pytest.raises(DataError, match="Nobody in data has 'group' equal to 'green'; its levels are 'b', 'w'"):
        run(protected={"group": "green"})
    with pytest.raises(DataError, match="Everyone in data has 'group' equal to 'b': there is nobody to compare"):
        run(people.assign(group="b"))
    for wrong in ("group", {"group": "b", "x1": "a"}, {}):
        with pytest.raises(DataError, match=r"\{column: level\} or \{column: \(level, reference\)\}"):
            ca.scan_bias(people, wrong, "y", recommendation="flagged")
    with pytest.raises(DataError, match="protected column 'grou' is not in data: did you mean 'group'"):
        run(protected={"grou": "b"})


def test_probabilities_outside_their_range(people, run):
    for value in (-0.1, 1.2):
        bad = people.assign(p=people.p.where(people.index != 3, value))
        with pytest.raises(
            DataError, match=rf"'p' must be a probability, but 1 of 400 values are outside \[0, 1\].*{value}"
        ):
            run(bad, prediction="p")
    with pytest.raises(DataError, match="must be a probability, but holds 'high'"):
        run(people.assign(p="high"), prediction="p")
    with pytest.warns(CausalAuditWarning, match="2 of 400 predictions are 0 or 1, whose log-odds are infinite"):
        run(people.assign(p=people.p.where(people.index > 1, 1.0)), prediction="p", scale="paper")
    run(people.assign(p=people.p.where(people.index > 1, 1.0)), prediction="p")  # means need no log-odds


def test_recommendations_and_outcomes_are_binary(people, run):
    with pytest.raises(DataError, match=r"recommendation 'p' must be 0 or 1, but has \d+ values: .*, …\. Recode it"):
        run(recommendation="p")
    with pytest.raises(DataError, match="recommendation 'flagged' must be 0 or 1, but has 2 values: "):
        run(people.assign(flagged=np.where(people.flagged == 1, "yes", "no")))
    with pytest.raises(DataError, match="outcome 'y' must be 0 or 1, but has 3 values"):
        run(people.assign(y=np.arange(400) % 3))


def test_missing_values_are_counted(people, run):
    for column, role in (
        ("y", "outcome"),
        ("flagged", "recommendation"),
        ("x1", "feature"),
        ("group", "protected column"),
    ):
        holes = people.assign(**{column: people[column].astype(object).where(people.index > 2, None)})
        with pytest.raises(DataError, match=f"The {role} {column!r} is missing for 3 of 400 people"):
            run(holes)


def test_a_filter_that_leaves_no_one(people, run):
    nobody = people.assign(y=people.y.where(people.group != "b", 1))
    with pytest.raises(
        DataError, match=r"Of the \d+ protected people nobody has 'y' equal to 0: the filter leaves no one"
    ):
        run(nobody, given=0)
    nobody = people.assign(flagged=people.flagged.where(people.group == "b", 0))
    with pytest.raises(DataError, match=r"Of the \d+ other people nobody has 'flagged' equal to 1"):
        run(nobody, given=1, criterion="sufficiency")
    with pytest.raises(DataError, match="given is 2, but must be 0, 1 or None"):
        run(given=2)


def test_a_feature_with_hundreds_of_values(people, run):
    many = people.assign(zip=[f"z{number % 150}" for number in range(400)])
    said = warned(run, many, features=["x1", "zip"], iterations=3)
    assert "'zip' has 150 values: each step of the search scores some 450 sets" in said


def test_separation_is_regularised_and_said(people, run):
    never = people.assign(flagged=people.flagged.where(people.group == "b", 0))
    with pytest.warns(CausalAuditWarning, match=r"Separation: the outcome model .* only one kind of event"):
        result = run(never)
    assert np.isfinite(result.score)
    at_one_value = people.assign(flagged=people.flagged.where((people.group == "b") | (people.x1 == "b"), 0))
    with pytest.warns(
        CausalAuditWarning, match=r"Separation: .* never, or always, have the event at x1 = a, where \d+%"
    ):
        result = run(at_one_value)
    assert np.isfinite(result.score)
    free = LogisticRegression(C=np.inf, max_iter=10_000, tol=1e-12)
    with pytest.warns(CausalAuditWarning, match="Separation: the outcome model gave probabilities of 0 or 1"):
        result = run(at_one_value, expectation=free, propensity=free)
    assert np.isfinite(result.score)


def test_thin_overlap_and_poor_calibration(run):
    rng = np.random.default_rng(0)
    people = fair(3000, seed=0)
    assert warned(run, people) == ""
    people["x3"] = np.where((people.group == "b") == (rng.random(3000) < 0.995), "u", "v")
    said = warned(run, people, features=["x1", "x2", "x3"])
    assert "The overlap is thin: weighted to look like the protected people" in said
    crossed = people.assign(flagged=((people.x1 == "a") ^ (people.x2 == "a")).astype(int))
    crossed.loc[rng.choice(3000, 300, replace=False), "flagged"] ^= 1
    assert "The outcome model is poorly calibrated: where it says" in warned(run, crossed, scale="paper")
    assert warned(run, crossed) == ""  # the default models see that the features interact


def test_criteria(people, run):
    with pytest.raises(DataError, match="exactly one of the columns"):
        run(prediction="p", recommendation="flagged")
    with pytest.raises(DataError, match="exactly one of the columns"):
        ca.scan_bias(people, {"group": "b"}, "y")
    with pytest.raises(DataError, match="There is no criterion 'false positives': did you mean 'false positive rate'"):
        run(criterion="false positives")
    with pytest.raises(DataError, match="is about a prediction: give the column prediction="):
        run(criterion="calibration")
    with pytest.raises(DataError, match="given is 1, but 'false positive rate' is about 0"):
        run(criterion="false positive rate", given=1)
    with pytest.raises(DataError, match="a probability that nobody can be filtered on"):
        run(prediction="p", criterion="sufficiency", given=1)
    with pytest.raises(DataError, match="criterion is 3, but must be text"):
        run(criterion=3)
    with pytest.raises(DataError, match="direction is 'up'"):
        run(direction="up")


def test_features_and_bins(people, run):
    with pytest.raises(DataError, match="'group' is the protected column, so it cannot be a feature"):
        run(features=["x1", "group"])
    with pytest.raises(DataError, match="'y' is the outcome"):
        run(features=["y"])
    with pytest.raises(DataError, match="features is empty"):
        run(features=[])
    with pytest.raises(DataError, match="There are no features to scan: 'group' is the protected column"):
        ca.scan_bias(people[["group", "y", "flagged"]], {"group": "b"}, "y", recommendation="flagged")
    with pytest.raises(DataError, match=r"features is the text 'x1', but must be a list of columns: \['x1'\]"):
        ca.scan_bias(people, {"group": "b"}, "y", recommendation="flagged", features="x1")
    with pytest.raises(DataError, match="twice"):
        run(features=["x1", "x1"])
    with pytest.raises(DataError, match="The feature 'x9' is not in data"):
        run(features=["x9"])
    aged = biased(400, seed=0, number=True)
    with pytest.raises(DataError, match="bins names 'agee', which is not a feature: did you mean 'age'"):
        run(aged, features=["age"], bins={"agee": 3})
    with pytest.raises(DataError, match="bins names 'x1', which is not a number"):
        run(aged, features=["x1"], bins={"x1": 3})
    with pytest.raises(DataError, match="must be a number of bins or ascending edges"):
        run(aged, features=["age"], bins=[40, 30])
    with pytest.raises(DataError, match="bins is 0, but must be a whole number of at least 1"):
        run(aged, features=["age"], bins=0)
    with pytest.raises(DataError, match="'age' is infinite for 1 people"):
        run(aged.assign(age=aged.age.where(aged.index > 0, np.inf)), features=["age"])


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("penalty", -1, "penalty is -1, but must be a number of at least 0"),
        ("iterations", 0, "iterations is 0"),
        ("permutations", -5, "permutations is -5, but must be a whole number of at least 0"),
        ("permutations", 2.5, "permutations is 2.5"),
        ("draws", -1, "draws is -1, but must be a whole number of at least 0"),
        ("draws", True, "draws is True, but must be a whole number of at least 0"),
        ("draws", 18, "draws is 18, but an interval of 90% needs at least 19 draws"),
        ("posterior_draws", -1, "posterior_draws is -1, but must be a whole number of at least 0"),
        ("posterior_draws", 1, "posterior_draws is 1, but an interval of 90% needs at least 19 draws"),
        ("seed", -1, "seed is -1, but must be a whole number of at least 0"),
        ("null", "bootstrap", "null is 'bootstrap', but must be 'propensity' or 'permutation'"),
        ("split", 1.0, "split is 1.0, but must be a number between 0 and 1"),
        ("top", 0, "top is 0"),
        ("alpha", 0, "alpha is 0"),
        ("prob", 90, "prob is 90"),
    ],
)
def test_settings(run, setting, value, message):
    with pytest.raises(DataError, match=message):
        run(**{setting: value})


def test_draws_are_asked_for_once(run):
    with pytest.raises(DataError, match="draws is 50 and posterior_draws 60, but without counterfactuals both are"):
        run(draws=50, posterior_draws=60)


def test_tables_and_splits(people, run):
    with pytest.raises(DataError, match="must be a pandas DataFrame"):
        run([1, 2])
    with pytest.raises(DataError, match="index of data is not unique"):
        run(pd.concat([people, people]))
    few = people.groupby("group").head(1)
    with pytest.raises(DataError, match=r"split is 0.5, which leaves"):
        run(few, split=0.5)


def test_counterfactuals_must_hold_the_event(people, run):
    ours = people[people.group == "b"]
    worlds = ca.CounterfactualDraws.from_frame(ours[["x1"]], do={"group": "w"})
    with pytest.raises(DataError, match="The counterfactuals do not hold 'flagged'"):
        run(counterfactuals=worlds)
    worlds = ca.CounterfactualDraws.from_frame(ours[["flagged"]].iloc[3:], do={"group": "w"})
    with pytest.raises(DataError, match=r"The counterfactuals lack 3 of the \d+ protected people"):
        run(counterfactuals=worlds)
    worlds = ca.CounterfactualDraws.from_frame(ours[["flagged"]] * 2, do={"group": "w"})
    with pytest.raises(DataError, match="The counterfactual 'flagged' must be 0 or 1, but is 2"):
        run(counterfactuals=worlds)
    worlds = ca.CounterfactualDraws.from_frame(ours[["flagged"]], do={"group": "w"})
    with pytest.raises(DataError, match="has no models to refit to null draws"):
        run(counterfactuals=worlds, permutations=10)
    with pytest.raises(DataError, match="no models whose calibration"):
        ca.plots.plot_calibration(run(counterfactuals=worlds))
    with pytest.raises(DataError, match=r"set 'group' to 'b' itself"):
        run(counterfactuals=ca.CounterfactualDraws.from_frame(ours[["flagged"]], do={"group": "b"}))


def test_results_say_what_they_lack(run):
    result = run()
    with pytest.raises(DataError, match="There are no null draws to show"):
        ca.plots.plot_null(result)
    with pytest.raises(DataError, match="needs scans with p-values"):
        bonferroni([result])
    with pytest.raises(DataError, match="names 'x9', which is not a feature"):
        result.disparity({"x9": ["a"]})
    with pytest.raises(DataError, match=r"lists \['z'\] of 'x1', which has the values a, b"):
        result.disparity({"x1": ["z"]})
