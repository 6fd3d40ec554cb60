"""Error rates of surveys: people with weights stand for a population in which they are rarer, or more frequent."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from finite_programs import classifier, draw_tables, table_program
from misfits import FEATURES, RULES, expit, linear, noise, true_terms, world
from scipy.stats import binom
from surveys import sample_survey

import causalaudit as ca
from causalaudit.error_rates.explaining.classifier import Rate
from causalaudit.error_rates.explaining.estimators import Estimator
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.explaining.sample import Sample
from causalaudit.errors import CausalAuditWarning, DataError

# W does not act on Y, so that Z explains a classifier of X, W and Z.
TABLES = {"Z": (0.6,), "X": (0.3, 0.7), "W": (0.2, 0.5, 0.45, 0.75), "Y": (0.15, 0.3, 0.4, 0.6)}
PARENTS = {"Z": (), "X": ("Z",), "W": ("Z", "X"), "Y": ("Z", "X")}
RULE = classifier((0.1, 0.7, 0.3, 0.9, 0.35, 0.8, 0.6, 0.95), ("X", "W", "Z"))
GRAPH = table_program(TABLES, PARENTS).graph


def survey_of_tables(seed, n=3000):
    """About a quarter of n people: mostly those with W, more so if they have X."""
    rng = np.random.default_rng(seed)
    people = draw_tables(rng, n, TABLES, PARENTS)
    return sample_survey(rng, people, (0.08 + 0.3 * people.W + 0.15 * people.X * people.W + 0.1 * people.Z).to_numpy())


def estimate(people, weights="w", rule=RULE, **options):
    options = {"protected": "X", "outcome": "Y", "features": ["X", "W", "Z"], **options}
    return ca.estimate_error_rates(people, GRAPH, rule, weights=weights, progress=False, **options)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:method='plugin' with continuous covariates")
@pytest.mark.parametrize("kind", ["saturated", "weights", "responses", "robust"])
def test_the_influence_of_a_person_is_their_weight_times_the_slope_in_it(kind):
    people = survey_of_tables(3, 1200)
    people["C"] = people["Z"] + np.random.default_rng(4).normal(size=len(people)).round(1)
    question = RateQuestion("X", (0, 1), "Y", 0, Rate(RULE, 1, "Y", ("X", "W", "Z")))
    covariates = ["Z"] if kind == "saturated" else ["Z", "C"]
    sample = Sample.of(question, people, covariates, mediators=["W"], weights=people["w"].to_numpy())
    method = {"responses": "plugin", "robust": "doubly_robust"}.get(kind, "ipw")
    adjustment = Estimator.of(method, "logistic" if kind == "robust" else "auto", None, 0).fit(sample)
    counts = sample.counts
    rates = adjustment.crossed(counts[None])[0]
    influence, own = adjustment.influence(rates), sample.own_influence(sample.own_rates(counts[None])[0])
    for person in (0, 5, 17, 100):
        step = np.zeros(len(sample))
        step[person] = 1e-4
        for function, known in ((adjustment.crossed, influence), (sample.own_rates, own)):
            slope = (function((counts + step)[None]) - function((counts - step)[None]))[0] / 2e-4 * len(sample)
            assert np.allclose(counts[person] * slope, known[person], rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:method='plugin' with continuous covariates")
@pytest.mark.parametrize(("method", "propensity"), [("ipw", "auto"), ("ipw", "logistic"), ("plugin", "logistic")])
def test_weights_of_replication_give_the_estimates_of_replicated_rows(method, propensity):
    people = survey_of_tables(0, 2000).drop(columns="w")
    copies = np.random.default_rng(1).integers(0, 4, len(people))
    weighted = estimate(people.assign(w=copies), method=method, propensity=propensity)
    replicated = people.loc[np.repeat(np.arange(len(people)), copies)].reset_index(drop=True)
    expected = estimate(replicated, None, method=method, propensity=propensity)
    assert np.allclose(weighted.table["mean"], expected.table["mean"], atol=1e-7)
    assert np.allclose(weighted.balance["after"], expected.balance["after"], atol=1e-7)
    assert (weighted.table["sd"] > 1.1 * expected.table["sd"]).any()  # copies are not people
    other = estimate(people.assign(w=10.0 * copies).iloc[copies > 0], method=method, propensity=propensity)
    pd.testing.assert_frame_equal(other.table, weighted.table)


def test_wald_and_bootstrap_intervals_of_a_survey_agree():
    people = survey_of_tables(1, 8000)
    wald, drawn = estimate(people), estimate(people, interval="bootstrap", resamples=1000)
    assert np.allclose(drawn.table["mean"], wald.table["mean"])
    assert np.allclose(drawn.table["sd"], wald.table["sd"], rtol=0.12, atol=1e-12)
    assert wald.settings["weights"] == "w"
    assert (wald.weights["effective_people"] < wald.weights["people"]).all()


@pytest.mark.slow
def test_models_are_fitted_to_the_population():
    """Doubly robust with flexible models, of a survey large enough to show what weights change."""
    people = survey_of_tables(2, 30_000)
    people["C"] = people["Z"] + 0.3 * np.random.default_rng(0).normal(size=len(people))
    graph = ca.diagram([("C", "X"), ("C", "W"), ("X", "W"), ("C", "Y"), ("X", "Y")])
    rule = lambda them: (them.W + them.X >= 1).astype(int)  # noqa: E731
    options = {"protected": "X", "outcome": "Y", "features": ["X", "W"], "progress": False}
    found = ca.estimate_error_rates(people, graph, rule, weights="w", **options)
    population = draw_tables(np.random.default_rng(5), 60_000, TABLES, PARENTS)
    population["C"] = population["Z"] + 0.3 * np.random.default_rng(6).normal(size=len(population))
    expected = ca.estimate_error_rates(population, graph, rule, **options)
    error = np.hypot(found.table["sd"], expected.table["sd"]) + 1e-9
    assert (np.abs(found.table["mean"] - expected.table["mean"]) < 3.5 * error).all()
    unweighted = ca.estimate_error_rates(people, graph, rule, **options)
    assert (np.abs(unweighted.table["mean"] - expected.table["mean"]) > 3.5 * error).any()


def test_too_few_people_with_a_weight_are_refused():
    people = survey_of_tables(0, 800)
    people["w"] = people["w"].where(people["X"] == 0, 0.0)
    with pytest.raises(DataError, match=r"has 1 levels|Only 0 people"):
        estimate(people)


# Of a posterior


def survey_of_the_linear_process(seed, n=600):
    """People who are sampled by W, X and Y."""
    rng = np.random.default_rng(seed)
    people = world("linear", noise(rng, 6 * n))
    chance = 0.05 + 0.9 * expit(-1.5 + 0.9 * people.W + 0.6 * people.X + 0.5 * people.Y).to_numpy()
    return sample_survey(rng, people, chance).head(n)


def explained(people, weights="w", rule="linear", population="standardise", seed=0):
    posterior = ca.fit(ca.SCM(linear), people, weights=weights, draws=200, chains=1, seed=seed, progress=False)
    options = {"outcome": "Y", "features": FEATURES, "population": population, "progress": False}
    return ca.decompose_error_rates(posterior, RULES[rule], "X", **options)


def test_the_total_of_weighted_people_is_that_of_the_population():
    people = survey_of_the_linear_process(0, 400)
    result = explained(people)
    answers = RULES["linear"](people).to_numpy(dtype=float)
    groups = [((x == people.X) & (people.Y == 0)).to_numpy() for x in (0, 1)]
    rates = [np.average(answers[own], weights=people.w[own]) for own in groups]
    assert result.summary().loc["total", "mean"] == pytest.approx(rates[1] - rates[0], abs=1e-12)
    assert result.observed["observed"].to_numpy() == pytest.approx([*rates, rates[1] - rates[0]])
    assert not result.observed["refuted"].any()
    variance = sum(
        ((people.w[own] * (answers[own] - rate)) ** 2).sum() / people.w[own].sum() ** 2
        for own, rate in zip(groups, rates, strict=True)
    )
    assert result.summary().loc["total", "sd"] == pytest.approx(np.sqrt(variance), rel=0.15)  # of 200 draws
    assert result.settings["weights"] == "w"


@pytest.mark.slow
def test_the_spread_of_a_survey_is_that_of_refitted_parameters():
    people = survey_of_the_linear_process(1)
    found, refitted = (explained(people, rule="score", population=name) for name in ("standardise", "bootstrap"))
    assert np.allclose(found.table["sd"], refitted.table["sd"], rtol=0.25)
    assert (np.abs(found.table["mean"] - refitted.table["mean"]) < 0.35 * found.table["sd"]).all()


def coverage(answer, truth, seeds, ends):
    """How often intervals hold the truth."""
    held = []
    for seed in seeds:
        table = answer(seed).table
        low, high = (table[f"{ends}_{end}"].to_numpy() for end in ("low", "high"))
        held.append((low - 1e-12 <= truth) & (truth <= high + 1e-12))
    return np.mean(held, axis=0)


def bounds(number):
    """99 % binomial bounds of a coverage of 90 %."""
    return binom.ppf([0.005, 0.995], number, 0.9) / number


@pytest.mark.slow
def test_intervals_of_estimates_cover_and_unweighted_ones_do_not():
    people = draw_tables(np.random.default_rng(0), 500, TABLES, PARENTS)
    exact = ca.decompose_error_rates(
        ca.fit(table_program(TABLES, PARENTS), people, draws=1, chains=1),
        RULE, "X", outcome="Y", features=["X", "W", "Z"], population="exact",
    )  # fmt: skip
    truth, number = exact.table["mean"].to_numpy(), 1000
    answer = lambda seed, **options: estimate(survey_of_tables(seed), alpha=0.1, **options)  # noqa: E731
    found = coverage(answer, truth, range(number), "wald")
    low, high = bounds(number)
    assert ((low <= found) & (found <= high)).all(), found
    assert (coverage(partial(answer, weights=None), truth, range(100), "wald") < 0.5).sum() >= 4


def coverage_of_decompositions(seeds, population, weights="w"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CausalAuditWarning)  # a program that is right is refuted now and then
        return coverage(
            lambda seed: explained(survey_of_the_linear_process(seed), weights, "band", population, seed),
            np.tile(true_terms("linear", "band"), 4), seeds, "credible",
        )[:4]  # fmt: skip


@pytest.mark.slow
def test_intervals_of_decompositions_cover():
    """Of the first decomposition: total, direct, indirect, spurious."""
    number = 20
    found = coverage_of_decompositions(range(number), "standardise")
    low, _ = bounds(number)
    assert (found >= low).all(), found
