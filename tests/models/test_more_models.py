"""Mediation, COMPAS, German credit and Adult: their diagrams, their tables, and that they fit the real ones."""

import re

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.models import adult, compas, german_credit, mediation

BUILDERS = {
    "mediation.true_process": mediation.true_process,
    "mediation.linear": mediation.linear,
    "compas.figure_1": compas.figure_1,
    "german_credit.applications": german_credit.applications,
    "adult.census": adult.census,
}


def documented_edges(module, builder: str) -> set[tuple[str, str]]:
    """Read the diagram of a builder off the docstring of its module; columns may have hyphens."""
    blocks = re.split(r"\n(?=Diagram of )", module.__doc__)[1:]
    block = next(b for b in blocks if f"`{builder}`" in b.split("::")[0])
    return set(re.findall(r"^    ([\w-]+) -> ([\w-]+)$", block, flags=re.MULTILINE))


@pytest.mark.parametrize("name", BUILDERS)
def test_the_diagram_is_the_documented_one(name):
    module, builder = name.split(".")
    assert set(BUILDERS[name]().graph.edges) == documented_edges(getattr(ca.models, module), builder)


@pytest.mark.parametrize("name", BUILDERS)
def test_the_prior_gives_people_that_the_program_can_encode(name):
    scm = BUILDERS[name]()
    drawn = scm.prior_predictive(n=50, draws=10, seed=0)
    for draw in range(10):
        people = {v: scm.codec.decode(v, drawn[v].isel(draw=draw).to_numpy()) for v in scm.columns}
        assert set(scm.encode(pd.DataFrame(people))) == set(scm.columns)


def test_mediation_is_figure_1_in_single_letters():
    letters = {"race": "X", "age": "Z", "sex": "Z", "priors_count": "W", "c_charge_degree": "W", "two_year_recid": "Y"}
    lifted = {(letters[a], letters[b]) for a, b in compas.figure_1().graph.edges if letters[a] != letters[b]}
    assert lifted == set(mediation.true_process().graph.edges)


def test_mediation_has_the_printed_moments():
    people = mediation.true_process().prior_predictive(n=200_000, draws=1, seed=0).isel(draw=0)
    z, x, w, y = (people[name].to_numpy() for name in "ZXWY")
    assert (z.mean(), z.std()) == pytest.approx((0, 1), abs=0.01)
    # A threshold at a logistic noise: P(X = 1 | z) is its distribution function.
    near = np.abs(z - 1) < 0.05
    assert x[near].mean() == pytest.approx(1 / (1 + np.exp(-1)), abs=0.02)
    residual = w - 0.5 * x - 0.5 * z
    assert (residual.mean(), residual.std()) == pytest.approx((0, 1), abs=0.01)
    eta = 2 * x + 4 * w + 4 * z
    assert np.mean(y - 1 / (1 + np.exp(-eta))) == pytest.approx(0, abs=0.005)


def test_mediation_thresholds_are_the_papers_noise():
    """The counterfactual of Y is 1[2x + 4w + 4z + U_Y > 0] for a logistic U_Y that gives what was observed."""
    scm = mediation.true_process()
    drawn = scm.prior_predictive(n=4000, draws=1, seed=1).isel(draw=0)
    people = pd.DataFrame({name: drawn[name].to_numpy() for name in "ZXWY"})
    worlds = ca.counterfactuals(ca.fit(scm, people, draws=1, chains=1), {"X": 1}, rows=people["X"] == 0, seed=0)
    world = next(iter(worlds.frames()))
    np.testing.assert_allclose(world["W"], worlds.factual["W"] + 0.5)
    assert (world["Y"] >= worlds.factual["Y"]).all()
    before, after = (1 / (1 + np.exp(-(2 * f["X"] + 4 * f["W"] + 4 * f["Z"]))) for f in (worlds.factual, world))
    zeros = worlds.factual["Y"] == 0
    expected = ((after - before) / (1 - before))[zeros]
    error = np.sqrt((expected * (1 - expected)).sum())
    assert abs(world.loc[zeros, "Y"].sum() - expected.sum()) < 4 * error


def test_mediation_recovers_the_printed_numbers():
    drawn = mediation.true_process().prior_predictive(n=3000, draws=1, seed=2).isel(draw=0)
    people = pd.DataFrame({name: drawn[name].to_numpy() for name in "ZXWY"})
    posterior = ca.fit(mediation.linear(), people, method="laplace", draws=250, seed=0)
    assert posterior.diagnostics().ok
    table = posterior.summary()
    printed = {"Z_to_X": 1.0, "X_to_W": 0.5, "Z_to_W": 0.5, "X_to_Y": 2.0, "W_to_Y": 4.0, "Z_to_Y": 4.0, "base_Y": 0.0}
    for name, value in printed.items():
        assert abs(table.loc[name, "mean"] - value) < 4 * table.loc[name, "sd"], name


# The real tables


def test_compas_keeps_the_two_groups_as_propublica_did(data_folder):
    people = ca.datasets.load_compas(data_folder)
    assert len(compas.prepare(people)) == 5278
    assert len(compas.prepare(people, screened=False)) == 6150
    assert (compas.prepare(people)["race"] == "African-American").sum() == 3175
    assert list(compas.prepare(people).columns) == list(people.columns)


