"""FairClassifier as an estimator of scikit-learn: its own checks of estimators."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import causalaudit as ca

GRAPH = ca.diagram([("x0", "x1"), ("x0", "Y")])


class Halved(ca.FairClassifier):
    """The checks generate numbers: here the first column is cut in two, so that there is a protected attribute."""

    def _frame(self, X, y, reset):
        table = super()._frame(X, y, reset)
        first = table.iloc[:, 0]
        if reset:
            self.cut_ = float(np.median(first))
        return table.assign(**{table.columns[0]: (first > self.cut_).astype(int)})


def not_applicable(estimator):
    return {}


@parametrize_with_checks([ca.FairClassifier(GRAPH, "x0", "Y")])
@pytest.mark.filterwarnings("ignore")
def test_unbounded(estimator, check):
    check(estimator)


@parametrize_with_checks([Halved(GRAPH, "x0", "Y", eps_total=0.1)], expected_failed_checks=not_applicable)
@pytest.mark.filterwarnings("ignore")
def test_bounded(estimator, check):
    check(estimator)
