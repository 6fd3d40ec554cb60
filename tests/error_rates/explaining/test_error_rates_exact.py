"""Error rates of finite SCMs: the reference fractions, a plain enumeration of noise, and the theorems."""

import itertools
import json
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from finite_programs import (
    GENERIC,
    OPTIMAL_B,
    PARENTS,
    SCM_B,
    XOR_NOISE,
    cells_of,
    classifier,
    draw_tables,
    draw_xor,
    free_tables,
    measure,
    posterior_of,
    posterior_tables,
    table_program,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import causalaudit as ca
from causalaudit.counterfactuals.shared_noise import gumbel_joint
from causalaudit.error_rates.explaining.terms import DECOMPOSITIONS, MEASURES, TERMS

SP = ca.models.standard_prediction
FEATURES = ["X", "W", "Z", "D"]


def decompose(scm, people, theta, y=0, yhat=1, features=FEATURES, **options):
    posterior = ca.fit(scm, people, draws=2, chains=1)
    rule = classifier(theta, tuple(features))
    options = {"population": "exact", "progress": False, **options}
    return ca.decompose_error_rates(posterior, rule, "X", outcome="Y", features=features, y=y, yhat=yhat, **options)


def rate(result, read, made_by, given):
    rows = result.rates
    chosen = (rows["read"] == read) & (rows["made_by"] == made_by)
    chosen &= rows["given"].isna() if given is None else rows["given"] == given
    return rows.loc[chosen, "mean"].item()


def term(result, name, decomposition=1):
    table = result.table
    return table.loc[(table["decomposition"] == decomposition) & (table["term"] == name), "mean"].item()


# A plain enumeration of the noise


def _below(table, own, values, u):
    return (u < table[cells_of(values, own)]).astype(int)


def monotone(tables, parents):
    """Equations v = 1[u < p(parents)], the uniform u cut at all probabilities that the parents can give."""
    noises, equations = {}, {}
    for name, table in tables.items():
        exact = [Fraction(str(round(value, 6))) for value in table]
        cuts = sorted({Fraction(0), Fraction(1), *exact})
        noises[name] = [(float((low + high) / 2), float(high - low)) for low, high in itertools.pairwise(cuts)]

        equations[name] = partial(_below, np.array(exact, dtype=float), parents[name])
    return noises, equations


def exclusive_or(noise, parents):
    """Equations v = parents ⊕ u."""
    noises = {name: [(0, 1 - p), (1, p)] for name, p in noise.items()}
    equations = {
        name: lambda values, u, own=own: (sum(values[parent] for parent in own) + u).astype(int) % 2
        for name, own in parents.items()
    }
    return noises, equations


def states(noises):
    """Every joint state of the noise, and its probability."""
    grids = np.meshgrid(*(np.arange(len(cells)) for cells in noises.values()), indexing="ij")
    places = dict(zip(noises, (grid.ravel() for grid in grids), strict=True))
    noise = {name: np.array([cell[0] for cell in cells])[places[name]] for name, cells in noises.items()}
    chance = np.prod([np.array([cell[1] for cell in cells])[places[name]] for name, cells in noises.items()], axis=0)
    return noise, chance


def solve(equations, noise, do):
    values = {}
    for name, equation in equations.items():
        own = noise[name]
        values[name] = np.full(len(own), do[name]) if name in do else equation(values, own)
    return values


def enumerated(noises, equations, theta, features, y):
    """N(xd, xi | x, y), and for everybody (x = None) with Y as it comes."""
    table, (noise, chance) = np.reshape(theta, [2] * len(features)), states(noises)
    factual, rates = solve(equations, noise, {}), {}
    for xd, xi, x in itertools.product((0, 1), (0, 1), (0, 1, None)):
        there = {**solve(equations, noise, {"X": xi, **({} if x is None else {"Y": y})}), "X": np.full(len(chance), xd)}
        counted = chance if x is None else chance * ((factual["X"] == x) & (factual["Y"] == y))
        rates[xd, xi, x] = (counted * table[tuple(there[name] for name in features)]).sum() / counted.sum()
    return rates


@pytest.mark.parametrize("y", [0, 1])
@pytest.mark.parametrize("theta", [GENERIC, OPTIMAL_B], ids=["random", "deterministic"])
@pytest.mark.parametrize("name", ["scm_b", "xor", "xor_exogenous", "plain_bernoulli"])
def test_every_nested_rate_is_that_of_a_plain_enumeration(name, theta, y):
    scm = getattr(SP, name)()
    if name == "scm_b":
        truth = monotone(SCM_B, PARENTS)
    elif name == "plain_bernoulli":
        flipped = {
            v: [abs(sum(state) % 2 - XOR_NOISE[v]) for state in itertools.product((0, 1), repeat=len(p))]
            for v, p in PARENTS.items()
        }
        truth = monotone(flipped, PARENTS)
    else:
        truth = exclusive_or(XOR_NOISE, PARENTS)
    rng = np.random.default_rng(0)
    people = draw_tables(rng, 200) if name == "scm_b" else draw_xor(rng, 200)
    result = decompose(scm, people, theta, y)
    for (xd, xi, x), value in enumerated(*truth, theta, FEATURES, y).items():
        assert rate(result, xd, xi, x) == pytest.approx(float(value), abs=1e-12)


# The reference


def reference(folder):
    return json.loads((folder / "error_rates.json").read_text())


@pytest.mark.parametrize("y", [0, 1])
@pytest.mark.parametrize(
    ("name", "path", "theta"),
    [
        ("scm_b", ("scmB", "f_opt_N_table"), ("scmB", "y0", "f_opt_theta")),
        ("xor", ("exp1_generic_theta", "N_table"), ("exp1_generic_theta", "theta")),
        ("xor_exogenous", ("exp1_generic_theta", "N_table"), ("exp1_generic_theta", "theta")),
    ],
)
def test_nested_rates_measures_and_decompositions_of_the_reference(reference_folder, name, path, theta, y):
    numbers = reference(reference_folder)
    table, thetas = numbers, numbers
    for key in path:
        table = table[key]
    for key in theta:
        thetas = thetas[key]
    people = draw_tables(np.random.default_rng(1), 100) if name == "scm_b" else draw_xor(np.random.default_rng(1), 100)
    result = decompose(getattr(SP, name)(), people, thetas, y)
    truth = {
        (xd, xi, x): Fraction(table[f"N(xd={xd},xi={xi}|x={x},y={y})"][0])
        for xd, xi, x in itertools.product((0, 1), repeat=3)
    }
    for key, value in truth.items():
        assert rate(result, *key) == pytest.approx(float(value), abs=1e-12)
    for a, b in ((0, 1), (1, 0)):
        assert measure(result, "total", a, b) == pytest.approx(float(truth[b, b, b] - truth[a, a, a]), abs=1e-12)
        assert measure(result, "spurious", a, b) == pytest.approx(float(truth[a, a, b] - truth[a, a, a]), abs=1e-12)
        assert measure(result, "ett", a, b) == pytest.approx(float(truth[b, b, a] - truth[a, a, a]), abs=1e-12)
        for x in (0, 1):
            assert measure(result, "direct", a, b, x) == pytest.approx(
                float(truth[b, a, x] - truth[a, a, x]), abs=1e-12
            )
            assert measure(result, "indirect", a, b, x) == pytest.approx(
                float(truth[a, b, x] - truth[a, a, x]), abs=1e-12
            )
    n = truth
    additive = {
        1: (n[1, 0, 0] - n[0, 0, 0], n[1, 1, 0] - n[1, 0, 0], n[1, 1, 1] - n[1, 1, 0]),
        2: (n[1, 1, 0] - n[0, 1, 0], n[0, 1, 0] - n[0, 0, 0], n[1, 1, 1] - n[1, 1, 0]),
        3: (n[1, 0, 1] - n[0, 0, 1], n[1, 1, 1] - n[1, 0, 1], n[0, 0, 1] - n[0, 0, 0]),
        4: (n[1, 1, 1] - n[0, 1, 1], n[0, 1, 1] - n[0, 0, 1], n[0, 0, 1] - n[0, 0, 0]),
    }
    for number, parts in additive.items():
        assert term(result, "total", number) == pytest.approx(float(sum(parts)), abs=1e-12)
        for name_of_term, part in zip(TERMS[1:], parts, strict=True):
            assert term(result, name_of_term, number) == pytest.approx(float(part), abs=1e-12)


@pytest.mark.parametrize(("y", "key"), [(0, "y0"), (1, "y1")])
def test_the_sign_convention_is_that_of_additive_terms(reference_folder, y, key):
    """The reference holds ER, ERd from 0 to 1, and the raw ERi and ERs from 1 to 0."""
    raw = reference(reference_folder)["scmB"][key]["f_opt"]
    people = draw_tables(np.random.default_rng(1), 100)
    result = decompose(SP.scm_b(), people, OPTIMAL_B, y)
    assert term(result, "total") == pytest.approx(raw["ER"], abs=1e-12)
    assert term(result, "direct") == pytest.approx(raw["ERd"], abs=1e-12)
    assert term(result, "indirect") == pytest.approx(-raw["ERi"], abs=1e-12)
    assert term(result, "spurious") == pytest.approx(-raw["ERs"], abs=1e-12)
    assert measure(result, "indirect", 1, 0, 0) == pytest.approx(raw["ERi"], abs=1e-12)
    assert measure(result, "spurious", 1, 0) == pytest.approx(raw["ERs"], abs=1e-12)
    assert raw["ERi"] < 0 < term(result, "indirect")


def test_the_indirect_and_the_spurious_term_depend_on_the_noise_the_others_do_not(reference_folder):
    numbers = reference(reference_folder)["posterior_coverage"]
    people = draw_tables(np.random.default_rng(1), 100)
    terms = decompose(SP.scm_b(), people, OPTIMAL_B).summary()["mean"].to_numpy()
    truth = np.array(numbers["scmB_truth_monotone"]) * [1, 1, -1, -1]
    assert np.allclose(terms, truth, atol=1e-12)
    other = np.array(numbers["scmB_truth_independent"]) * [1, 1, -1, -1]
    assert np.allclose(terms[:2], other[:2], atol=1e-12)
    assert (np.abs(terms[2:] - other[2:]) > 0.01).all()


# Theorems and properties


tables_of = st.integers(0, 2**32 - 1).map(
    lambda seed: {
        name: np.random.default_rng([seed, place]).integers(1, 10, 2 ** len(parents)) / 10
        for place, (name, parents) in enumerate(PARENTS.items())
    }
)
thetas = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).random(16).round(2))


