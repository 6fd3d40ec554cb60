"""The comparators of the benchmarks do what their papers say, on people few enough to check by hand."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from benchmarks.peers.causal_situation_testing import causal_situation_testing
from benchmarks.peers.fliptest import flip_test


def test_fliptest_maps_by_the_cheapest_of_all_assignments():
    rng = np.random.default_rng(0)
    values, protected = rng.standard_normal((12, 2)), np.arange(12) < 6
    decision = rng.integers(0, 2, 12)
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    costs = ((scaled[:6, None] - scaled[None, 6:]) ** 2).sum(axis=-1)
    best = min(permutations(range(6)), key=lambda one: costs[np.arange(6), one].sum())
    mapped = decision[6:][list(best)]
    found = flip_test(values, decision, protected)
    assert found["positive"].tolist() == np.flatnonzero(decision[:6] > mapped).tolist()
    assert found["negative"].tolist() == np.flatnonzero(decision[:6] < mapped).tolist()


@pytest.mark.slow
def test_causal_situation_testing_sees_a_decision_by_status_alone():
    """The rule: x above .5, and for the protected above .7. In between all of them are cases, and elsewhere none."""
    rng = np.random.default_rng(1)
    x, protected = rng.random(600), np.arange(600) % 2 == 0
    decision = (x > np.where(protected, 0.7, 0.5)).astype(int)
    delta = causal_situation_testing(pd.DataFrame({"x": x}), decision, protected, ["x"], 5)
    mine = x[protected]
    assert delta[(mine > 0.53) & (mine < 0.67)].min() > 0.9
    assert np.abs(delta[(mine < 0.47) | (mine > 0.73)]).max() < 0.1
