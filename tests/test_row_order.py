"""Random choices go by the person: with the rows in another order everybody has the same answer."""

import numpy as np
import pandas as pd
import pytest
from auditors import fit_posterior, make_people, rule
from sklearn.linear_model import LogisticRegression

import causalaudit as ca
from causalaudit.people import draw_part
from causalaudit.randomness import label_places

SEX = {"sex": "f"}


@pytest.fixture(scope="module")
def people():
    return make_people().drop(columns="hole")


@pytest.fixture(scope="module")
def shuffled(people):
    return people.sample(frac=1, random_state=5)


@pytest.fixture(scope="module")
def posteriors(people, shuffled):
    return fit_posterior(people), fit_posterior(shuffled)


@pytest.mark.parametrize("labels", [["b", "c", "a"], [3, 7, -1], [("x", 2), ("x", 3), ("w", 9)]])
def test_places_of_labels(labels):
    assert label_places(pd.Index(labels)).tolist() == [1, 2, 0]


def test_places_of_labels_of_several_kinds_do_not_depend_on_the_order():
    labels = ["a", 3, 1.5, "b"]
    places = dict(zip(labels, label_places(pd.Index(labels, dtype=object)), strict=True))
    backwards = dict(zip(labels[::-1], label_places(pd.Index(labels[::-1], dtype=object)), strict=True))
    assert places == backwards
    assert sorted(places.values()) == [0, 1, 2, 3]


def test_a_fit_does_not_depend_on_the_order(posteriors):
    np.testing.assert_allclose(*(one.summary().to_numpy(dtype=float) for one in posteriors), rtol=1e-9)


@pytest.mark.parametrize("whom", [None, "f"])
def test_discrete_counterfactuals(posteriors, people, shuffled, whom):
    posterior = posteriors[0]

    def worlds(data):
        rows = None if whom is None else data.sex == whom
        return ca.counterfactuals(posterior, {"sex": "m"}, data, rows=rows, draws=10, seed=3, progress=False).dataset

    one, other = worlds(people), worlds(shuffled)
    assert other.sel(individual=one.individual).identical(one)


def test_individual_recourse_and_splits(posteriors, people, shuffled):
    def audited(data, posterior, **more):
        return ca.audit_recourse(
            data, rule, SEX, features=["skill", "job"], support=0.05, seed=2, posterior=posterior, draws=5,
            progress=False, **more,
        )  # fmt: skip

    one, other = (audited(data, posteriors[0]) for data in (people, shuffled))
    individuals = one.individuals(progress=False)
    pd.testing.assert_frame_equal(other.individuals(progress=False).loc[individuals.index], individuals)
    one, other = (
        ca.audit_recourse(data, rule, SEX, features=["skill", "job"], support=0.05, seed=2, split=0.5, progress=False)
        for data in (people, shuffled)
    )
    pd.testing.assert_frame_equal(one.table, other.table)


@pytest.mark.filterwarnings("ignore::causalaudit.errors.CausalAuditWarning")
def test_a_split_scan(people, shuffled):
    def scanned(data):
        return ca.scan_bias(
            data, SEX, "good", recommendation="rank", features=["skill", "job"], split=0.5, posterior_draws=40,
            permutations=19, seed=4, progress=False,
        )  # fmt: skip

    one, other = scanned(people), scanned(shuffled)
    assert (one.subgroup, one.n) == (other.subgroup, other.n)
    assert one.score == pytest.approx(other.score, rel=1e-9)
    pd.testing.assert_frame_equal(one.table, other.table, rtol=1e-9)


def test_a_part_is_drawn_by_label():
    strata, order = np.arange(200) % 3, np.random.default_rng(1).permutation(200)
    part, other = (
        draw_part(strata[rows], 0.5, np.random.default_rng(0), pd.RangeIndex(200)[rows])
        for rows in (np.arange(200), order)
    )
    assert np.array_equal(other, part[order])


@pytest.mark.parametrize("interval", ["wald", "bootstrap"])
def test_estimates(people, shuffled, interval):
    graph = ca.diagram([("sex", "job"), ("skill", "job"), ("skill", "good")])

    def estimated(data):
        return ca.estimate_error_rates(
            data.assign(skill=data.skill + data.index / 1000), graph, rule, protected=SEX, outcome="good",
            features=["sex", "skill", "job"], interval=interval, resamples=20, seed=1, progress=False,
            propensity=LogisticRegression(), expectation=LogisticRegression(),
        )  # fmt: skip

    pd.testing.assert_frame_equal(estimated(people).table, estimated(shuffled).table, rtol=1e-9)


@pytest.mark.parametrize("population", ["standardise", "bootstrap"])
def test_decompositions(posteriors, population):
    tables = [
        ca.decompose_error_rates(
            posterior, rule, SEX, outcome="good", features=["sex", "skill"], population=population, draws=10,
            progress=False,
        ).table
        for posterior in posteriors
    ]  # fmt: skip
    pd.testing.assert_frame_equal(*tables, rtol=1e-7)