@pytest.mark.filterwarnings("ignore:The program does not give")  # people of another process
@settings(max_examples=5)
@given(tables=tables_of, theta=thetas, y=st.sampled_from([0, 1]))
def test_random_tables_agree_with_a_plain_enumeration(tables, theta, y):
    scm = table_program({name: tuple(table) for name, table in tables.items()})
    result = decompose(scm, draw_tables(np.random.default_rng(0), 50), theta, y)
    truth = enumerated(*monotone(tables, PARENTS), theta, FEATURES, y)
    for key, value in truth.items():
        assert rate(result, *key) == pytest.approx(float(value), abs=1e-12)
    for number in DECOMPOSITIONS:
        parts = [term(result, name, number) for name in TERMS[1:]]
        assert sum(parts) == pytest.approx(term(result, "total", number), abs=1e-12)


def test_the_total_is_the_difference_of_the_two_rates():
    people = draw_tables(np.random.default_rng(0), 100_000)
    result = decompose(SP.scm_b(), people.iloc[:100], OPTIMAL_B)
    found = classifier(OPTIMAL_B)(people)
    rates = [found[(people["X"] == x) & (people["Y"] == 0)].mean() for x in (0, 1)]
    assert term(result, "total") == pytest.approx(rates[1] - rates[0], abs=0.015)


