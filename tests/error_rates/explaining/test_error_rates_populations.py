"""Simulated and weighted people: against enumeration and closed forms, with seeds, workers and results."""

import json

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from finite_programs import (
    GENERIC,
    OPTIMAL_B,
    classifier,
    draw_tables,
    draw_xor,
    free_tables,
    free_xor,
    posterior_of,
    posterior_tables,
    posterior_xor,
)
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import causalaudit as ca
from causalaudit.counterfactuals import population as population_of
from causalaudit.error_rates.explaining.classifier import rate_of
from causalaudit.error_rates.explaining.conditional import ConditionalDiagram
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.explaining.simulated_rates import simulated_rates
from causalaudit.error_rates.explaining.terms import term_values
from causalaudit.errors import CausalAuditWarning
from causalaudit.inference.reweighting import refit

FEATURES = ["X", "W", "Z", "D"]


def tables(n=1000, draws=200, seed=0):
    rng = np.random.default_rng(seed)
    people = draw_tables(rng, n)
    return posterior_of(free_tables(), people, posterior_tables(rng, people, draws))


def xor(n=1000, draws=200, seed=0):
    rng = np.random.default_rng(seed)
    people = draw_xor(rng, n)
    return posterior_of(free_xor(), people, posterior_xor(rng, people, draws))


def question(posterior):
    rate = rate_of(classifier(GENERIC), 1, FEATURES, posterior.data, "Y")
    return RateQuestion("X", (0, 1), "Y", 0, rate)


def decompose(posterior, population="simulate", theta=GENERIC, **options):
    options = {"features": FEATURES, "progress": False, **options}
    return ca.decompose_error_rates(posterior, classifier(theta), "X", outcome="Y", population=population, **options)


@pytest.mark.parametrize("posterior", [tables(), xor()], ids=["tables", "xor"])
def test_simulated_people_agree_with_enumeration_draw_by_draw(posterior):
    exact, simulated = decompose(posterior, "exact"), decompose(posterior)
    error = simulated.monte_carlo["error"].to_numpy()
    raw, _ = simulated_rates(question(posterior), population_of(posterior, kind="simulated"), progress=False)
    gap = term_values(raw) - term_values(exact.draws)
    assert np.allclose(np.sqrt((gap**2).mean(axis=0)), error, rtol=0.25)  # the error is what it is said to be
    assert (simulated.monte_carlo["share"] < 0.1).all()
    assert (np.abs(gap.mean(axis=0)) < 4 * error / np.sqrt(len(gap))).all()
    moved = term_values(simulated.draws)
    assert np.allclose(moved.mean(axis=0), term_values(raw).mean(axis=0), atol=1e-12)
    assert np.allclose(moved.std(axis=0), exact.table["sd"], rtol=0.03)
    assert np.allclose(moved.reshape(-1, 4, 4)[..., 1:].sum(-1), moved.reshape(-1, 4, 4)[..., 0], atol=1e-12)
    natural = exact.measures["measure"].isin(["nde", "nie"]).to_numpy()
    assert np.allclose(simulated.measures.loc[natural, "mean"], exact.measures.loc[natural, "mean"], atol=2e-3)


def test_the_published_simulation(reference_folder):
    """Appendix B.3 at the true coefficients, within three standard errors of both."""
    target = json.loads((reference_folder / "error_rates.json").read_text())["b3"]["bayes_theta_0_2_4_4_MC1e7"]
    scm = ca.models.mediation.true_process()
    drawn = scm.prior_predictive(n=4000, draws=1, seed=0).isel(draw=0).to_dataframe()[list(scm.columns)]
    posterior = ca.fit(scm, drawn, draws=200, chains=1)
    result = ca.decompose_error_rates(
        posterior,
        lambda people: 2 * people.X + 4 * people.W + 4 * people.Z > 0,
        "X",
        outcome="Y",
        y=1,
        population="simulate",
        progress=False,
    )
    found = result.summary()
    own = result.monte_carlo.set_index(["decomposition", "term"])["error"].loc[1] / np.sqrt(200)
    for term, name in (("total", "ER"), ("direct", "ERd"), ("indirect", "ERi"), ("spurious", "ERs")):
        value, error = target[name]
        assert abs(found.loc[term, "mean"] - value) < 3 * np.hypot(error, own[term])
    forward = result.measures[(result.measures["from"] == 0) & (result.measures["to"] == 1)]
    for measure, within in (("nde", 1e-3), ("nie", 1e-3), ("ett", 2e-3)):
        (value,) = forward.loc[forward["measure"] == measure, "mean"]
        assert value == pytest.approx(target[measure.upper()][0], abs=within)


