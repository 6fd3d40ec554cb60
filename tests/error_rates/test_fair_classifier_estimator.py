"""FairClassifier as an estimator of scikit-learn: its own checks of estimators, without bounds and with one."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import causalaudit as ca
from causalaudit.error_rates import training

GRAPH = ca.diagram([(f"x{place}", "Y") for place in range(100)])


class Unbounded(ca.FairClassifier):
    """Its name in the ids of the tests must not hold the address of the diagram, which differs between workers."""

    def __repr__(self):
        return type(self).__name__


class Halved(Unbounded):
    """The checks generate numbers: here the first column is made a protected attribute, odd or even."""

    def _frame(self, X, y, reset):
        table = super()._frame(X, y, reset).copy()
        table[table.columns[0]] = (np.floor(table.iloc[:, 0].to_numpy(dtype=float)) % 2).astype(int)
        return table


# Checks whose data leave a group of the protected attribute without anybody who has the outcome: a bound then means
# nothing, and the classifier says so. They pass without a bound.
EMPTY = dict.fromkeys(
    [
        "check_dont_overwrite_parameters",
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
        "check_pipeline_consistency",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_classifier_data_not_an_array",
        "check_classifiers_one_label_sample_weights",
        "check_classifiers_classes",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit2d_1feature",
        "check_dict_unchanged",
        "check_fit2d_predict1d",
    ],
    "nobody in a group",
)


@pytest.fixture
def _tiny(monkeypatch):
    """The checks fit a dozen people; a bound among so few is allowed here."""
    monkeypatch.setattr(training, "FEWEST", 1)


@parametrize_with_checks([Unbounded(GRAPH, "x0", "Y")])
@pytest.mark.filterwarnings("ignore")
def test_unbounded(estimator, check):
    check(estimator)


@parametrize_with_checks([Halved(GRAPH, "x0", "Y", eps_total=0.1)], expected_failed_checks=lambda _: EMPTY)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("_tiny")
def test_bounded(estimator, check):
    check(estimator)
