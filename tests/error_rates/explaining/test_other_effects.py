"""Appendices A.1 and B of Zhang and Bareinboim: error rates beside the effects that others have defined."""

import itertools

import numpy as np
import pandas as pd
import pytest
from finite_programs import GENERIC, PARENTS, SCM_B, cells_of, classifier, draw_tables, draw_xor, measure

import causalaudit as ca

FEATURES = ("X", "W", "Z")  # those of f(x, w, z) in figure 1
THETA = GENERIC[:8]
LEVELS = (0, 1)


def decompose(theta=THETA, features=FEATURES, y=0):
    people = draw_tables(np.random.default_rng(0), 200)
    posterior = ca.fit(ca.models.standard_prediction.scm_b(), people, draws=2, chains=1)
    rule, features = classifier(theta, features), list(features)
    return ca.decompose_error_rates(
        posterior, rule, "X", outcome="Y", features=features, y=y, population="exact", progress=False
    )


def everybody(theta=THETA, features=FEATURES):
    """All states of the noise of SCM-B with their chances, and the label's probability under do(X = 0) and do(X = 1).

    A variable is 1 where its uniform noise is below its probability given its parents; between the probabilities
    that there are, nothing changes.
    """
    ends = {name: sorted({0.0, 1.0, *np.round(SCM_B[name], 9)}) for name in "ZXWY"}
    cells = [[((low + high) / 2, high - low) for low, high in itertools.pairwise(ends[name])] for name in "ZXWY"]
    states = list(itertools.product(*cells))
    noise = {name: np.array([state[place][0] for state in states]) for place, name in enumerate("ZXWY")}
    chance = np.prod([[cell[1] for cell in state] for state in states], axis=1)

    def solve(x=None):
        values = {}
        for name in "ZXWY":
            below = noise[name] < np.array(SCM_B[name])[cells_of(values, PARENTS[name])]
            values[name] = np.full(len(chance), x) if name == "X" and x is not None else below.astype(int)
        return pd.DataFrame(values)

    rule = classifier(theta, features)
    return solve().assign(chance=chance, label0=rule(solve(0)), label1=rule(solve(1)))


@pytest.mark.parametrize("y", LEVELS)
def test_totals_are_effects_on_the_treated_and_spurious_ones(y):
    """Lemma 4 (equations 21 and 22) and Lemma 5 (equations 23 and 24)."""
    result = decompose(y=y)
    for a, b in ((0, 1), (1, 0)):
        total, treated = measure(result, "total", a, b), measure(result, "ett", a, b)
        assert total == pytest.approx(treated - measure(result, "spurious", b, a), abs=1e-12)
        assert total == pytest.approx(measure(result, "spurious", a, b) - measure(result, "ett", b, a), abs=1e-12)
        for one, other in (("direct", "indirect"), ("indirect", "direct")):
            parts = measure(result, one, a, b, a) - measure(result, other, b, a, a)
            assert treated == pytest.approx(parts, abs=1e-12)


@pytest.mark.parametrize(("x", "y"), list(itertools.product(LEVELS, LEVELS)))
def test_counterfactual_fairness_averages_to_direct_minus_reversed_indirect(x, y):
    """Theorem 10, if equation 37 is weighted with P(z, w | x, y): with P(z, w), as printed, it does not."""
    result, people = decompose(y=y), everybody()
    effect = measure(result, "direct", 0, 1, x) - measure(result, "indirect", 1, 0, x)
    mine = people[(people["X"] == x) & (people["Y"] == y)]
    gaps = (mine["label1"] - mine["label0"]) * mine["chance"]
    by_context = gaps.groupby([mine["Z"], mine["W"]]).sum() / mine["chance"].groupby([mine["Z"], mine["W"]]).sum()
    inside = mine["chance"].groupby([mine["Z"], mine["W"]]).sum() / mine["chance"].sum()
    at_large = people["chance"].groupby([people["Z"], people["W"]]).sum()
    assert len(by_context) == 4
    assert (by_context * inside).sum() == pytest.approx(effect, abs=1e-12)
    assert (by_context * at_large).sum() != pytest.approx(effect, abs=1e-3)


def test_who_is_treated_alike_in_both_worlds_has_no_effect_and_terms_that_cancel():
    """Proposition 1 for a classifier of Z; Corollary 2: no ETT in any context, no direct minus reversed indirect."""
    alike = everybody((0.3, 0.9), ("Z",))
    assert (alike["label0"] == alike["label1"]).all()
    result = decompose((0.3, 0.9), ("Z",))
    for x in LEVELS:
        assert measure(result, "direct", 0, 1, x) - measure(result, "indirect", 1, 0, x) == 0
    for a, b in ((0, 1), (1, 0)):
        assert measure(result, "ett", a, b) == 0
    assert abs(measure(result, "spurious", 0, 1)) > 0.01  # what goes with X stays


@pytest.mark.parametrize(
    ("theta", "features", "absent", "natural"),
    [
        ((0.1, 0.6, 0.4, 0.9), ("W", "Z"), "direct", "nde"),
        ((0.1, 0.6, 0.4, 0.9), ("X", "Z"), "indirect", "nie"),
    ],
)
def test_no_direct_or_indirect_measure_no_natural_effect(theta, features, absent, natural):
    """Corollary 1, and Lemmas 1 and 2: no path of its kind, no measure."""
    for y in LEVELS:
        result = decompose(theta, features, y)
        assert [measure(result, absent, a, b, x) for a, b in ((0, 1), (1, 0)) for x in LEVELS] == [0] * 4
        assert measure(result, natural, 0, 1) == 0
        assert measure(result, {"nde": "nie", "nie": "nde"}[natural], 0, 1) != 0


def test_no_spurious_path_no_spurious_measure():
    """Lemma 3: the protected attribute alone is read, on which the label hangs by the direct path only."""
    result = decompose((0.2, 0.7), ("X",))
    assert [measure(result, "spurious", a, b) for a, b in ((0, 1), (1, 0))] == pytest.approx([0, 0], abs=1e-12)
    assert measure(result, "direct", 0, 1, 0) == pytest.approx(0.5)


@pytest.mark.parametrize("y", LEVELS)
def test_experiment_1_as_printed_has_no_spurious_terms(y):
    """P(U_X = 1) = 1/2 makes X independent of Z, and Y tells nothing of it: whatever a classifier reads."""
    names = ["X", "W", "Z", "D"]
    scm = ca.models.standard_prediction.xor()
    posterior = ca.fit(scm, draw_xor(np.random.default_rng(0), 200), draws=2, chains=1)
    result = ca.decompose_error_rates(
        posterior, classifier(GENERIC), "X", outcome="Y", features=names, y=y, population="exact", progress=False
    )
    assert [measure(result, "spurious", a, b) for a, b in ((0, 1), (1, 0))] == pytest.approx([0, 0], abs=1e-12)
    assert abs(measure(result, "indirect", 0, 1, 0)) > 0.01
