"""Scores, expectations and searches of the bias scan against definitions, closed forms and scikit-learn."""

import dataclasses
from itertools import combinations, product

import numpy as np
import pytest
from bias_scan_people import biased
from bias_scan_questions import PROTECTED, SCANS, evidence_of, person_by_person, question_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import causalaudit as ca
from causalaudit.bias_scan.evidence import scores
from causalaudit.bias_scan.evidence.ascent import Ascent
from causalaudit.bias_scan.evidence.expectations import EstimatorModels, LogisticModels
from causalaudit.bias_scan.evidence.lattice import Lattice
from causalaudit.bias_scan.evidence.scores import Evidence, maximise
from causalaudit.bias_scan.evidence.search import SubgroupSearch


def definition(event, expected, sigma, positive):
    """F(S) of Table 2, by a search over its parameter."""
    if not len(event):
        return 0.0
    if sigma:
        delta = np.log(event / (1 - event)) - np.log(expected / (1 - expected))
        mu = delta.mean()
        return (2 * mu * delta.sum() - len(delta) * mu**2) / 2 / sigma**2 if (mu > 0) == positive else 0.0

    def loss(log_q):
        q = np.exp(log_q)
        return -(event * log_q - np.log(q * expected - expected + 1)).sum()

    bounds = (0, 40) if positive else (-40, 0)
    return max(0.0, -minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-10}).fun)


def dispersion_by_definition(people, question, strata, chance):
    """Pearson's dispersion of predictions among the others, person by person; 1 for anything else."""
    if question.gaussian or not question.criterion.probabilities:
        return 1.0
    others = np.flatnonzero(~question.protected & question.inside)
    expected = chance[np.searchsorted(strata.kept, strata.stratum_of[strata.record_of[others]])]
    return np.mean((people.p.to_numpy()[others] - expected) ** 2 / (expected * (1 - expected)))


def brute_force(people, features, penalty, direction, scan):
    """The best of all subgroups, from the definition, person by person."""
    question, strata, _, chance = evidence_of(people, features=features, direction=direction, **scan)
    where, event, expected = person_by_person(question, strata, chance)
    sigma, positive = question.sigma if question.gaussian else None, direction == "positive"
    spread = dispersion_by_definition(people, question, strata, chance)
    best = (0.0, None)
    levels = {name: sorted(people[name].unique()) for name in features}
    sets = [
        [list(part) for size in range(1, len(values) + 1) for part in combinations(values, size)]
        for values in levels.values()
    ]
    for choice in product(*sets):
        inside = np.logical_and.reduce(
            [people[name].isin(values).to_numpy()[where] for name, values in zip(features, choice, strict=True)]
        )
        listed = {
            name: values for name, values in zip(features, choice, strict=True) if len(values) < len(levels[name])
        }
        score = definition(event[inside], expected[inside], sigma, positive) / spread
        score -= penalty * sum(map(len, listed.values()))
        if score > best[0] + 1e-7:
            best = (score, listed)
    return best


@pytest.mark.parametrize("direction", ["positive", "negative"])
@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("penalty", [0.0, 0.5])
def test_the_optimum_is_that_of_the_definition(scan, direction, penalty):
    people = biased(300, seed=3, sizes=(2, 3))
    features = ["x1", "x2"]
    score, subgroup = brute_force(people, features, penalty, direction, SCANS[scan])
    result = ca.scan_bias(
        people, PROTECTED, "y", features=features, penalty=penalty, direction=direction, **SCANS[scan]
    )
    assert result.score == pytest.approx(score, abs=1e-6)
    assert result.subgroup == subgroup
    assert result.certified


@pytest.mark.parametrize("scan", SCANS)
def test_ascent_finds_what_exhaustion_finds(scan):
    people = biased(600, seed=1, sizes=(2, 3, 3, 2))
    _, strata, evidence, _ = evidence_of(people, features=["x1", "x2", "x3", "x4"], **SCANS[scan])
    search = SubgroupSearch.plan(strata.cells, (2, 3, 3, 2), 0.3, 100, 0)
    assert search.exhaustive
    everything = search.best(evidence)
    climbed = dataclasses.replace(search, exhaustive=False).best(evidence)
    assert climbed[0].score == pytest.approx(everything[0].score, abs=1e-9)
    for one, other in zip(climbed[0].masks, everything[0].masks, strict=True):
        np.testing.assert_array_equal(one, other)


