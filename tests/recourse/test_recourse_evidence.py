"""How the classifier is asked: batches, distinct rows, bits."""

import random as python_random

import numpy as np
import pandas as pd
import pytest
import torch
from recourse_people import SETTINGS, make_people

import causalaudit as ca
from causalaudit import decisions
from causalaudit.recourse.evidence import evaluation, row_keys


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (evaluation, "_ANSWERED", 1_000),
        (evaluation, "_COUNTED", 300),
        (evaluation, "_KEYS", 16),
        (decisions, "ROWS", 7),
        (row_keys, "_LARGEST", 12),
    ],
)
def test_batches_and_long_keys_give_the_same(monkeypatch, module, name, value):
    people, classify = make_people(1)
    plain = ca.audit_recourse(people, classify, **SETTINGS)
    monkeypatch.setattr(module, name, value)
    cut = ca.audit_recourse(people, classify, **SETTINGS)
    pd.testing.assert_frame_equal(plain.table, cut.table)


def test_each_counterfactual_row_is_asked_about_once_and_batches_are_bounded(monkeypatch):
    people, classify = make_people(1)
    seen = []

    def watch(table):
        seen.append(table.copy())
        return classify(table)

    monkeypatch.setattr(decisions, "ROWS", 20)
    result = ca.audit_recourse(people, watch, **SETTINGS)
    factual = len(people) // 20
    counterfactual = pd.concat(seen[factual:])
    pd.testing.assert_frame_equal(pd.concat(seen[:factual]), people)
    assert max(map(len, seen)) <= 20
    assert not counterfactual.duplicated().any()
    assert len(counterfactual) == result.settings["predicted"] > 50
    assert (counterfactual.dtypes == people.dtypes).all()
    assert list(counterfactual.columns) == list(people.columns)


def test_the_same_bits_and_global_states_left_alone():
    people, classify = make_people(0)
    np.random.seed(5)  # noqa: NPY002
    states = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist(), python_random.getstate()  # noqa: NPY002
    first = ca.audit_recourse(people, classify, **SETTINGS)
    assert states == (
        np.random.get_state()[1].tolist(),  # noqa: NPY002
        torch.get_rng_state().tolist(),
        python_random.getstate(),
    )
    pd.testing.assert_frame_equal(first.table, ca.audit_recourse(people, classify, **SETTINGS).table)