def linear(n):
    """A mediator that is a number, and an outcome of which nothing follows: closed forms."""
    with pyro.plate("individuals", n):
        x = pyro.sample("X", dist.Bernoulli(0.4))
        w = pyro.sample("W", dist.Normal(1.5 * x, 1.0))
        pyro.sample("Y", dist.Bernoulli(0.3 + 0.0 * w))


def test_a_linear_mediator_has_closed_forms():
    scm = ca.SCM(linear)
    drawn = scm.prior_predictive(n=2000, draws=1, seed=1).isel(draw=0).to_dataframe()[list(scm.columns)]
    posterior = ca.fit(scm, drawn, draws=100, chains=1)
    rule = lambda people: people.W + 0.5 * people.X > 1  # noqa: E731
    truth = {(d, i): norm.sf(1 - 0.5 * d - 1.5 * i) for d in (0, 1) for i in (0, 1)}
    parts = [truth[1, 1] - truth[0, 0], truth[1, 0] - truth[0, 0], truth[1, 1] - truth[1, 0], 0.0]
    simulated = ca.decompose_error_rates(posterior, rule, "X", outcome="Y", population="simulate", progress=False)
    error = simulated.monte_carlo["error"].to_numpy()[:4] / np.sqrt(100)
    assert (np.abs(simulated.summary()["mean"].to_numpy() - parts) < 4 * error + 1e-12).all()
    weighted = ca.decompose_error_rates(posterior, rule, "X", outcome="Y", population="bootstrap", progress=False)
    found = weighted.summary()
    assert (np.abs(found["mean"].to_numpy() - parts) < 4 * found["sd"]).all()
    assert found["sd"].between(0.005, 0.05).all()


# The bootstrap


@pytest.mark.parametrize(("make", "draw"), [(tables, draw_tables), (xor, draw_xor)], ids=["tables", "xor"])
def test_weighted_people_agree_with_the_population_of_the_scm_when_they_are_many(make, draw):
    posterior = make(n=8_000, draws=60)
    weighted, exact = decompose(posterior, "bootstrap"), decompose(posterior, "exact")
    gap = np.abs(weighted.table["mean"] - exact.table["mean"])
    assert (gap < 3.5 * weighted.table["sd"] + 1e-12).all()
    assert (weighted.table["sd"] < 0.03).all()
    measures = np.abs(weighted.measures["mean"] - exact.measures["mean"])
    assert (measures < 3.5 * weighted.measures["sd"] + 1e-12).all()


def test_parameters_are_refitted_to_the_weights():
    """A few steps in log-odds end near the weighted mode, whose closed form is known."""
    posterior = xor(n=2000)
    weights = np.random.default_rng(1).standard_exponential((50, 2000))
    weights /= weights.mean(axis=1, keepdims=True)
    refitted = refit(posterior, weights, seed=0).parameters()
    people = posterior.data
    flips = (people["X"] + people["Z"]) % 2
    exact = (weights @ flips + 1) / (2000 + 2)  # Beta(1, 1) and the Jacobian of log-odds
    assert refitted["p_X"].shape == (50,)
    assert np.abs(refitted["p_X"] - exact).max() < 0.05 * exact.std()
    equal = refit(posterior, np.ones((1, 2000)), seed=0).parameters()
    assert equal["p_Z"][0] == pytest.approx((people["Z"].sum() + 1) / 2002, abs=1e-6)


def test_a_program_without_parameters_has_weighted_people_too():
    people = draw_tables(np.random.default_rng(0), 3000)
    posterior = ca.fit(ca.models.standard_prediction.scm_b(), people, draws=50, chains=1)
    weighted, exact = decompose(posterior, "bootstrap", OPTIMAL_B), decompose(posterior, "exact", OPTIMAL_B)
    assert (exact.table["sd"] < 1e-12).all()
    assert (np.abs(weighted.table["mean"] - exact.table["mean"]) < 4 * weighted.table["sd"]).all()


