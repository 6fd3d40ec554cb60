"""The people of the data and the mechanisms of the program: the total is the observed one, whatever the program is."""

import warnings

import numpy as np
import pytest
from finite_programs import GENERIC, OPTIMAL_B, classifier, draw_tables, free_tables, posterior_of, posterior_tables
from misfits import RULES, WRONG, explain, people_of, posterior_of_people, true_terms

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, DataError

FEATURES = ["X", "W", "Z", "D"]


def tables(n, draws, seed=0):
    rng = np.random.default_rng(seed)
    people = draw_tables(rng, n)
    return posterior_of(free_tables(), people, posterior_tables(rng, people, draws))


def decompose(posterior, population="standardise", theta=GENERIC, **options):
    options = {"features": FEATURES, "progress": False, **options}
    return ca.decompose_error_rates(posterior, classifier(theta), "X", outcome="Y", population=population, **options)


def test_the_total_is_the_observed_one_though_the_program_is_wrong():
    people = people_of("uneven W", 1000, 0)
    posterior = posterior_of_people(people)
    with pytest.warns(CausalAuditWarning, match="total of the data, but it is divided by mechanisms of this program"):
        result = explain(posterior, "band")
    answers = RULES["band"](people)
    observed = [answers[(x == people.X) & (people.Y == 0)].mean() for x in (0, 1)]
    totals = result.table[result.table["term"] == "total"]
    assert np.allclose(totals["mean"], observed[1] - observed[0], rtol=0, atol=1e-12)
    assert np.allclose(totals["mean"], totals["observed_total"], rtol=0, atol=1e-12)
    assert np.allclose([result.rates["mean"][0], result.rates["mean"][10]], observed, rtol=0, atol=1e-12)
    assert abs(result.observed["difference"].iloc[2]) > 0.1  # that of the program is another
    error = np.sqrt(sum(p * (1 - p) / ((x == people.X) & (people.Y == 0)).sum() for x, p in enumerate(observed)))
    assert totals["sd"].to_numpy() == pytest.approx(error, rel=0.25)  # of 100 draws; people are a sample
    parts = result.table["mean"].to_numpy().reshape(4, 4)
    assert np.allclose(parts[:, 1:].sum(axis=1), parts[:, 0], atol=1e-12)
    assert result.settings["method"] == "standardise"
    assert result.intervals["about"].tolist() == ["the population that the people are a sample of"]
    assert result.verdicts["sampling"].isna().all()


def test_they_agree_with_the_population_of_the_program_when_they_are_many():
    posterior = tables(8000, 60)
    found, exact = decompose(posterior), decompose(posterior, "exact")
    for one, other in ((found.table, exact.table), (found.measures, exact.measures)):
        assert (np.abs(one["mean"] - other["mean"]) < 3.5 * one["sd"] + 1e-12).all()
    assert (found.table["sd"] < 0.03).all()


def test_their_spread_is_that_of_refitted_parameters():
    """Two ways to the same variance: influences by covariances over draws, and weights with refitted parameters.

    No noise is discrete here, whose draws a refitted bootstrap would add. A spread of 200 draws is known to 5 %.
    """
    posterior = posterior_of_people(people_of("linear", 1000, 3))
    found, refitted = (explain(posterior, "score", population=name, draws=200) for name in ("standardise", "bootstrap"))
    assert np.allclose(found.table["sd"], refitted.table["sd"], rtol=0.25)
    assert (np.abs(found.table["mean"] - refitted.table["mean"]) < 0.3 * found.table["sd"]).all()


def test_a_program_without_parameters():
    people = draw_tables(np.random.default_rng(0), 3000)
    posterior = ca.fit(ca.models.standard_prediction.scm_b(), people, draws=50, chains=1)
    found, exact = decompose(posterior, theta=OPTIMAL_B), decompose(posterior, "exact", theta=OPTIMAL_B)
    assert (np.abs(found.table["mean"] - exact.table["mean"]) < 4 * found.table["sd"]).all()


def test_too_few_people_are_refused():
    posterior = tables(12, 5)
    with pytest.raises(DataError, match="at least 5 are needed"):
        decompose(posterior)


@pytest.mark.slow
def test_the_default_is_the_population_that_is_right_more_often():
    """Seven wrong programs, three rules, 2,000 people, 3 data sets of each, against the terms of the true process.

    The people of the data win: their total is the observed one, and so is the law of all that no mechanism changes.
    Where the mechanism of the mediator itself is wrong ("uneven W", "crossed W") no population mends it.
    """
    errors, held = {"standardise": [], "simulate": []}, {"standardise": [], "simulate": []}
    for process in WRONG:
        for seed in range(3):
            posterior = posterior_of_people(people_of(process, 2000, seed, WRONG.index(process)), seed)
            for rule in RULES:
                truth = true_terms(process, rule)
                for population in errors:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", CausalAuditWarning)
                        found = explain(posterior, rule, population=population).summary()
                    errors[population].append(np.abs(found["mean"] - truth))
                    held[population].append((found["credible_low"] <= truth) & (truth <= found["credible_high"]))
    data, program = (np.mean(errors[name], axis=0) for name in ("standardise", "simulate"))
    assert (data[:2] < program[:2] / 2).all(), (data, program)  # total and direct
    assert data.sum() < program.sum() / 1.5
    nearer = np.mean(np.less(errors["standardise"], errors["simulate"]), axis=0)
    assert nearer.mean() > 0.65, nearer
    print(f"nearer: {nearer.round(2)}; " + ", ".join(f"{name} holds {np.mean(own):.2f}" for name, own in held.items()))
    assert np.mean(held["standardise"], axis=0)[:2].min() > 0.8
    assert np.mean(held["standardise"]) > 2 * np.mean(held["simulate"])
