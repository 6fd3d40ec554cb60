"""Which k detects a difference: against simulated counts, and against whole situation tests."""

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.situation_testing import choose_k


def people_of(rates, rng, n=1200):
    """Half are women; a woman is rejected with the first, a man with the second of the rates at her place x."""
    x, female = rng.random(n), np.arange(n) % 2 == 0
    ours, theirs = rates(x)
    rejected = rng.random(n) < np.where(female, ours, theirs)
    return pd.DataFrame({"sex": np.where(female, "F", "M"), "x": x, "y": (~rejected).astype(int)})


def audit(people, k, **options):
    return ca.situation_testing(people, "y", {"sex": "F"}, features=["x"], k=k, **options)


def constant(theirs, difference):
    return lambda x: (np.full(len(x), theirs + difference), np.full(len(x), theirs))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*rest on a poor match")  # everyone is in the groups
def test_power_is_that_of_simulated_groups():
    """Large groups at a known rate: what is left is the chance of a significant result, counted."""
    rng = np.random.default_rng(0)
    result = audit(people_of(constant(0.3, 0.0), rng, 4000), 1900)
    base = result.counts["rejected_test"].mean() / 1900
    found = choose_k(result, 0.25, sizes=[5, 20, 40], alpha=0.1).table
    for k, row in found.iterrows():
        for shift, expected in ((0.25, row.power), (0.0, row.type_1_error)):
            control, test = rng.binomial(k, base + shift, 100_000) / k, rng.binomial(k, base, 100_000) / k
            width = 1.281552 * np.sqrt((control * (1 - control) + test * (1 - test)) / k)
            assert expected == pytest.approx(((control - test > 0) & (control - test > width)).mean(), abs=0.006)


@pytest.mark.slow
def test_the_answer_is_the_smallest_k_from_which_on_the_power_is_there():
    result = audit(people_of(constant(0.4, 0.0), np.random.default_rng(1)), 100)
    found = choose_k(result, 0.3, sizes=range(2, 60))
    enough = found.table["power"] >= 0.8
    assert found.k == enough.index[~enough].max() + 1
    assert enough.loc[found.k :].all()
    more = choose_k(result, 0.3, 0.9), choose_k(result, 0.2), choose_k(result, 0.3, alpha=0.01)
    assert all(other.k > found.k for other in more)
    assert choose_k(result, 0.01, sizes=[20, 30]).k is None
    textbook = 0.55 * 0.45 * 2 * ((1.645 + 0.842) / 0.3) ** 2  # two groups around the middle rate, normal
    assert found.k == pytest.approx(textbook, rel=0.1)


def test_in_favour_it_is_the_other_side_and_centres_are_members():
    people = people_of(constant(0.4, 0.0), np.random.default_rng(2))
    mirrored = people.assign(y=1 - people.y)
    asked = {"sizes": [10, 30]}
    against = choose_k(audit(people, 100), 0.2, **asked).table
    favour = choose_k(audit(mirrored, 100, direction="positive"), 0.2, **asked).table
    np.testing.assert_allclose(against, favour, rtol=1e-9)
    same = ca.CounterfactualDraws.from_frame(people[["x", "y"]])
    centred = audit(people, 100, counterfactuals=same, centres=True)
    shifted, plain = (
        choose_k(one, 0.2, sizes=[k]).table.loc[k, "type_1_error"]
        for one, k in ((centred, 10), (audit(people, 101), 11))
    )
    assert shifted == pytest.approx(plain, abs=2e-3)


@pytest.mark.parametrize(
    ("difference", "expected"),
    [(0, " above 0 and at most 1"), (-0.1, " above 0"), (1.2, " above 0"), (True, r"\."), ("much", r"\.")],
)
def test_bad_differences(result, difference, expected):
    with pytest.raises(DataError, match=rf"difference is .*, but must be a number{expected}"):
        choose_k(result, difference)


def test_bad_power(result):
    with pytest.raises(DataError, match="power is 80"):
        choose_k(result, 0.2, 80)
    with pytest.raises(DataError, match="k is 500"):
        choose_k(result, 0.2, sizes=[500])


DESIGNS = {
    "rare": (lambda x: 0.05 + 0 * x, 0.2),
    "from place to place": (lambda x: 0.1 + 0.5 * x, 0.3),
    "a rule with an edge": (lambda x: np.where(x < 0.5, 0.02, 0.6), 0.25),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_as_many_are_significant_as_was_said(name):
    """A pilot of fair people says which k; then women are worse off, and that share of them is significant."""
    theirs, difference = DESIGNS[name]
    rng = np.random.default_rng(5)
    said, seen = [], []
    for _ in range(20):
        pilot = audit(people_of(lambda x: (theirs(x), theirs(x)), rng), 60)
        found = choose_k(pilot, difference, sizes=range(4, 100, 4))
        worse = people_of(lambda x: (theirs(x) + difference, theirs(x)), rng)
        said.append(found.table.loc[found.k, "power"])
        seen.append(audit(worse, found.k).at()["significant"].mean())
    error = np.std(seen, ddof=1) / np.sqrt(len(seen))
    print(f"{name}: said {np.mean(said):.3f}, seen {np.mean(seen):.3f} (se {error:.3f})")
    assert np.mean(seen) == pytest.approx(np.mean(said), abs=0.03 + 2 * error)


@pytest.mark.filterwarnings("ignore:.*rest on a poor match")
def test_a_difference_of_one_leaves_one_rate():
    """Nobody of the test group is rejected and everybody of the control group: any k of some size detects it."""
    result = audit(people_of(constant(0.2, 0.3), np.random.default_rng(0), 200), 20)
    found = choose_k(result, 1.0, sizes=[5, 10])
    assert found.table["power"].tolist() == [1.0, 1.0]
    assert found.table.notna().all(axis=None)
