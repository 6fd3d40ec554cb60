"""An ordinal or continuous protected attribute: against the binary test, a plain loop, and simulated truth."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
from situations import bank

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, DataError
from causalaudit.situation_testing import Shift

pytestmark = pytest.mark.filterwarnings("ignore:.*rest on a poor match")  # at the ends of the range there are few


def test_a_binary_attribute_is_tested_as_by_its_levels(applicants, worlds, result):
    """Female is 1: do(female := female - 1), of those who are 1; over draws too."""
    people = applicants.assign(female=(applicants.gender == "female").astype(int))
    asked = {"features": ["salary", "balance"], "counterfactuals": worlds, "k": [10, 5], "progress": False}
    found = ca.situation_testing(people, bank, {"female": Shift(-1, least=1)}, **asked)
    pd.testing.assert_frame_equal(found.table, result.table)
    assert found.title == "Counterfactual situation testing of female against female - 1, negative discrimination"
    near = ca.situation_testing(people, bank, {"female": Shift(-1, 0.4, least=1)}, max_distance=0.2, **asked)
    same = ca.situation_testing(people, bank, {"gender": "female"}, max_distance=0.2, **asked)
    pd.testing.assert_frame_equal(near.table, same.table)


@pytest.mark.filterwarnings("ignore:.*are no complainants")
def test_counterfactuals_of_some_of_the_complainants_are_refused(applicants):
    older = applicants.index[:40]
    people = applicants.assign(age=np.arange(len(applicants)) % 40)
    worlds = ca.CounterfactualDraws.from_frame(people.loc[older].assign(age=people.age[older] - 10))
    with pytest.raises(DataError, match="lack"):
        ca.situation_testing(
            people, bank, {"age": Shift(-10, within=2)}, features=["salary", "balance"], counterfactuals=worlds, k=5
        )


def employees(rng, n):
    """Skill grows with age; nobody's decision is known yet."""
    age = rng.integers(25, 66, n)
    return pd.DataFrame({"age": age, "skill": 2.0 * age + 20 * rng.standard_normal(n)})


@pytest.mark.parametrize("ordered", [False, True])
def test_groups_are_those_of_a_plain_loop(ordered, tmp_path):
    rng = np.random.default_rng(3)
    people = employees(rng, 300).assign(y=rng.integers(0, 2, 300))
    values = people.age.to_numpy()
    if ordered:
        people["age"] = pd.Categorical(people.age, ordered=True)
    shift = Shift(-10, within=2, least=30 - 25 * ordered, most=60 - 25 * ordered)
    with pytest.warns(CausalAuditWarning, match=r"\d+ of \d+ people are no complainants: fewer than 25 others"):
        result = ca.situation_testing(people, "y", {"age": shift}, features=["skill"], k=[8, 25])
    expected = {}
    for person in people.index[(values >= 30) & (values <= 60)]:
        shares = []
        for centre in (values[person], values[person] - 10):
            group = people[np.abs(values - centre) <= 2].drop(index=person, errors="ignore")
            nearest = (group.skill - people.skill[person]).abs().sort_values(kind="stable").index[:8]
            shares.append((people.y[nearest] == 0).mean() if len(group) >= 25 else np.nan)
        expected[person] = shares[0] - shares[1]
    expected = pd.Series(expected).dropna()
    np.testing.assert_array_equal(result.at(8).index, expected.index)
    np.testing.assert_allclose(result.at(8).delta, expected, atol=1e-12)
    result.save(tmp_path / "by_age.nc")
    assert ca.load(tmp_path / "by_age.nc").title == result.title


def ages(n):
    gain, start = pyro.sample("gain", dist.Normal(0.0, 5.0)), pyro.sample("start", dist.Normal(0.0, 50.0))
    noise = pyro.sample("noise", dist.HalfNormal(50.0))
    with pyro.plate("individuals", n):
        age = pyro.sample("age", dist.Normal(45.0, 12.0))
        pyro.sample("skill", dist.Normal(start + gain * age, noise))


def by_age(rng, n, direct, skilled):
    """Audit ten years less: rejections depend on age by `direct` a year, on skill by `skilled` a point."""
    people = employees(rng, n)
    chance = 0.5 + direct * (people.age - 45) - skilled * (people.skill - 90)
    people["y"] = (rng.random(n) >= chance.clip(0, 1)).astype(int)
    posterior = ca.fit(ca.SCM(ages), people, draws=25, seed=0, progress=False)
    older = people.age >= 40
    worlds = ca.counterfactuals(posterior, {"age": lambda some: some.age - 10}, rows=older, draws=30, seed=0)
    shift = Shift(-10, within=2, least=40)
    return ca.situation_testing(
        people, "y", {"age": shift}, features=["skill"], counterfactuals=worlds, k=20, progress=False
    )


TRUTH = {
    "through skill": (0.0, 0.004, -0.08),
    "both": (0.012, 0.004, 0.04),
    "neither": (0.0, 0.0, 0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUTH)
def test_the_mean_difference_is_the_true_one(name):
    """Ten years less take 20 points of skill; windows of five years are as wide on either side."""
    direct, skilled, truth = TRUTH[name]
    rng = np.random.default_rng(list(TRUTH).index(name))
    found, significant = [], []
    for _ in range(12):
        result = by_age(rng, 1500, direct, skilled)
        found.append(result.at().delta.mean())
        significant.append(result.at().significant.mean())
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    print(f"{name}: {np.mean(found):.3f} (se {error:.3f}) for {truth}; significant {np.mean(significant):.3f}")
    assert np.mean(found) == pytest.approx(truth, abs=3 * error + 0.005)
    if name == "neither":
        assert np.mean(significant) < 0.08


def test_counterfactuals_must_be_shifted_as_asked():
    rng = np.random.default_rng(1)
    people = employees(rng, 200).assign(y=rng.integers(0, 2, 200))
    asked = {"features": ["skill"], "k": 3}
    older = people[people.age >= 40]
    worlds = ca.CounterfactualDraws.from_frame(older[["age", "skill"]].assign(age=older.age - 5))
    with pytest.raises(DataError, match=r"set 'age' to \d+ where the shift asks for \d+: ask for do="):
        ca.situation_testing(people, "y", {"age": Shift(-10, 2, least=40)}, counterfactuals=worlds, **asked)
    right = ca.CounterfactualDraws.from_frame(older[["age", "skill"]].assign(age=older.age - 10))
    ca.situation_testing(people, "y", {"age": Shift(-10, 2, least=40)}, counterfactuals=right, **asked)


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        ({"by": 0}, "by is 0, but must change the value"),
        ({"by": "ten"}, "by is 'ten', but must be a number"),
        ({"by": -10, "within": 5}, "within is 5, but must be at least 0 and less than half of the shift by -10"),
        ({"by": 1, "least": float("nan")}, "least is nan, but must be a number"),
    ],
)
def test_bad_shifts(shift, words):
    with pytest.raises(DataError, match=words):
        Shift(**shift)


def test_what_cannot_be_shifted():
    people = pd.DataFrame({"sex": ["F", "M"] * 10, "age": range(20), "x": range(20), "y": [0, 1] * 10})
    with pytest.raises(DataError, match="'sex' is neither a number nor an ordered category"):
        ca.situation_testing(people, "y", {"sex": Shift(1)}, features=["x"], k=1)
    with pytest.raises(DataError, match="Nobody has 3 people within 0 of both their 'age' and of it shifted by 5"):
        ca.situation_testing(people, "y", {"age": Shift(5)}, features=["x"], k=3)
