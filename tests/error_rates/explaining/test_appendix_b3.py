"""Appendix B.3 of Zhang and Bareinboim: its stable target by integration, by simulation, and in people."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm

import causalaudit as ca

TERMS = ["total", "direct", "indirect", "spurious"]
PRINTED = [0.0833, 0.0894, 0.0176, -0.0237]


def rule(people):
    """θ = (0, 2, 4, 4)."""
    return (2 * people["X"] + 4 * people["W"] + 4 * people["Z"] > 0).astype(int)


def people_of_b3(n, seed):
    drawn = ca.models.mediation.true_process().prior_predictive(n=n, draws=1, seed=seed).isel(draw=0)
    return pd.DataFrame({name: drawn[name].to_numpy() for name in "ZXWY"}).astype({"X": int, "Y": int})


def integrated():
    """The terms by quadrature over Z and the noise of W: midpoints of a fine grid of quantiles."""
    z = norm.ppf((np.arange(1500) + 0.5) / 1500)[:, None]
    noise = norm.ppf((np.arange(1500) + 0.5) / 1500)[None, :]

    def rate(read, made_by, given):
        has = expit(z) if given else expit(-z)
        own = 0.5 * given + 0.5 * z + noise
        weight = has * expit(2 * given + 4 * own + 4 * z)
        other = 0.5 * made_by + 0.5 * z + noise
        return (weight * (2 * read + 4 * other + 4 * z > 0)).sum() / weight.sum()

    n000, n100, n110, n111 = rate(0, 0, 0), rate(1, 0, 0), rate(1, 1, 0), rate(1, 1, 1)
    return [n111 - n000, n100 - n000, n110 - n100, n111 - n110]


def test_integration_gives_the_target(reference_folder):
    expected = json.loads((reference_folder / "error_rates.json").read_text())["b3"]["bayes_theta_0_2_4_4_MC1e7"]
    raw = [expected[name] for name in ("ER", "ERd", "ERi", "ERs")]  # already with the signs of the additive terms
    for found, (value, error) in zip(integrated(), raw, strict=True):
        assert abs(found - value) < 3 * error


def test_integration_gives_the_printed_target():
    assert integrated() == pytest.approx(PRINTED, abs=2e-4)


def test_simulated_people():
    """The program has no parameters: results differ by the simulated people alone, and so by their seed."""
    posterior = ca.fit(ca.models.mediation.true_process(), people_of_b3(50, 0), draws=20, chains=1)
    found = []
    for seed in range(20):
        result = ca.decompose_error_rates(
            posterior,
            rule,
            "X",
            outcome="Y",
            features=["X", "W", "Z"],
            y=1,
            yhat=1,
            population="simulate",
            seed=seed,
            progress=False,
        )
        found.append(result.table[result.table["decomposition"] == 1].set_index("term").loc[TERMS, "mean"])
    errors = np.std(found, axis=0, ddof=1) / np.sqrt(20)
    assert (errors < 3e-4).all()
    assert (np.abs(np.mean(found, axis=0) - integrated()) < 3 * errors).all()


def test_the_people_of_a_fair_classifier():
    """The terms a classifier is bounded by, in 12 samples of 5,000 people: the mean, within three errors."""
    posterior = ca.fit(ca.models.mediation.true_process(), people_of_b3(50, 0), draws=1, chains=1)
    settings = {"posterior": posterior, "draws": 1, "eps_total": 1.0, "y": 1}
    found = []
    for seed in range(12):
        people = people_of_b3(5_000, seed)
        classifier = ca.FairClassifier(None, "X", "Y", **settings)
        problem = classifier._problem(people[["X", "W", "Z"]], people["Y"], None, ("total",), reset=True)
        found.append(problem.terms.values(rule(problem.terms.rows).to_numpy())[TERMS].to_numpy())
    errors = np.std(found, axis=0, ddof=1) / np.sqrt(12)
    assert (errors < 0.005).all()
    assert (np.abs(np.mean(found, axis=0) - integrated()) < 3 * errors).all()