def test_natural_effects_are_averages_of_the_measures_without_a_feature_that_follows_from_the_outcome():
    """Theorem 9, for the diagram of figure 1."""
    people = draw_tables(np.random.default_rng(0), 200)
    theta, features = GENERIC[:8], ["X", "W", "Z"]
    results = {y: decompose(SP.scm_b(), people, theta, y, features=features) for y in (0, 1)}
    noises, equations = monotone(SCM_B, PARENTS)
    noise, chance = states(noises)
    factual = solve(equations, noise, {})
    chances = {
        (x, y): chance[(factual["X"] == x) & (factual["Y"] == y)].sum() for x, y in itertools.product((0, 1), repeat=2)
    }
    for natural, name in (("nde", "direct"), ("nie", "indirect")):
        average = sum(chances[x, y] * measure(results[y], name, 0, 1, x) for x, y in chances)
        assert measure(results[0], natural, 0, 1) == pytest.approx(average, abs=1e-12)
        assert measure(results[1], natural, 0, 1) == pytest.approx(average, abs=1e-12)


def test_the_effect_on_the_treated_is_direct_minus_reversed_indirect():
    """Lemma 5; as the average of counterfactual fairness, Theorem 10, it is in test_other_effects.py."""
    result = decompose(SP.scm_b(), draw_tables(np.random.default_rng(0), 200), GENERIC)
    for a, b in ((0, 1), (1, 0)):
        parts = measure(result, "direct", a, b, a) - measure(result, "indirect", b, a, a)
        assert measure(result, "ett", a, b) == pytest.approx(parts, abs=1e-12)


