"""Who is compared and how classifiers are read: alike for answers from a posterior and from data."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from finite_programs import classifier, draw_tables

import causalaudit as ca
from causalaudit.error_rates.explaining.classifier import Rate
from causalaudit.errors import DataError

RACES = {0: "White", 1: "Black"}
GRAPH = ca.diagram([("Z", "X"), ("Z", "Y"), ("X", "Y")])


def program(n):
    with pyro.plate("individuals", n):
        z = pyro.sample("Z", dist.Bernoulli(0.6))
        x = pyro.sample("X", dist.Bernoulli(0.3 + 0.4 * z))
        pyro.sample("Y", dist.Bernoulli(0.2 + 0.2 * x + 0.3 * z))


def rule(people):
    return (2 * (people["X"] == "Black") + people["Z"] >= 2).astype(int)


def people_of(first):
    """People of two races, the first of whom has the one or the other."""
    drawn = draw_tables(np.random.default_rng(0), 2000)[["Z", "X", "Y"]]
    people = drawn.assign(X=drawn["X"].map(RACES))
    return people.sort_values("X", ascending=first == "Black", kind="stable").reset_index(drop=True)


def totals(people, protected, levels, **options):
    """The total from a posterior, and from data."""
    scm = ca.SCM(program, levels={"X": levels})
    posterior = ca.fit(scm, people, draws=2, chains=1)
    model = ca.decompose_error_rates(
        posterior, rule, protected, outcome="Y", features=["X", "Z"], population="exact", **options
    )
    data = ca.estimate_error_rates(
        people, GRAPH, rule, protected=protected, outcome="Y", features=["X", "Z"], **options
    )
    assert {model.settings["contrast"], model.settings["baseline"]} == set(RACES.values())
    for name in ("contrast", "baseline"):
        assert model.settings[name] == data.settings[name]
    return model.summary().loc["total", "mean"], data.summary().loc["total", "mean"]


@pytest.mark.parametrize("levels", [["Black", "White"], ["White", "Black"]], ids=["sorted", "not sorted"])
@pytest.mark.parametrize("first", ["Black", "White"])
def test_a_bare_column_has_the_same_sign_from_a_posterior_and_from_data(first, levels):
    """The order in which the program declares the levels of a text decides; who comes first in the data does not."""
    people = people_of(first)
    scm = ca.SCM(program, levels={"X": levels})
    question = {"outcome": "Y", "features": ["X", "Z"]}
    posterior = ca.fit(scm, people, draws=2, chains=1)
    model = ca.decompose_error_rates(posterior, rule, "X", population="exact", **question)
    data = ca.estimate_error_rates(people, scm.graph, rule, protected="X", **question)
    fair = ca.FairClassifier(scm.graph, "X", "Y", eps_total=1, y=0).fit(people[["X", "Z"]], people["Y"])
    assert [(answer.settings["baseline"], answer.settings["contrast"]) for answer in (model, data)] == [(*levels,)] * 2
    sign = 1 if levels[1] == "Black" else -1
    assert sign * model.summary().loc["total", "mean"] > 0.3
    assert sign * data.summary().loc["total", "mean"] > 0.3
    assert sign * fair.terms_["total"] > 0.3


@pytest.mark.parametrize("protected", [{"X": ("Black", "White")}, {"X": "Black"}], ids=["pair", "level"])
def test_the_protected_level_is_named_first(protected):
    model, data = totals(people_of("White"), protected, ["Black", "White"])
    assert model > 0.3
    assert data > 0.3


def test_a_baseline_and_a_contrast_are_named_for_a_bare_column():
    for options in ({"baseline": "White"}, {"contrast": "Black"}, {"baseline": "White", "contrast": "Black"}):
        model, data = totals(people_of("White"), "X", ["Black", "White"], **options)
        assert model > 0.3
        assert data > 0.3


def test_declared_levels_are_in_their_order():
    people = people_of("Black")
    categories = people.assign(X=pd.Categorical(people["X"], ["White", "Black"]))
    model, data = totals(categories, "X", ["White", "Black"])
    assert model > 0.3
    assert data > 0.3


def test_three_levels_are_refused_unless_two_are_named():
    people = people_of("White")
    people.loc[:99, "X"] = "Asian"
    question = {"outcome": "Y", "features": ["X", "Z"]}

    def three(n):
        with pyro.plate("individuals", n):
            z = pyro.sample("Z", dist.Bernoulli(0.6))
            x = pyro.sample("X", dist.Categorical(torch.tensor([0.1, 0.4, 0.5])))
            pyro.sample("Y", dist.Bernoulli(0.2 + 0.1 * x + 0.3 * z))

    posterior = ca.fit(ca.SCM(three, levels={"X": ["Asian", "Black", "White"]}), people, draws=2, chains=1)
    options = {"population": "exact", **question}
    for protected, message in (("X", "has 3 levels"), ({"X": "Black"}, "has 2 other levels")):
        with pytest.raises(DataError, match=message):
            ca.decompose_error_rates(posterior, rule, protected, **options)
        with pytest.raises(DataError, match=message):
            ca.estimate_error_rates(people, GRAPH, rule, protected=protected, **question)
    with pytest.raises(DataError, match="2 other levels"):
        ca.decompose_error_rates(posterior, rule, "X", baseline="White", **options)
    named = ca.decompose_error_rates(posterior, rule, "X", baseline="White", contrast="Black", **options)
    pair = ca.decompose_error_rates(posterior, rule, {"X": ("Black", "White")}, **options)
    assert np.array_equal(named.draws, pair.draws)


# How classifiers are read


SCORES = pd.DataFrame({"score": [0.25, 0.75, 1.0]})


@pytest.mark.parametrize(
    ("answer", "yhat", "rates"),
    [
        (lambda people: people["score"], 1, [0.25, 0.75, 1.0]),
        (lambda people: people["score"], 0, [0.75, 0.25, 0.0]),
        (lambda people: people["score"].astype(object), 1, [0.25, 0.75, 1.0]),
        (lambda people: people["score"] > 0.5, 1, [0, 1, 1]),
        (lambda people: people["score"] > 0.5, 0, [1, 0, 0]),
        (lambda people: np.array([0, 1, 2]), 0, [1, 0, 0]),
        (lambda people: np.array([0.0, 1.0, 1.0]), 0, [1, 0, 0]),
        (lambda people: np.array([-1.0, 1.0, 1.0]), -1, [1, 0, 0]),
        (lambda people: np.array(["low", "high", "high"]), "low", [1, 0, 0]),
    ],
)
def test_floats_are_probabilities_of_the_label_1_and_all_else_are_labels(answer, yhat, rates):
    assert Rate(answer, yhat, "Y", ("score",))(SCORES).tolist() == rates


def test_probabilities_are_read_alike_in_every_table_that_is_shown():
    """A first table of zeros and ones does not make labels of the probabilities in the next."""
    rate = Rate(lambda people: people["score"], 0, "Y", ("score",))
    assert rate(SCORES.iloc[2:]).tolist() == [0.0]
    assert rate(SCORES).tolist() == [0.75, 0.25, 0.0]
    assert rate(SCORES.iloc[2:]).tolist() == [0.0]


@pytest.mark.parametrize("answers", [[0.5, 0.5, 0.5], [0.0, 1.0, 1.0]])
def test_numbers_where_labels_are_texts_are_refused(answers):
    with pytest.raises(DataError, match=r"those of the label 1, but yhat is 'high'"):
        Rate(lambda people: np.array(answers), "high", "Y", ("score",))(SCORES)


def test_a_classifier_is_shown_its_features_alone():
    def look(people):
        assert list(people.columns) == ["score"]
        return people["score"]

    Rate(look, 1, "Y", ("score",))(SCORES.assign(other=1))


def test_rates_of_a_posterior_are_those_of_probabilities():
    people = draw_tables(np.random.default_rng(0), 300)
    posterior = ca.fit(ca.models.standard_prediction.scm_b(), people, draws=2, chains=1)
    options = {"outcome": "Y", "features": ["X"], "population": "exact"}
    result = ca.decompose_error_rates(posterior, classifier((0.25, 0.75), ("X",)), "X", **options)
    assert result.summary().loc["direct", "mean"] == pytest.approx(0.5)
    other = ca.decompose_error_rates(posterior, classifier((0.25, 0.75), ("X",)), "X", yhat=0, **options)
    assert other.summary().loc["direct", "mean"] == pytest.approx(-0.5)
