"""Type-I error and coverage of the bias scan on simulated people; the data set is the unit."""

import warnings

import numpy as np
import pytest
from bias_scan_people import Disparities, fair, people_of
from scipy import stats
from scipy.special import expit

import causalaudit as ca

pytestmark = pytest.mark.slow

FEATURES = ["x1", "x2"]
PROTECTED = {"group": "b"}
NAMED = {"x1": ["a"]}
EFFECTS = {"nothing": 0.0, "a bias": 0.7}
FAIR_SETS = 200
DATA_SETS = 240


def bounds(number, chance):
    """The 99 % bounds of a binomial count."""
    return stats.binom.ppf([0.005, 0.995], number, chance)


def rejections(null, strength):
    """How many of 200 fair data sets are called biased at 5 %."""
    count = 0
    for number in range(FAIR_SETS):
        people = fair(1000, seed=number, strength=strength)
        result = ca.scan_bias(
            people, PROTECTED, "y", recommendation="flagged", given=0, features=FEATURES, permutations=199, null=null,
            seed=number, progress=False,
        )  # fmt: skip
        count += result.p_value <= 0.05
    return count


@pytest.mark.filterwarnings("ignore::causalaudit.errors.CausalAuditWarning")
def test_type_one_error_when_the_group_depends_on_the_features():
    """The default keeps its level; permuting the statuses, as the paper does, does not."""
    counts = {null: rejections(null, strength=1.5) for null in ("propensity", "permutation")}
    print(f"type-I error at 5 %: { ({null: count / FAIR_SETS for null, count in counts.items()}) }")
    low, high = bounds(FAIR_SETS, 0.05)
    assert (low, high) == (3, 19)
    assert low <= counts["propensity"] <= high
    assert counts["permutation"] > high


def covers(row, truth):
    return row["credible_low"] <= truth <= row["credible_high"]


def coverage(effect, split, sizes=(2, 3), penalty=0.2, data_sets=DATA_SETS):
    """Whether intervals cover: in the subgroup that was found (None: nothing found), and in one named beforehand."""
    many = people_of(300_000, seed=10**6, effect=effect, sizes=sizes)
    truth = Disparities(many, expit(many["eta"]) - expit(many["eta"] - effect * (many["x1"] == "a")))
    found, named = [], []
    features = [f"x{place + 1}" for place in range(len(sizes))]
    for number in range(data_sets):
        people = people_of(1500, seed=number, effect=effect, sizes=sizes).drop(columns="eta")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = ca.scan_bias(
                people, PROTECTED, "y", recommendation="flagged", features=features, penalty=penalty,
                posterior_draws=200, split=split, seed=number, progress=False,
            )  # fmt: skip
        if result.subgroup is not None:
            found.append(covers(result.table.iloc[0], truth.of(result.subgroup)))
        named.append(covers(result.disparity(NAMED), truth.of(NAMED)))
    print(f"effect {effect}, split {split}: {np.mean(found):.3f} of {len(found)} found, {np.mean(named):.3f} named")
    return found, named


@pytest.mark.parametrize("signal", EFFECTS)
def test_intervals_cover_in_the_subgroup_that_was_found_with_a_split(signal):
    """The truth is the population disparity of the detected subgroup; and that of one named beforehand."""
    for kept in coverage(EFFECTS[signal], split=0.5):
        low, high = bounds(len(kept), 0.9)
        assert len(kept) > 0.7 * DATA_SETS
        assert low <= sum(kept) <= high


def test_intervals_without_a_split_do_not_cover_what_was_searched_for():
    """Nothing was injected: of the largest deviation among 147 subgroups far fewer than 90 % cover; named, 90 %."""
    found, named = coverage(0.0, split=None, sizes=(2, 3, 3), penalty=0.0, data_sets=120)
    low, high = bounds(len(named), 0.9)
    assert low <= sum(named) <= high
    assert np.mean(found) < 0.5