def test_setting_the_outcome_matters_where_a_feature_follows_from_it():
    """Without do(Y = y), D would follow the counterfactual Y."""
    result = decompose(SP.scm_b(), draw_tables(np.random.default_rng(0), 200), GENERIC)
    noises, equations = monotone(SCM_B, PARENTS)
    noise, chance = states(noises)
    factual, there = solve(equations, noise, {}), solve(equations, noise, {"X": 1})
    counted = chance * ((factual["X"] == 0) & (factual["Y"] == 0))
    theta = np.reshape(GENERIC, (2, 2, 2, 2))[0, there["W"], there["Z"], there["D"]]
    assert rate(result, 0, 1, 0) != pytest.approx((counted * theta).sum() / counted.sum(), abs=0.01)
    truth = enumerated(noises, equations, GENERIC, FEATURES, 0)
    assert rate(result, 0, 1, 0) == pytest.approx(truth[0, 1, 0], abs=1e-12)


def test_a_classifier_that_does_not_read_the_attribute_has_no_direct_term():
    result = decompose(SP.scm_b(), draw_tables(np.random.default_rng(0), 200), GENERIC[:8], features=["W", "Z", "D"])
    for number in DECOMPOSITIONS:
        assert term(result, "direct", number) == 0
        assert abs(term(result, "indirect", number)) > 0.01


def test_a_classifier_of_the_attribute_alone_is_all_direct():
    result = decompose(SP.scm_b(), draw_tables(np.random.default_rng(0), 200), (0.2, 0.7), features=["X"])
    for number in DECOMPOSITIONS:
        assert [term(result, name, number) for name in TERMS] == pytest.approx([0.5, 0.5, 0, 0], abs=1e-12)


def test_reversed_levels_reverse_the_total():
    people = draw_tables(np.random.default_rng(0), 200)
    one = decompose(SP.scm_b(), people, GENERIC)
    other = decompose(SP.scm_b(), people, GENERIC, baseline=1, contrast=0)
    assert term(other, "total") == pytest.approx(-term(one, "total"), abs=1e-12)
    assert measure(other, "direct", 1, 0, 0) == pytest.approx(measure(one, "direct", 1, 0, 0), abs=1e-12)


def test_the_two_labels_have_opposite_terms():
    people = draw_tables(np.random.default_rng(0), 200)
    one, other = (decompose(SP.scm_b(), people, GENERIC, yhat=label).table["mean"] for label in (1, 0))
    assert np.allclose(one, -other, atol=1e-12)


def test_all_draws_at_once_are_the_draws_one_by_one():
    rng = np.random.default_rng(0)
    people, scm = draw_tables(rng, 300), free_tables()
    drawn = posterior_tables(rng, people, 3)
    rule = classifier(GENERIC)

    def rates(chosen):
        posterior = posterior_of(scm, people, chosen)
        return ca.decompose_error_rates(posterior, rule, "X", outcome="Y", features=FEATURES, population="exact").draws

    together = rates(drawn)
    for draw in range(3):
        alone = {name: value[[draw]] for name, value in drawn.items()}
        assert np.allclose(rates(alone)[0], together[draw], atol=1e-14)
        fixed = table_program({name.removeprefix("p_"): tuple(value[draw]) for name, value in drawn.items()})
        assert np.allclose(decompose(fixed, people, GENERIC).draws[0], together[draw], atol=1e-12)


# Other finite programs


def three_groups(n):
    """A group of three levels, a job of three kinds (Gumbel noise), a count, a one-hot grade, and an outcome."""
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Categorical(torch.tensor([0.5, 0.3, 0.2])))
        tilt = torch.tensor([[1.0, 0.0, -1.0], [0.0, 0.5, 0.0], [-1.0, 0.0, 1.5]])[group.long()]
        job = pyro.sample("job", dist.Categorical(logits=tilt))
        tests = pyro.sample("tests", dist.Binomial(3, 0.3 + 0.1 * group))
        grade = pyro.sample("grade", dist.OneHotCategorical(logits=0.4 * tilt + 0.2 * job.unsqueeze(-1)))
        pyro.sample("good", dist.Bernoulli(logits=0.5 * tests - 0.7 * job + grade[..., 2] - 0.3 * group))


