"""Mining frequent itemsets against counting them all."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causalaudit.recourse.evidence.itemsets import estimated_number, frequent_itemsets


@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.05, 0.1, 0.3]))
@settings(max_examples=15)
def test_mining_finds_what_is_frequent_and_nothing_else(seed, share):
    random = np.random.default_rng(seed)
    groups = [random.integers(0, 3, (size, 4)) for size in random.integers(5, 150, 2)]
    found = frequent_itemsets(groups, share)
    expected = set()
    for values in itertools.product(range(-1, 3), repeat=4):
        part = [place for place, value in enumerate(values) if value >= 0]
        counts = [(group[:, part] == [values[place] for place in part]).all(axis=1).sum() for group in groups]
        if part and all(
            count * 20 >= round(share * 20) * len(rows) and count for count, rows in zip(counts, groups, strict=True)
        ):
            expected.add(values)
    assert {tuple(row) for row in found.tolist()} == expected
    assert len(found) == len(expected)


def test_the_estimate_of_the_number_of_itemsets_is_near_it():
    random = np.random.default_rng(0)
    common = random.integers(0, 2, (600, 1))
    rows = np.where(random.random((600, 9)) < 0.6, common, random.integers(0, 3, (600, 9)))
    exact = len(frequent_itemsets([rows], 0.02))
    estimates = [estimated_number([rows], [12], seed) for seed in range(5)]
    assert np.mean(estimates) == pytest.approx(exact, rel=0.1)
