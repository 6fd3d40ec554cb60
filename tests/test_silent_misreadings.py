"""What used to be misread, or to end as NaN, without a word: missing, infinite, and numbers that are objects."""

import numpy as np
import pandas as pd
import pytest
from auditors import GRAPH, make_people, rule
from sklearn.base import BaseEstimator, ClassifierMixin

import causalaudit as ca
from causalaudit.adjustment import fit_estimator
from causalaudit.errors import CausalAuditWarning, DataError


@pytest.fixture(scope="module")
def people():
    return make_people()


class Silent(ClassifierMixin, BaseEstimator):
    """A model that says nothing of some rows."""

    def fit(self, rows, events, sample_weight=None):
        self.classes_ = np.unique(events)
        return self

    def predict_proba(self, rows):
        return np.column_stack([np.full(len(rows), 0.5), np.where(np.arange(len(rows)) == 1, np.nan, 0.5)])


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_text_that_is_missing_is_no_level_of_counterfactuals(missing):
    frame = pd.DataFrame({"job": ["a", missing, "b"], "salary": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match="The column 'job' is missing for 1 of 3 people"):
        ca.CounterfactualDraws.from_frame(frame)
    assert ca.CounterfactualDraws.from_frame(frame[["salary"]]).dataset.sizes["individual"] == 3


@pytest.mark.parametrize("values", [[10, 30, 50], [10.0, 30, 50], [10.0, np.nan, 50.0], [10, None, 50]])
def test_numbers_that_are_objects_are_compared_as_numbers(values):
    numbers, objects = (pd.DataFrame({"salary": pd.Series(values, dtype=dtype)}) for dtype in (float, object))
    np.testing.assert_array_equal(ca.Gower().matrix(objects), ca.Gower().matrix(numbers))


@pytest.mark.parametrize("values", [[True, False, True], ["1", "2", "1"], ["a", 1, 2]])
def test_objects_that_are_not_numbers_are_compared_as_levels(values):
    found = ca.Gower().matrix(pd.DataFrame({"kind": pd.Series(values, dtype=object)}))
    assert set(np.unique(found)) == {0.0, 1.0}


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_an_infinite_feature_does_not_make_changes_free(people, infinite):
    people = people.assign(skill=people.skill.astype(float))
    people.loc[7, "skill"] = infinite
    with pytest.raises(DataError, match="The feature 'skill' is infinite for 1 of 400 people, for example 7"):
        ca.audit_recourse(
            people, rule, {"sex": "f"}, features=["skill", "job"], actions=ca.Actions(numeric=["skill"]), progress=False
        )


@pytest.mark.parametrize("model", ["propensity", "expectation"])
def test_a_model_that_predicts_nan_is_refused(people, model):
    message = "The model Silent predicts a missing value for 1 of"
    with pytest.raises(DataError, match=message):
        ca.scan_bias(
            people, {"sex": "f"}, "good", recommendation="rank", features=["skill", "job"], progress=False,
            **{model: Silent()},
        )  # fmt: skip


@pytest.mark.parametrize("target", [[0.0, 1.0, 0.0, 1.0], [0.2, 0.8, 0.5, 0.1]])
def test_expectations_are_numbers(target):
    rows = np.arange(8.0).reshape(4, 2)
    with pytest.raises(DataError, match="The model Silent predicts a missing value for 1 of 4 rows"):
        fit_estimator(Silent(), rows, np.array(target), None, rows)


def test_nobody_within_reach_of_several_attributes_is_said(people):
    apart = people.assign(place=np.arange(len(people)))
    with pytest.warns(CausalAuditWarning, match="have a group without anyone within max_distance"):
        singles = [
            ca.situation_testing(apart, rule, group, features=["place"], k=3, max_distance=1e-9, progress=False)
            for group in ({"sex": "f"}, {"race": "Black"})
        ]
    with pytest.warns(CausalAuditWarning, match="54 complainants have a group without anyone within max_distance"):
        assert ca.multiple_discrimination(singles).table["delta"].isna().all()


def test_one_draw_has_no_spread(people):
    with pytest.raises(DataError, match="resamples is 1, but an interval needs at least 2"):
        ca.estimate_error_rates(
            people, GRAPH, rule, protected={"sex": "f"}, outcome="good", features=["sex", "skill"],
            interval="bootstrap", resamples=1, progress=False,
        )  # fmt: skip
    applicants = ca.datasets.make_loan(60, seed=0)
    alone = ca.fit(ca.models.loan.linear(), applicants, draws=1, chains=1, progress=False)
    with pytest.warns(CausalAuditWarning, match="a single draw, which has no spread: sd and mcse are NaN"):
        assert alone.summary()["sd"].isna().all()