def random_evidence(rng, cells, gaussian):
    size = rng.integers(0, 12, cells).astype(float)
    chance = rng.uniform(0.05, 0.95, cells)
    total = rng.normal(0, 1, cells) * size if gaussian else rng.binomial(size.astype(int), chance).astype(float)
    return Evidence(size[None], total[None], chance[None], np.arange(cells), gaussian, rng.uniform(0.5, 2, 1))


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.2, 1.0]))
def test_a_step_of_the_ascent_is_exact(seed, gaussian, penalty):
    """One feature: a single step must find the best of all sets of values."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 7))
    evidence = random_evidence(rng, size, gaussian)
    cells = np.arange(size)[:, None]
    profiles = evidence.profiles(size)
    lattice = Lattice((size,))
    best = lattice.scores(profiles, cells, evidence.nodes, penalty).max()
    start = rng.random((1, size)) < 0.5
    start[0, 0] |= not start.any()
    ascent = Ascent(profiles[0], cells, (size,), evidence.nodes, penalty)
    states, _ = ascent._step(start, np.zeros(1, dtype=bool), 0)
    assert ascent._score(states)[0] == pytest.approx(best, abs=1e-8)


@given(st.integers(0, 10_000), st.booleans())
def test_tabulated_scores_are_exact_ones(seed, gaussian):
    rng = np.random.default_rng(seed)
    evidence = random_evidence(rng, 8, gaussian)
    profiles = evidence.profiles(8)[0]
    inside = rng.random(8) < 0.6
    tabulated, shift = maximise(profiles[inside].sum(axis=0), evidence.nodes)
    exact, at = evidence.exact(inside)
    assert float(tabulated) == pytest.approx(exact, abs=1e-7 * (1 + evidence.size.sum()) / evidence.dispersion[0])
    if 0.01 < at < 10:
        assert float(shift) == pytest.approx(at, abs=1e-3)


@given(st.integers(0, 10_000))
def test_fewer_nodes_are_enough_where_no_score_rises_beyond_them(seed):
    """The same scores, bit for bit, as with all nodes."""
    rng = np.random.default_rng(seed)
    size = rng.integers(5, 80, (3, 8)).astype(float)
    chance = rng.uniform(0.2, 0.8, (3, 8))
    evidence = Evidence(size, (size * chance).round(), chance, np.arange(8), False, np.ones(3))
    everything = Evidence(size, (size * chance).round(), chance, np.arange(8), False, np.ones(3))
    everything.__dict__["nodes"] = scores._BERNOULLI_NODES
    lattice, cells = Lattice((2, 4)), np.array(list(np.ndindex(2, 4)))
    few, all_ = (lattice.scores(one.profiles(8), cells, one.nodes, 0.5) for one in (evidence, everything))
    assert len(evidence.nodes) < len(everything.nodes)
    np.testing.assert_array_equal(few, all_)


def test_scores_of_certain_events():
    """Nothing but events: the factor is infinite, the ratio that of the limit; nothing expected more: zero."""
    size, total, chance = np.array([[3.0, 5.0]]), np.array([[3.0, 1.0]]), np.array([[0.2, 0.5]])
    evidence = Evidence(size, total, chance, np.arange(2), False, np.ones(1))
    assert evidence.exact(np.array([True, False])) == (pytest.approx(-3 * np.log(0.2)), np.inf)
    assert evidence.exact(np.array([False, True])) == (0.0, 0.0)
    assert evidence.exact(np.array([False, False])) == (0.0, 0.0)


def test_a_gaussian_score_in_closed_form():
    people = biased(200, seed=5)
    question, strata, evidence, chance = evidence_of(people, features=["x1"], prediction="p", given=0, scale="paper")
    _, event, expected = person_by_person(question, strata, chance)
    delta = np.log(event / (1 - event)) - np.log(expected / (1 - expected))
    ratio, shift = evidence.exact(np.ones(len(strata.kept), dtype=bool))
    assert shift == pytest.approx(max(delta.mean(), 0))
    assert ratio == pytest.approx(len(delta) * max(delta.mean(), 0) ** 2 / 2)


# Predictions, which sufficiency conditions on, have no single values to filter on.
FILTERED = [
    (scan, given) for scan in SCANS for given in (None, 0, 1) if given is None or scan != "sufficiency of predictions"
]


@pytest.mark.parametrize(("scan", "given"), FILTERED)
def test_expectations_are_those_of_scikit_learn(scan, given):
    """The default, Newton's method on counts, against converged fits to people (and pairs of records) one by one."""
    people = biased(400, seed=2, number=True)
    question = question_of(people, features=["x1", "x2", "age"], given=given, **SCANS[scan])
    strata = question.strata()
    protected = strata.protected_counts(question.protected)[None]
    own = LogisticModels().expect(strata, protected)
    theirs = EstimatorModels().expect(strata, protected)
    np.testing.assert_allclose(own.propensity, theirs.propensity, atol=1e-6)
    np.testing.assert_allclose(own.chance, theirs.chance, atol=1e-6)
    status = LogisticModels().status(strata, protected[0])
    np.testing.assert_allclose(status, EstimatorModels().status(strata, protected[0]), atol=1e-6)
