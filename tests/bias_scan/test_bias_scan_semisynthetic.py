"""Algorithm 1 and its injected signals: what changes, by how much, and what stays."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

import causalaudit as ca
from causalaudit.bias_scan.power.semisynthetic import SemiSyntheticData, draw_fair_data, inject
from causalaudit.errors import DataError


def people(n=4_000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "race": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.choice(["old", "young"], n, p=[0.7, 0.3]),
            "priors": rng.choice([0, 1, 2], n),
        },
        index=np.arange(n) + 100,
    )


def test_log_odds_are_those_of_algorithm_1():
    fair = draw_fair_data(people(), {"race": "b"})
    log_odds, predicted = logit(fair.true), logit(fair.data["prediction"])
    cells = [fair.data[name] for name in fair.features]
    within = log_odds - pd.Series(log_odds, fair.data.index).groupby(cells).transform("mean").to_numpy()
    assert within.std() == pytest.approx(0.6, rel=0.04)
    assert np.std(predicted - log_odds) == pytest.approx(0.2, rel=0.04)
    excess = fair.data["outcome"] - fair.true
    assert abs(excess.mean()) < 4 * excess.std() / len(excess) ** 0.5
    assert (fair.data["recommendation"] == (fair.data["prediction"] >= 0.5)).all()


def test_each_value_of_the_other_attributes_has_a_weight_of_its_own():
    table = people(60)
    lifts = []
    pattern = table["sex"] + "-" + table["age"] + "-" + table["priors"].astype(str)
    for seed in range(150):
        fair = draw_fair_data(table, {"race": "b"}, sigma_true=0.0, seed=seed)
        lifts.append(pd.Series(logit(fair.true)).groupby(pattern.to_numpy()).first())
    lifts = pd.DataFrame(lifts)
    assert lifts.std().mean() == pytest.approx(0.2 * 3**0.5, rel=0.1)
    one = lifts["f-old-0"] - lifts["m-old-0"]
    assert one.std() == pytest.approx(0.2 * 2**0.5, rel=0.1)


def test_nothing_drawn_depends_on_the_protected_class():
    table = people()
    shuffled = table.assign(race=np.random.default_rng(1).permutation(table["race"]))
    drawn = [draw_fair_data(one, {"race": "b"}).data.drop(columns="race") for one in (table, shuffled)]
    pd.testing.assert_frame_equal(*drawn)


def test_the_protected_class_is_any_value_of_any_attribute():
    table = people(60)
    drawn = [draw_fair_data(table, seed=seed).protected for seed in range(150)]
    counts = pd.Series([next(iter(one.items())) for one in drawn]).value_counts()
    assert len(counts) == 10
    assert counts.between(4, 28).all()  # Binomial(150, 0.1), 0.001 beyond on each side


def test_the_subgroup_takes_some_values_of_some_attributes():
    table = people(500)
    for seed in range(30):
        fair = draw_fair_data(table, {"sex": "f"}, n_bias=2, seed=seed)
        assert len(fair.subgroup) <= 2
        assert set(fair.subgroup) <= {"race", "age", "priors"}
        assert fair.members(fair.subgroup).any()
        assert not fair.members(fair.subgroup)[table["sex"] == "m"].any()
    assert draw_fair_data(table, {"sex": "f"}, p_bias=1.0).subgroup == {}
    included = [
        len(draw_fair_data(table, {"sex": "f"}, 1, seed=seed).subgroup.get("race", "abc")) for seed in range(50)
    ]
    assert set(included) == {1, 2, 3}


@given(
    mu_sep=st.sampled_from([0.0, 0.25, 0.7]),
    mu_suf=st.sampled_from([0.0, 0.25, 0.7]),
    delta=st.sampled_from([-0.5, 0.0, 0.3]),
    seed=st.integers(0, 50),
)
def test_signals_change_the_subgroup_alone_and_by_what_they_say(mu_sep, mu_suf, delta, seed):
    fair = draw_fair_data(people(300), seed=seed)
    biased = inject(fair, mu_sep, mu_suf, delta=delta, seed=seed)
    inside = fair.members(fair.subgroup)
    assert biased.data[~inside].equals(fair.data[~inside])
    assert (biased.true[~inside] == fair.true[~inside]).all()
    wanted = fair.data["prediction"] + mu_sep + delta
    assert biased.data["prediction"][inside].to_numpy() == pytest.approx(wanted[inside].clip(0.001, 0.999))
    assert biased.true[inside] == pytest.approx(np.clip(fair.true + delta - mu_suf, 0.001, 0.999)[inside])
    assert (biased.data["recommendation"] == (biased.data["prediction"] >= 0.5)).all()
    if not mu_suf and not delta:
        assert biased.data["outcome"].equals(fair.data["outcome"])


@pytest.mark.parametrize(
    ("signal", "of_true", "of_predicted"),
    [
        ({"mu_sep_logit": 1.2}, 0.0, 1.2),
        ({"mu_suf_logit": 1.2}, -1.2, 0.0),
        ({"delta_logit": -0.8}, -0.8, -0.8),
        ({"mu_sep_logit": 0.4, "delta_logit": 1.0}, 1.0, 1.4),
    ],
)
def test_log_odds_are_shifted_as_in_appendix_b_3(signal, of_true, of_predicted):
    """A constant shift of log-odds, however near to 0 or 1: unlike that of probabilities, which is cut there."""
    fair = draw_fair_data(people(400), {"race": "b"}, sigma_true=4.0, seed=3)
    biased = inject(fair, **signal)
    inside = fair.members(fair.subgroup)
    predicted = [one.data["prediction"].to_numpy() for one in (biased, fair)]
    for (after, before), wanted in (((biased.true, fair.true), of_true), (predicted, of_predicted)):
        assert (logit(after) - logit(before))[inside] == pytest.approx(wanted, abs=1e-7)
    assert biased.data[~inside].equals(fair.data[~inside])
    assert biased.data["outcome"].equals(fair.data["outcome"]) == (of_true == 0)
    assert (biased.data["recommendation"] == (biased.data["prediction"] >= 0.5)).all()


def test_shifts_of_log_odds_come_before_those_of_probabilities():
    fair = draw_fair_data(people(400), {"race": "b"}, seed=3)
    both = inject(fair, mu_sep=0.1, mu_sep_logit=1.0)
    assert both.data["prediction"].equals(inject(inject(fair, mu_sep_logit=1.0), mu_sep=0.1).data["prediction"])


def test_outcomes_are_drawn_anew_with_the_shifted_probabilities():
    fair = draw_fair_data(people(20_000), {"sex": "f"}, p_bias=1.0)
    inside = fair.members(fair.subgroup)
    lower, higher = (np.clip(fair.true + rate, 0.001, 0.999) for rate in (-0.3, 0.3))
    rates = [
        ({"mu_suf": 0.3}, lower),
        ({"delta": 0.3}, higher),
        ({"mu_suf_logit": 1.0}, expit(logit(fair.true) - 1)),
        ({"delta_logit": 1.0}, expit(logit(fair.true) + 1)),
    ]
    for signal, rate in rates:
        shifted = inject(fair, **signal).data["outcome"][inside]
        assert shifted.mean() == pytest.approx(rate[inside].mean(), abs=4 * 0.5 / inside.sum() ** 0.5)


def test_accuracy_counts_people():
    table = pd.DataFrame({"sex": list("ffffm"), "age": ["old", "old", "young", "middle", "old"]})
    data = SemiSyntheticData(table, {"sex": "f"}, np.full(5, 0.5), {"age": ["old", "middle"]})
    assert data.accuracy(data.members({"age": ["old", "middle"]})) == 1
    assert data.accuracy(data.members({"age": ["old", "young"]})) == 2 / 4
    assert data.accuracy(data.members({})) == 3 / 4
    assert data.accuracy(data.members(None)) == 0
    assert data.accuracy(data.members({"age": ["young"]})) == 0


def test_the_same_seed_draws_the_same():
    first, again, other = (draw_fair_data(people(50), seed=seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(first.data, again.data)
    assert first.subgroup == again.subgroup
    assert not first.data["prediction"].equals(other.data["prediction"])


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({"outcome": 1}, {}, "have a column 'outcome', but that is drawn here"),
        ({"sex": None}, {}, "The covariate 'sex' is missing for 60 of 60 people"),
        ({"sex": "f"}, {}, "two values or more"),
        ({}, {"n_bias": 4, "protected": {"sex": "f"}}, "n_bias is 4, but beside the protected one there are only 3"),
        ({}, {"n_bias": 0}, "n_bias is 0"),
        ({}, {"p_bias": 0.0}, r"p_bias 0.0, but must be .* in \(0, 1\]"),
    ],
)
def test_bad_covariates_are_refused(change, arguments, message):
    with pytest.raises(DataError, match=message):
        draw_fair_data(people(60).assign(**change), **arguments)


def test_theorem_b_1_needs_predictions_and_status_that_are_jointly_uninformative():
    """A counterexample to it as printed: Y is independent of A and of P, each alone, and differs by A given P.

    That is what a scan of sufficiency looks for, and finds; it finds nothing if Y is independent of both together.
    """
    status, flagged, place = np.repeat([0, 1], 200), np.tile([0, 1], 200), np.arange(400) // 2
    differ = (status ^ flagged) == (place % 5 > 0)  # 80 % where status and recommendation differ, else 20 %
    table = pd.DataFrame({"A": status, "x": place % 2, "flagged": flagged, "y": differ.astype(int)})
    assert [table.groupby(name)["y"].mean().tolist() for name in ("A", "flagged")] == [[0.5, 0.5]] * 2
    asked = {"recommendation": "flagged", "criterion": "positive predictive value", "direction": "negative"}
    found = ca.scan_bias(table, {"A": 1}, "y", features=["x"], **asked)
    assert (found.observed, found.comparison, found.subgroup) == (pytest.approx(0.2), pytest.approx(0.8), {})
    nothing = ca.scan_bias(table.assign(y=place // 2 % 2), {"A": 1}, "y", features=["x"], **asked)
    assert nothing.subgroup is None