def test_a_latent_cause_is_abducted_under_the_weights():
    def program(n):
        slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
        base = pyro.sample("base", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            u = pyro.sample("U", dist.Bernoulli(0.5))
            x = pyro.sample("X", dist.Bernoulli(0.2 + 0.6 * u))
            w = pyro.sample("W", dist.Bernoulli(logits=base + slope * x + u))
            pyro.sample("Y", dist.Bernoulli(0.2 + 0.5 * w))

    scm = ca.SCM(program, latents=["U"])
    drawn = scm.prior_predictive(n=1500, draws=1, seed=4).isel(draw=0)
    people = pd.DataFrame({name: drawn[name].to_numpy().astype(int) for name in scm.columns})
    posterior = ca.fit(scm, people, draws=60, chains=1)
    rule = classifier((0.1, 0.6, 0.3, 0.9), ("X", "W"))
    results = {
        kind: ca.decompose_error_rates(
            posterior, rule, "X", outcome="Y", features=["X", "W"], population=kind, progress=False
        ).table
        for kind in ("exact", "simulate", "bootstrap")
    }
    assert np.allclose(results["exact"]["mean"], results["simulate"]["mean"], atol=2e-3)
    gap = np.abs(results["exact"]["mean"] - results["bootstrap"]["mean"])
    assert (gap < 3.5 * np.hypot(results["bootstrap"]["sd"], results["exact"]["sd"]) + 1e-12).all()


# Seeds and workers


@pytest.mark.parametrize(
    ("population", "workers"),
    [pytest.param("simulate", 2, marks=pytest.mark.slow), ("bootstrap", 1), ("standardise", 2)],
)
def test_the_same_seed_gives_the_same_bits_for_any_chunks_and_workers(population, workers, monkeypatch):
    from causalaudit.counterfactuals import reweighted as weighted
    from causalaudit.counterfactuals import simulated

    posterior = tables(n=300, draws=30)
    torch.manual_seed(3)
    state = torch.get_rng_state()
    one = decompose(posterior, population, seed=4).draws
    assert torch.equal(torch.get_rng_state(), state)
    monkeypatch.setattr(weighted, "_BUDGET", 3000)  # ten draws in a pass
    monkeypatch.setattr(simulated, "_BUDGET", 10 * 1024)
    with joblib.parallel_config("loky", n_jobs=workers):
        two = decompose(posterior, population, seed=4).draws
    assert np.array_equal(one, two)
    assert not np.array_equal(one, decompose(posterior, population, seed=5).draws)


def test_some_of_the_draws():
    posterior = tables(draws=100)
    assert decompose(posterior, draws=7).draws.shape == (7, 2, 2, 3)
    whole, some = decompose(posterior, "exact").draws, decompose(posterior, "exact", draws=7).draws
    assert np.allclose(some, whole[posterior.draw_numbers(7)], rtol=0, atol=1e-14)


# Classifiers


def test_a_fitted_classifier_is_shown_the_columns_it_knows():
    posterior = tables(draws=20)
    names = ["W", "X"]
    fitted = LogisticRegression().fit(posterior.data[names], posterior.data["Y"])
    result = ca.decompose_error_rates(posterior, fitted, "X", outcome="Y", population="exact")
    assert result.settings["features"] == names
    by_hand = ca.decompose_error_rates(
        posterior, lambda people: fitted.predict(people[names]), "X", outcome="Y", features=names, population="exact"
    )
    assert np.array_equal(result.draws, by_hand.draws)


def test_labels_and_their_probabilities_are_the_same_for_a_deterministic_rule():
    posterior = tables(draws=20)
    for answer in (bool, int, float):
        rule = lambda people, answer=answer: (people["W"] + people["X"] > 1).to_numpy().astype(answer)  # noqa: E731
        result = ca.decompose_error_rates(posterior, rule, "X", outcome="Y", population="exact", yhat=1)
        assert result.summary().loc["total", "mean"] == pytest.approx(
            decompose_rule(posterior).summary().loc["total", "mean"]
        )


def decompose_rule(posterior):
    words = lambda people: np.where(people["W"] + people["X"] > 1, "high", "low")  # noqa: E731
    return ca.decompose_error_rates(posterior, words, "X", outcome="Y", population="exact", yhat="high")


# Results


def test_results_summarise_their_draws():
    result = decompose(tables(), "exact", prob=0.8)
    values = term_values(result.draws)
    assert np.allclose(result.table["mean"], values.mean(axis=0))
    assert np.allclose(result.table["prob_positive"], (values > 0).mean(axis=0))
    inside = (values >= result.table["credible_low"].to_numpy()) & (values <= result.table["credible_high"].to_numpy())
    assert (inside.mean(axis=0) >= 0.8).all()
    assert list(result.summary().index) == ["total", "direct", "indirect", "spurious"]
    assert "P(1 | Y = 0) of X = 1 minus 0, by exact" in repr(result)
    group = result.to_inference_data()["posterior"]
    assert group["rate"].sel(read="1", made_by="0", given="everybody").shape == (1, 200)
    assert np.allclose(group["contribution"].sel(term="total"), values[:, ::4])
    assert result.settings["coupling"]["W"] == "monotone"


def test_two_answers_beside_one_another():
    posterior = tables(draws=50)
    rule, features = classifier((0.1, 0.5, 0.4, 0.9), ("X", "Z")), ["X", "Z"]
    scm = ca.decompose_error_rates(posterior, rule, "X", outcome="Y", features=features, population="exact")
    data = ca.estimate_error_rates(
        posterior.data, posterior.scm.graph, rule, protected="X", outcome="Y", features=features
    )
    table = scm.beside(data)
    assert list(table.columns) == [
        *("decomposition", "term", "mean_exact", "low_exact", "high_exact", "mean_doubly_robust", "low_doubly_robust", "high_doubly_robust"),  # noqa: E501
        "difference",
    ]  # fmt: skip
    assert np.allclose(table["difference"], data.table["mean"] - scm.table["mean"])
    assert (table["difference"].abs() < 0.05).all()
    assert list(scm.beside(scm).columns[2:5]) == ["mean_exact_1", "low_exact_1", "high_exact_1"]
    assert list(data.beside(scm).columns[2:4]) == ["mean_doubly_robust", "low_doubly_robust"]
    assert "by doubly_robust" in repr(data)
    assert "mean" in data.to_inference_data()["constant_data"]


# Plots


def test_contributions_are_stacked():
    result = decompose(tables(), "exact")
    ax = ca.plots.plot_contributions({"one": result, "two": result}, decomposition=3)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["one", "two"]
    heights = [bar.get_height() for bar in ax.patches[:3]]
    assert sum(heights) == pytest.approx(result.table.loc[8, "mean"])
    assert result.plot(plt.figure().gca()).get_ylabel().startswith("P(Ŷ = 1 | Y = 0), 1 minus 0")


def test_what_is_not_identified_is_drawn_as_one_block():
    posterior = tables(draws=20)
    with pytest.warns(CausalAuditWarning, match="stays open"):
        part = ca.estimate_error_rates(
            posterior.data, posterior.scm.graph, classifier(GENERIC), protected="X", outcome="Y", features=FEATURES
        )
    ax = part.plot()
    hatched = [bar for bar in ax.patches if bar.get_hatch()]
    assert len(hatched) == 1
    known = part.summary()["mean"]
    assert hatched[0].get_height() == pytest.approx(known["total"] - known["direct"])
    assert "not told apart" in [text.get_text() for text in ax.get_legend().get_texts()]


COMPAS = ca.diagram([("X", "W"), ("X", "Y"), ("Z", "W"), ("Z", "Y"), ("W", "Y")], bidirected=[("X", "Z")])


def test_the_diagram_given_the_outcome():
    """Figures 2 and 3: which paths are active for which features."""

    def kinds(features):
        return {kind for kind, _ in ConditionalDiagram.of(COMPAS, features, "X", "Y").paths()}

    assert kinds(["X"]) == {"direct"}
    assert kinds(["W"]) == {"indirect", "spurious"}
    assert kinds(["Z"]) == {"spurious"}
    assert kinds(["X", "W", "Z"]) == {"direct", "indirect", "spurious"}
    given = ConditionalDiagram.of(COMPAS, ["X", "W", "Z"], "X", "Y")
    assert "Y" not in given.directed
    assert frozenset({"W", "Z"}) in given.bidirected  # explaining away


def test_no_outcome_no_new_dependence():
    graph = ca.diagram([("Z", "W"), ("X", "W"), ("W", "V"), ("A", "Y")])
    given = ConditionalDiagram.of(graph, ["X", "W", "Z"], "X", "Y")
    assert not given.bidirected
    assert {kind for kind, _ in given.paths()} == {"direct", "indirect"}


def test_a_latent_cause_joins_a_variable_to_the_causes_of_the_outcome():
    graph = ca.diagram([("X", "Y"), ("A", "Y")], bidirected=[("A", "B")])
    given = ConditionalDiagram.of(graph, ["X", "B"], "X", "Y")
    assert frozenset({"X", "B"}) in given.bidirected


def test_the_diagram_is_drawn_with_its_paths():
    ax = ca.plots.plot_conditional_diagram(COMPAS, ["X", "W", "Z"], "X", outcome="Y")
    assert {text.get_text() for text in ax.texts} >= {"X", "W", "Z", "Ŷ"}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["direct", "indirect", "spurious"]