@pytest.fixture(scope="module")
def three_groups_posterior():
    levels = {"group": ["a", "b", "c"], "job": ["hand", "desk", "road"], "grade": ["low", "middle", "high"]}
    scm = ca.SCM(three_groups, levels={**levels, "good": [False, True]})
    drawn = scm.prior_predictive(200, draws=1, seed=0).isel(draw=0)
    people = pd.DataFrame({name: scm.codec.decode(name, drawn[name].to_numpy()) for name in scm.columns})
    people = people.astype({"group": "category", "good": bool, "tests": int}).set_axis(np.arange(200) + 7)
    return ca.fit(scm, people, draws=300, chains=1)


def hires(people):
    """A rule that can be read off the levels alone."""
    assert list(people.columns) == ["group", "job", "tests", "grade"]
    assert people.group.dtype == "category"
    assert people.tests.dtype.kind == "i"
    points = people.tests + 2 * (people.job == "desk") + (people.grade == "high") + (people.group == "c")
    return np.where(points >= 3, "yes", "no")


@pytest.mark.filterwarnings("ignore:The program does not give")  # 200 people who are unusual by chance
@pytest.mark.parametrize("contrast", ["c", "b"])
def test_categories_counts_and_vectors_are_enumerated_as_they_are_simulated(three_groups_posterior, contrast):
    options = {"outcome": "good", "y": True, "yhat": "yes", "progress": False}
    protected = {"group": (contrast, "a")}
    exact = ca.decompose_error_rates(three_groups_posterior, hires, protected, population="exact", draws=1, **options)
    simulated = ca.decompose_error_rates(
        three_groups_posterior, hires, protected, draws=300, **{**options, "population": "simulate"}
    )
    assert (exact.settings["contrast"], exact.settings["baseline"]) == (contrast, "a")
    error = simulated.monte_carlo["error"] / np.sqrt(300)
    assert (np.abs(simulated.table["mean"] - exact.table["mean"]) < 4.5 * error + 1e-12).all()
    assert error.max() < 1e-3
    assert np.allclose(simulated.rates["mean"], exact.rates["mean"], atol=2e-3)
    terms = exact.summary()["mean"]
    assert (terms[["total", "indirect", "spurious"]].abs() > 1e-3).all()
    assert (terms["direct"] > 1e-3) == (contrast == "c")  # the rule knows only "c" from the others


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 5), zero=st.booleans())
def test_two_worlds_of_gumbel_noise_have_the_right_margins(seed, k, zero):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(k), 2)
    if zero and k > 2:
        p[0] = q[k - 1] = 0
        p, q = p / p.sum(), q / q.sum()
    joint = np.array([[gumbel_joint(p, np.array(i), q, np.array(j)) for j in range(k)] for i in range(k)])
    assert (joint >= 0).all()
    assert np.allclose(joint.sum(axis=1), p, atol=1e-12)
    assert np.allclose(joint.sum(axis=0), q, atol=1e-12)


def test_two_worlds_of_gumbel_noise_are_those_of_drawn_noise():
    rng = np.random.default_rng(0)
    p, q = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.35, 0.05, 0.2])
    noise = rng.gumbel(size=(400_000, 4))
    one, other = (np.log(p) + noise).argmax(1), (np.log(q) + noise).argmax(1)
    for i, j in itertools.product(range(4), repeat=2):
        share = ((one == i) & (other == j)).mean()
        value = float(gumbel_joint(p, np.array(i), q, np.array(j)))
        assert share == pytest.approx(value, abs=4 * np.sqrt(value / 400_000) + 1e-6)


def test_measures_are_named_with_their_direction():
    result = decompose(SP.scm_b(), draw_tables(np.random.default_rng(0), 200), GENERIC)
    assert list(result.table.columns) == [
        *("decomposition", "term", "mean", "sd", "credible_low", "credible_high", "prob_positive", "observed_total"),
    ]  # fmt: skip
    assert list(result.measures.columns[:4]) == ["measure", "from", "to", "given"]
    assert len(result.measures) == len(MEASURES) == 18
    assert set(result.measures["measure"]) == {"total", "direct", "indirect", "spurious", "ett", "nde", "nie"}
    assert isinstance(result.table.index, pd.RangeIndex)
    assert isinstance(result.measures.index, pd.RangeIndex)
