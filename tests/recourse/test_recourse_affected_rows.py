"""Sets of affected people as bits, against sets written out."""

import numpy as np
import pandas as pd
import pytest

from causalaudit.recourse.evidence.affected_rows import AffectedRows
from causalaudit.recourse.evidence.candidates import runs
from causalaudit.recourse.evidence.row_keys import RowKeys, flat
from causalaudit.recourse.question.coding import code_people


def _rows(n, seed=0):
    """Return the rows, and the codes and groups of the affected people."""
    random = np.random.default_rng(seed)
    data = pd.DataFrame({"a": random.integers(0, 4, n), "b": random.integers(0, 30, n)})
    data["sex"] = ["f", "m", *random.choice(["f", "m"], n - 2)]
    people, affected = code_people(data, "sex", ["a", "b"]), random.random(n) < 0.8
    affected[:2] = True
    return AffectedRows.of(people, affected, RowKeys(people.sizes)), people.codes[affected], people.group[affected]


def _people(inside, group):
    return [(inside & (group == side)).sum(axis=-1).tolist() for side in (0, 1)]


@pytest.mark.parametrize("n", [2, 63, 64, 65, 500, 5_000])
def test_members_are_those_with_the_values_and_are_counted_by_group(n):
    affected, codes, group = _rows(n)
    subgroups = np.array([[codes[0, 0], -1], [-1, codes[-1, 1]], codes[0], codes[-1]])
    members = affected.members(subgroups)
    for people, subgroup in zip(members, subgroups, strict=True):
        inside = ((affected.codes == subgroup) | (subgroup < 0)).all(axis=1)
        assert np.array_equal(affected.rows(people), np.flatnonzero(inside))
    everyone = ((codes == subgroups[:, None]) | (subgroups[:, None] < 0)).all(axis=2)
    assert affected.count(members).tolist() == _people(everyone, group)
    assert members.nbytes == len(subgroups) * affected.width


@pytest.mark.parametrize("n", [2, 64, 500, 5_000])
def test_rows_and_bits_are_inverse(n):
    affected, codes, group = _rows(n)
    everyone = np.arange(len(affected.codes))
    assert len(everyone) == len(np.unique(np.column_stack([codes, group]), axis=0))
    assert np.array_equal(affected.rows(affected.bits(everyone)), everyone)
    assert affected.count(affected.bits(everyone)[None]).ravel().tolist() == _people(
        np.ones(len(group), dtype=bool), group
    )
    some = everyone[::2]
    assert np.array_equal(affected.rows(affected.bits(some)), some)
    assert affected.count(affected.bits(some[:0])[None]).ravel().tolist() == [0, 0]


def test_a_change_gives_the_keys_of_the_changed_rows():
    affected, _, _ = _rows(500)
    rows = np.arange(1, len(affected.codes), 3)
    sides = affected.keys.codes(affected.shares.sum(axis=0))[rows, -1]
    for change in ([2, -1], [-1, 1], [0, 2]):
        after = np.where(np.array(change) >= 0, change, affected.codes[rows])
        expected = affected.keys.key(np.column_stack([after, sides]), np.arange(3))
        assert np.array_equal(affected.changed(rows, np.array(change)), flat(expected))


def test_runs_hold_at_most_so_many_pairs_and_never_cut_an_entry():
    assert [(run.start, run.stop) for run in runs(np.array([0, 2, 4, 9, 10, 11]), 4)] == [(0, 2), (2, 3), (3, 5)]
    assert [(run.start, run.stop) for run in runs(np.array([0, 2, 4]), 0)] == [(0, 1), (1, 2)]
