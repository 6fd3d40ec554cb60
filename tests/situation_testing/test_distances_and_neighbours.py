"""How people are compared, and who is nearest."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from situations import bank, mixed_people

import causalaudit as ca
from causalaudit.situation_testing.geometry import Geometry
from causalaudit.situation_testing.neighbours import SearchSpace


def test_gower_by_hand_with_weights_order_and_missing_values():
    people = pd.DataFrame(
        {
            "size": pd.Categorical(["S", "M", "XL"], ["S", "M", "L", "XL"], ordered=True),
            "colour": ["red", "blue", None],
            "age": [20.0, np.nan, 40.0],
            "code": [1, 2, 1],
        }
    )
    found = ca.Gower(categorical=["code"], weights={"size": 2.0}).matrix(people)
    assert found[0, 1] == pytest.approx((2 / 3 + 1 + 1) / 4)  # age is missing
    assert found[0, 2] == pytest.approx((2 * 1 + 1 + 0) / 4)  # colour is missing
    assert found[1, 2] == pytest.approx((2 * 2 / 3 + 1) / 3)  # both are
    assert (np.diag(found) == 0).all()


def test_any_other_metric():
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"sex": np.repeat(["F", "M"], 40), "x": rng.random(80), "c": rng.choice(list("ab"), 80)})
    people["y"] = (rng.random(80) < 0.5).astype(int)
    worlds = ca.CounterfactualDraws.from_frame(people[["x", "c"]].assign(x=people.x + 0.1))
    gower = ca.situation_testing(people, "y", {"sex": "F"}, features=["x", "c"], counterfactuals=worlds, k=4)
    scale = people.x.max() - people.x.min()

    def dollars(a, b):
        """The same, in other units, and too large for whole numbers of 1e-12."""
        assert list(a.columns) == ["x", "c"]
        apart = np.abs(a.x.to_numpy()[:, None] - b.x.to_numpy()) / scale
        return 1e6 * (apart + (a.c.to_numpy()[:, None] != b.c.to_numpy()))

    other = ca.situation_testing(
        people, "y", {"sex": "F"}, features=["x", "c"], counterfactuals=worlds, k=4, distance=dollars
    )
    away = ["distance_control", "distance_test"]
    pd.testing.assert_frame_equal(other.table.drop(columns=away), gower.table.drop(columns=away))
    np.testing.assert_allclose(other.table[away], 2e6 * gower.table[away])  # Gower's is the mean of two features


@settings(max_examples=40)
@given(mixed_people(), st.sampled_from(["range", "std", "authors"]), st.integers(1, 30), st.booleans())
def test_brute_force_and_tree_agree(drawn, scale, k, limited):
    people, rng = drawn
    geometry = ca.Gower(scale).geometry(people[["x", "z", "c"]])
    coordinates, rejected = geometry.encode(people), (people.y == 0).to_numpy()
    rows = np.flatnonzero(people.sex == "F")
    later = scale == "authors"
    tree, brute = (SearchSpace(geometry, coordinates[rows], rejected[rows], later, use) for use in (True, False))
    assert tree.tree is not None
    assert brute.tree is None
    own = np.arange(len(rows))
    for mine in (own, None):
        for found, expected in zip(
            tree.nearest(coordinates[rows], k, mine), brute.nearest(coordinates[rows], k, mine), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
    matrix = np.round(geometry.matrix(coordinates[rows], coordinates[rows]), 12)
    order = np.lexsort((-own if later else own, matrix[0]))
    np.testing.assert_array_equal(tree.nearest(coordinates[rows[:1]], k, own[:1])[0][0], order[order != 0][:k])
    places = np.repeat(coordinates[rows[:9], None], 30, axis=1)
    places[..., :2] += rng.normal(0, 0.05, places[..., :2].shape)
    limit = 0.1 if limited else None
    sizes = [1, k] if k > 1 else [1]
    for found, expected in zip(
        tree.rejections(places, sizes, limit), brute.rejections(places, sizes, limit), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    if not limited:
        positions, _ = brute.nearest(places.reshape(-1, 3), k)
        expected = brute.rejected[positions].sum(axis=1).reshape(9, 30).T
        np.testing.assert_array_equal(tree.rejections(places, sizes)[0][-1], expected)


@settings(max_examples=25)
@given(mixed_people(), st.sampled_from(["range", "std", "authors"]), st.integers(1, 30), st.booleans())
def test_brute_force_and_tree_give_the_same_tables(drawn, scale, k, centres):
    people, rng = drawn
    if people.y.nunique() < 2:
        return
    moved = people[["x", "z", "c", "y"]].assign(x=people.x + rng.choice([0.0, 0.1], len(people)), c="a")
    worlds = ca.CounterfactualDraws.from_frame(moved)
    options = {"k": [1, k], "centres": centres, "distance": ca.Gower(scale)}
    tree = ca.situation_testing(people, "y", {"sex": "F"}, features=["x", "z", "c"], counterfactuals=worlds, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Geometry, "embeddable", False)
        brute = ca.situation_testing(
            people, "y", {"sex": "F"}, features=["x", "z", "c"], counterfactuals=worlds, **options
        )
    pd.testing.assert_frame_equal(tree.table, brute.table)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_permuting_the_rows_changes_nothing(applicants, worlds, result, seed):
    """Of people among whom there are no ties."""
    shuffled = applicants.sample(frac=1.0, random_state=np.random.default_rng(seed))
    again = ca.situation_testing(
        shuffled,
        bank,
        {"gender": "female"},
        features=["salary", "balance"],
        counterfactuals=worlds,
        k=[5, 10],
        seed=0,
        progress=False,
    )
    pd.testing.assert_frame_equal(again.table.loc[result.table.index], result.table)


@pytest.mark.filterwarnings("ignore:.*rest on a poor match")
@settings(max_examples=25)
@given(mixed_people(), st.integers(1, 20))
def test_swapping_the_labels_of_the_groups_negates_delta(drawn, k):
    """Everyone but the complainant changes sides: who was compared with whom remains, in the other order."""
    people, rng = drawn
    if people.y.nunique() < 2:
        return
    features = ["x", "z", "c"]
    before = ca.situation_testing(people, "y", {"sex": "F"}, features=features, k=k).at()
    for complainant in rng.choice(before.index, 3):
        swapped = people.assign(sex=people.sex.map({"F": "M", "M": "F"}))
        swapped.loc[complainant, "sex"] = "F"
        after = ca.situation_testing(swapped, "y", {"sex": "F"}, features=features, k=k).at()
        assert after.loc[complainant, "delta"] == -before.loc[complainant, "delta"]
    turned = ca.situation_testing(people, "y", {"sex": "F"}, features=features, k=k, favourable=0).at()
    np.testing.assert_array_equal(turned["delta"], -before["delta"])
