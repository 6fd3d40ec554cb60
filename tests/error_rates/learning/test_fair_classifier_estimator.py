"""FairClassifier as an estimator of scikit-learn: its own checks of estimators, without bounds and with one."""

import numpy as np
import pytest
import sklearn
from sklearn.utils.estimator_checks import estimator_checks_generator

import causalaudit as ca
from causalaudit.error_rates.learning import labelled_people
from causalaudit.errors import DataError

OLD = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)
# Faults of the checks themselves, in versions before the one that the reasons below were read off.
FAULTS = {
    "check_positive_only_tag_during_fit": "subtracts a mean from whole numbers in place",
    "check_sample_weight_equivalence_on_dense_data": "names classes by the first label, which differs once shuffled",
    "check_sample_weight_equivalence_on_sparse_data": "is asked of estimators that take no sparse tables, too",
}
GRAPH = ca.diagram([(f"x{place}", "Y") for place in range(100)])


class Halved(ca.FairClassifier):
    """The checks generate numbers: here the first column is made a protected attribute, odd or even."""

    def _frame(self, X, reset):
        table = super()._frame(X, reset).copy()
        table[table.columns[0]] = (np.floor(table.iloc[:, 0].to_numpy(dtype=float)) % 2).astype(int)
        return table


# Checks whose data leave a group of the protected attribute without anybody who has a label, so that a bound means
# nothing and the classifier says so. All of them pass without a bound.
LABEL = "their label is the whole part of the first column: all whose whole part is odd have the same label"
BLOBS = "two clouds of people, one label each, that the first column tells apart: a group has one label only"
GRID = "people on a grid, one label on either side of it: all people with an odd first column have the same label"
ALONE = "the first column is between 0 and 1: there is one group only"
NUMBERED = "a frame whose columns are named 0 and 1, none of which is the protected attribute"
REASONS = {
    "check_dont_overwrite_parameters": LABEL,
    "check_f_contiguous_array_estimator": LABEL,
    "check_methods_sample_order_invariance": LABEL,
    "check_methods_subset_invariance": LABEL,
    "check_fit2d_1feature": LABEL,
    "check_fit2d_predict1d": LABEL,
    "check_dict_unchanged": LABEL,
    "check_pipeline_consistency": BLOBS,
    "check_estimators_pickle": BLOBS,
    "check_classifiers_classes": BLOBS,
    "check_sample_weights_not_an_array": GRID,
    "check_sample_weights_shape": GRID,
    "check_sample_weights_not_overwritten": GRID,
    "check_sample_weight_equivalence_on_dense_data": ALONE,
    "check_classifiers_one_label_sample_weights": ALONE,
    "check_sample_weights_pandas_series": NUMBERED,
    "check_classifier_data_not_an_array": NUMBERED,
}


def checks(estimator, reasons):
    """The checks of scikit-learn; those with a reason must fail, by an error that is meant for users."""
    for one, check in estimator_checks_generator(estimator):
        name = check.func.__name__
        options = "".join(f"-{key}" for key, value in check.keywords.items() if value is True)
        # One check catches the error, and asks for a message about classes instead.
        expected = AssertionError if name == "check_classifiers_one_label_sample_weights" else DataError
        marks = [pytest.mark.xfail(reason=reasons[name], raises=expected, strict=True)] if name in reasons else []
        marks += [pytest.mark.skip(reason=FAULTS[name])] if OLD and name in FAULTS else []
        yield pytest.param(one, check, marks=marks, id=name + options)


@pytest.fixture
def _tiny(monkeypatch):
    """The checks fit a dozen people; a bound among so few is allowed here."""
    monkeypatch.setattr(labelled_people, "FEWEST", 1)


@pytest.mark.parametrize(("estimator", "check"), list(checks(ca.FairClassifier(GRAPH, "x0", "Y"), {})))
@pytest.mark.filterwarnings("ignore")
def test_unbounded(estimator, check):
    check(estimator)


@pytest.mark.skipif(OLD, reason="labels in the data of older checks differ, and so does which groups are empty")
@pytest.mark.parametrize(("estimator", "check"), list(checks(Halved(GRAPH, "x0", "Y", eps_total=0.1), REASONS)))
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("_tiny")
def test_bounded(estimator, check):
    check(estimator)


def test_every_reason_is_that_of_a_check():
    names = {check.func.__name__ for _, check in estimator_checks_generator(ca.FairClassifier(GRAPH, "x0", "Y"))}
    assert set(REASONS) <= names