@pytest.mark.slow
def test_compas_fits_the_real_file(data_folder):
    people = compas.prepare(ca.datasets.load_compas(data_folder))
    posterior = ca.fit(compas.figure_1(), people, method="laplace", draws=250, seed=0)
    assert posterior.diagnostics().numbers["pareto_k"] < 0.7
    assert posterior.summary().loc["priors_count_by_race", "credible_low"] > 0
    simulated = posterior.predictive(draws=100, seed=0)
    for code, group in enumerate(compas.LEVELS["race"]):
        own = people[people["race"] == group]
        rates = simulated["two_year_recid"].where(simulated["race"] == code).mean("individual")
        assert abs(float(rates.mean()) - own["two_year_recid"].mean()) < 3 * float(rates.std())
        counts = simulated["priors_count"].where(simulated["race"] == code).mean("individual")
        assert float(counts.mean()) == pytest.approx(own["priors_count"].mean(), rel=0.1)


def test_compas_counterfactuals_keep_age_and_sex(data_folder):
    people = compas.prepare(ca.datasets.load_compas(data_folder)).head(300)
    posterior = ca.fit(compas.figure_1(), people, method="laplace", draws=50, chains=1, seed=0)
    worlds = ca.counterfactuals(posterior, {"race": "Caucasian"}, draws=5, seed=0)
    for world in worlds.frames():
        pd.testing.assert_frame_equal(world[["age", "sex"]], people[["age", "sex"]], check_dtype=False)
        assert (world["priors_count"] >= 0).all()


@pytest.mark.slow
def test_german_credit_fits_the_real_file(data_folder):
    people = ca.datasets.load_german_credit(data_folder, version="south")
    posterior = ca.fit(german_credit.applications(), people, method="laplace", draws=250, seed=0)
    assert posterior.diagnostics().numbers["pareto_k"] < 0.7
    table = posterior.summary()
    assert table.loc["employment_duration_by_age", "credible_low"] > 0
    assert table.loc["credit_risk_by_duration", "credible_high"] < 0


def test_the_gender_of_german_credit_is_what_its_documentation_says(data_folder):
    """All 310 people with the code of women who are not single and of single men count as women."""
    keys = ["duration", "amount", "age"]
    south = ca.datasets.load_german_credit(data_folder, version="south")
    statlog = ca.datasets.load_german_credit(data_folder)
    assert (statlog["personal_status_sex"] == "A92").sum() == 310
    both = south.drop_duplicates(keys, keep=False).merge(statlog.drop_duplicates(keys, keep=False), on=keys)
    assert len(both) > 950
    assert set(both.loc[both["personal_status_sex"] == "A92", "gender"]) == {"Female"}


@pytest.fixture(scope="module")
def census(data_folder):
    return adult.prepare(ca.datasets.load_adult(data_folder))


def test_adult_names_what_is_unknown(census):
    assert len(census) == 48_842
    for column, levels in adult.LEVELS.items():
        assert set(census[column]) == set(levels), column
    assert ((census["workclass"] == "Unknown") == (census["occupation"] == "Unknown")).all()
    assert (census["workclass"] == "Unknown").sum() == 2809
    assert census["capital"].mean() == pytest.approx(0.0826 + 0.0467, abs=0.001)
    adult.census().encode(census)


def test_adult_effects_are_in_the_order_of_the_terms():
    scm = adult.census()
    prior = scm.prior_predictive(n=1, draws=1)
    for variable, terms in adult.TERMS.items():
        assert prior[f"{variable}_effects"].shape[1] == len(terms)


@pytest.mark.slow
def test_adult_fits_a_part_of_the_real_file(census):
    people = census.sample(5000, random_state=0)
    posterior = ca.fit(adult.census(), people, method="laplace", seed=0)
    assert posterior.diagnostics().ok, posterior.diagnostics()
    effects = posterior.summary()["mean"]
    of = {term: effects[f"income_effects[{place}]"] for place, term in enumerate(adult.TERMS["income"])}
    assert of["schooling"] > 0.2
    assert of["married"] > 1
    assert of["female"] < 0
    # An unknown person who is given an employer gets an occupation; an employed one keeps theirs.
    some = people.index[people["workclass"] == "Unknown"][:5].append(people.index[people["workclass"] == "Private"][:5])
    worlds = ca.counterfactuals(posterior, {"workclass": "Private"}, rows=some, draws=3, seed=0)
    for world in worlds.frames():
        assert (world["occupation"] != "Unknown").all()
        kept = worlds.factual["workclass"] == "Private"
        assert (world.loc[kept, "occupation"] == worlds.factual.loc[kept, "occupation"]).all()


# Bad input


def test_prepare_names_what_is_missing_or_strange():
    with pytest.raises(DataError, match="lacks the columns race, days_b_screening_arrest, is_recid"):
        compas.prepare(pd.DataFrame({"age": [30]}))
    with pytest.raises(DataError, match=r"lacks the columns .*occupation"):
        adult.prepare(pd.DataFrame({"age": [30]}))
    person = {"education-num": 9, "marital-status": "Engaged", "workclass": "Private", "occupation": "Sales"}
    with pytest.raises(DataError, match="'marital-status' has the values 'Engaged'"):
        adult.prepare(pd.DataFrame([{**person, "capital-gain": 0, "capital-loss": 0}]))


def test_a_table_that_was_not_prepared_is_refused(data_folder):
    with pytest.raises(DataError, match=r"'race' has the values .*levels are \['Caucasian', 'African-American'\]"):
        compas.figure_1().encode(ca.datasets.load_compas(data_folder))
    with pytest.raises(DataError, match="is missing for"):
        adult.census().encode(adult.prepare(ca.datasets.load_adult(data_folder)).assign(occupation=None))
