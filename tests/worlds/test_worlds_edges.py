"""Edges weighed by evidence: the product over effects equals fitting every program, and known answers are found."""

from itertools import product

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy.stats import multivariate_normal

import causalaudit as ca
from causalaudit.errors import DataError, ProgramError
from causalaudit.storage import same

EDGES = [("sex", "score"), ("race", "score"), ("sex", "grade")]


def program(n):
    base, sex_score = pyro.sample("base", dist.Normal(0.0, 2.0)), pyro.sample("sex_score", dist.Normal(0.0, 1.0))
    race_score, other = pyro.sample("race_score", dist.Normal(0.0, 1.0)), pyro.sample("other", dist.Normal(0.0, 2.0))
    sex_grade = pyro.sample("sex_grade", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        race = pyro.sample("race", dist.Bernoulli(0.5))
        pyro.sample("score", dist.Normal(base + sex_score * sex + race_score * race, 1.0))
        pyro.sample("grade", dist.Normal(other + sex_grade * sex, 1.0))


def people_of(n, seed=0):
    rng = np.random.default_rng(seed)
    sex, race = rng.integers(2, size=(2, n))
    score = 1 + 0.3 * sex + rng.normal(size=n)
    return pd.DataFrame({"sex": sex, "race": race, "score": score, "grade": rng.normal(size=n)})


@pytest.fixture(scope="module")
def people():
    return people_of(60)


@pytest.fixture(scope="module")
def found(people):
    return ca.compare_edges(ca.SCM(program), people, EDGES, draws=100, progress=False)


def closed_form(people, cut):
    """The evidence of linear models with known spread, by the normal law of all scores."""
    log = 0.0
    for effect, sds, causes in (("score", (2.0, 1.0, 1.0), ("sex", "race")), ("grade", (2.0, 1.0), ("sex",))):
        columns = [people[cause] * ((cause, effect) not in cut) for cause in causes]
        design = np.column_stack([np.ones(len(people)), *columns])
        covariance = np.eye(len(people)) + design @ np.diag(np.square(sds)) @ design.T
        log += multivariate_normal(np.zeros(len(people)), covariance).logpdf(people[effect])
    return log


def test_the_product_over_effects_is_the_evidence_of_every_program(people, found):
    exact = {}
    for kept in product([True, False], repeat=3):
        cut = tuple(edge for edge, there in zip(EDGES, kept, strict=True) if not there)
        exact[frozenset(cut)] = closed_form(people, cut)
    roots = 120 * np.log(0.5)
    assert len(found.programs) == 8
    assert found.settings["fits"] == 5  # 2² for score, 2 for grade, the whole once
    for row in found.programs.itertuples():
        cut = frozenset(tuple(edge) for edge in row.cut)
        assert row.log_evidence == pytest.approx(exact[cut] + roots, abs=0.1)
    weights = np.exp(np.array(list(exact.values())) - max(exact.values()))
    for row in found.table.itertuples():
        there = np.array([(row.cause, row.effect) not in cut for cut in exact])
        assert row.inclusion == pytest.approx(weights[there].sum() / weights.sum(), abs=0.03)
        odds = weights[there].sum() / weights[~there].sum()
        assert row.log_bayes_factor == pytest.approx(np.log(odds), abs=0.1)


@pytest.mark.slow
def test_the_audit_is_averaged_over_probable_programs(people):
    def audit(posterior):
        worlds = ca.counterfactuals(posterior, {"sex": 0}, rows=people.sex == 1, progress=False)
        return ca.situation_testing(
            people, lambda p: (p.score > 1).astype(int), {"sex": 1}, features=["score"], counterfactuals=worlds, k=3,
            max_distance=0.5, progress=False,
        )  # fmt: skip

    found = ca.compare_edges(ca.SCM(program), people, [("sex", "score")], audit=audit, draws=100, progress=False)
    assert found.worlds.worlds == found.programs["name"].tolist()
    assert np.allclose(found.worlds.headline["weight"], found.programs["probability"])


def test_effects_with_a_common_latent_are_fitted_together():
    def shared(n):
        slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            sex = pyro.sample("sex", dist.Bernoulli(0.5))
            talent = pyro.sample("talent", dist.Bernoulli(0.5))
            pyro.sample("score", dist.Normal(slope * sex + talent, 1.0))
            pyro.sample("grade", dist.Normal(torch.as_tensor(0.5) * sex + talent, 1.0))

    edges = [("sex", "score"), ("sex", "grade")]
    scm = ca.SCM(shared, latents=["talent"])
    found = ca.compare_edges(scm, people_of(30), edges, draws=100, progress=False)
    assert found.settings["fits"] == 4


@pytest.mark.parametrize(
    ("edges", "error", "message"),
    [
        (("sex", "score"), DataError, r"must be a list of pairs"),
        ([], DataError, r"edges has 0 pairs, but must have from 1 to 12"),
        ([("sex", "score")] * 2, DataError, r"each once"),
        ([("score", "sex")], ProgramError, r"is not an edge of"),
    ],
)
def test_bad_edges(edges, error, message, people):
    with pytest.raises(error, match=message):
        ca.compare_edges(ca.SCM(program), people, edges)


def test_it_is_saved(found, tmp_path):
    found.save(tmp_path / "edges.nc")
    assert same(ca.load(tmp_path / "edges.nc"), found)
