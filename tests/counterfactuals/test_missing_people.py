"""Counterfactuals of people of whom values are missing: drawn given the rest, the same in both worlds."""

from itertools import islice

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy import stats
from scipy.stats import binom

import causalaudit as ca
from causalaudit.errors import DataError

DRAWS = 1500
CERTAIN = 1e-6  # probability of a false alarm


def known_program(n):
    """Without parameters: every draw is the program itself, and conditionals have closed forms."""
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.4))
        cause = pyro.sample("cause", dist.Normal(1.0 + group, 1.5))
        mediator = pyro.sample("mediator", dist.Normal(0.5 + 0.7 * cause, 0.8))
        outcome = pyro.sample("outcome", dist.Normal(-1.2 * mediator - 0.4 * cause, 0.6))
        visits = pyro.sample("visits", dist.Poisson(torch.exp(0.3 * outcome)))
        pyro.sample("hired", dist.Bernoulli(logits=0.5 * visits - 1.0))


PEOPLE = pd.DataFrame(
    {
        "group": ["a", "b", "a", None, "b"],
        "cause": [np.nan, 1.5, 2.0, 3.0, 0.5],
        "mediator": [1.0, np.nan, 1.5, 2.0, 0.0],
        "outcome": [-2.0, -1.0, np.nan, -4.0, np.nan],
        "visits": [1, 0, np.nan, 2, 3],
        "hired": ["no", "yes", None, None, "no"],
        "note": ["kept", None, "kept", "kept", "kept"],
    },
    index=["ann", "bob", "cem", "dan", "eve"],
)
LEVELS = {"group": ["a", "b"], "hired": ["no", "yes"]}


@pytest.fixture(scope="module")
def posterior():
    return ca.fit(ca.SCM(known_program, levels=LEVELS), PEOPLE, draws=DRAWS, chains=1, progress=False)


@pytest.fixture(scope="module")
def nothing(posterior):
    return ca.counterfactuals(posterior, {}, progress=False)


@pytest.fixture(scope="module")
def moved(posterior):
    return ca.counterfactuals(posterior, {"group": "b"}, progress=False)


def of(worlds, name, person):
    return worlds.dataset[name].sel(individual=person).to_numpy()


def follows(values, mean, sd):
    return stats.kstest((values - mean) / sd, "norm").pvalue > CERTAIN


def gaussian_given(seen, values, group=0.0):
    """Return the mean and the standard deviation of the one of cause, mediator and outcome that is not seen."""
    loadings = np.array([[1.5, 0.0, 0.0], [1.05, 0.8, 0.0], [-1.86, -0.96, 0.6]])
    mean = np.array([1.0 + group, 0.5 + 0.7 * (1 + group), -1.2 * (0.5 + 0.7 * (1 + group)) - 0.4 * (1 + group)])
    covariance = loadings @ loadings.T
    (out,) = set(range(3)) - set(seen)
    weights = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[seen, out])
    centre = mean[out] + weights @ (np.asarray(values) - mean[seen])
    return centre, np.sqrt(covariance[out, out] - weights @ covariance[seen, out])


def test_missing_values_are_drawn_from_their_conditional(nothing):
    mean, sd = gaussian_given([1, 2], [1.0, -2.0])
    assert follows(of(nothing, "cause", "ann"), mean, sd)  # a root
    assert nothing.point["cause"]["ann"] == pytest.approx(mean, abs=1e-4)
    mean, sd = gaussian_given([0, 2], [1.5, -1.0], group=1.0)
    assert follows(of(nothing, "mediator", "bob"), mean, sd)
    assert nothing.point["mediator"]["bob"] == pytest.approx(mean, abs=1e-4)
    centre = -1.2 * 1.5 - 0.4 * 2.0
    assert follows(of(nothing, "outcome", "cem"), centre, 0.6)  # nothing that follows is observed
    assert nothing.point["outcome"]["cem"] == pytest.approx(centre)
    odds = [0.6 * stats.norm(1, 1.5).pdf(3.0), 0.4 * stats.norm(2, 1.5).pdf(3.0)]
    chance = odds[1] / sum(odds)
    assert binom(DRAWS, chance).cdf((of(nothing, "group", "dan") == 1).sum()) == pytest.approx(0.5, abs=0.5 - CERTAIN)
    assert nothing.point["group"]["dan"] == ("b" if chance > 0.5 else "a")


def test_missing_outcome_is_drawn_given_what_follows_from_it(nothing):
    """Of eve the visits are known: a density without a name, on a grid."""
    grid = np.linspace(-5.0, 5.0, 20001)
    density = stats.norm(-0.2, 0.6).pdf(grid) * stats.poisson(np.exp(0.3 * grid)).pmf(3)
    below = np.cumsum(density) / density.sum()
    quantiles = np.interp(of(nothing, "outcome", "eve"), grid, below)
    assert stats.kstest(quantiles, "uniform").pvalue > CERTAIN


def test_what_follows_from_missing_values_is_drawn_along(nothing):
    """Of cem outcome, visits and employment are missing, and drawn from each other."""
    outcome, visits, hired = (of(nothing, name, "cem") for name in ("outcome", "visits", "hired"))
    chances = stats.poisson(np.exp(0.3 * outcome)).pmf(0)
    gap = ((visits == 0) - chances).sum() / np.sqrt((chances * (1 - chances)).sum())
    assert abs(gap) < stats.norm.isf(CERTAIN)
    assert (visits == visits.round()).all()
    chances = 1 / (1 + np.exp(1.0 - 0.5 * visits))
    assert abs((hired - chances).sum() / np.sqrt((chances * (1 - chances)).sum())) < stats.norm.isf(CERTAIN)


def test_nothing_done_gives_what_was_observed_and_completes_the_rest(nothing):
    for name in nothing.dataset.data_vars:
        for frame in (*islice(nothing.frames(), 3), nothing.point):
            known = PEOPLE[name].notna()
            assert frame[name][known].tolist() == PEOPLE[name][known].tolist()
            assert frame[name].notna().all()
        np.testing.assert_array_equal(nothing.dataset[name], nothing.completed[name])
    assert list(nothing.point.index) == list(PEOPLE.index)
    assert nothing.point["note"].isna().tolist() == PEOPLE["note"].isna().tolist()  # not of the program


def test_both_worlds_hold_the_same_completed_people(nothing, moved):
    for name in moved.completed.data_vars:
        np.testing.assert_array_equal(moved.completed[name], nothing.completed[name])
    names = ["cause", "mediator", "outcome"]
    factual, other = (np.stack([worlds[name] for name in names]) for worlds in (moved.completed, moved.dataset))
    step = 1.0 - moved.completed["group"].to_numpy()
    np.testing.assert_allclose(other[0] - factual[0], step, atol=1e-9)
    np.testing.assert_allclose(other[1] - factual[1], 0.7 * step, atol=1e-9)
    np.testing.assert_allclose(other[2] - factual[2], (-1.2 * 0.7 - 0.4) * step, atol=1e-9)
    assert (moved.dataset["group"] == 1).all()


def test_who_is_already_there_keeps_the_drawn_values(moved):
    for name in moved.dataset.data_vars:
        same = moved.completed["group"].to_numpy() == 1
        drawn = moved.completed[name].to_numpy() if name in moved.completed else None
        if drawn is not None:
            np.testing.assert_array_equal(moved.dataset[name].to_numpy()[same], drawn[same])


@pytest.mark.parametrize("coupling", ["monotone", "gumbel", "independent"])
def test_chunks_and_couplings(posterior, coupling):
    one, two = (
        ca.counterfactuals(posterior, {"cause": 2.0}, draws=9, coupling=coupling, chunk=chunk, progress=False)
        for chunk in (2, None)
    )
    for name in one.dataset.data_vars:
        np.testing.assert_allclose(one.dataset[name], two.dataset[name], rtol=1e-12)
    assert np.isfinite(one.noise["outcome"]).all()
    assert (one.dataset["cause"] == 2.0).all()


def test_other_people_and_paths(posterior):
    others = PEOPLE.rename(index=str.upper)
    worlds = ca.counterfactuals(posterior, {"group": "b"}, others, rows=["CEM", "EVE"], draws=50, progress=False)
    assert worlds.point.notna().all(axis=None)
    path = ca.counterfactuals(posterior, {"group": "b"}, edges=[("group", "cause")], draws=50, progress=False)
    np.testing.assert_array_equal(path.dataset["mediator"], path.completed["mediator"])


def test_completions_are_audited_one_by_one(posterior, moved):
    """Everybody is in each of them, with the counterfactuals of the same draw."""
    few = ca.counterfactuals(posterior, {"group": "b"}, draws=3, progress=False)
    found = list(few.completions())
    assert len(found) == 3
    for draw, (people, world) in enumerate(found):
        assert people.index.equals(PEOPLE.index)
        assert people[list(LEVELS)].isin(["a", "b", "no", "yes"]).all(axis=None)
        np.testing.assert_array_equal(people["outcome"], few.completed["outcome"][draw])
        np.testing.assert_array_equal(world.point["outcome"], few.dataset["outcome"][draw])
        assert world.dataset.sizes["draw"] == 1


def test_an_audit_refuses_missing_values_and_says_how_to_complete_them():
    people = ca.datasets.make_loan(84, seed=0)
    people["approved"] = (people["balance"] > people["balance"].median()).astype(int)
    people["salary"] = people["salary"].mask(people.index % 7 == 0)
    posterior = ca.fit(ca.models.loan.linear(), people, draws=50, chains=2, progress=False)
    worlds = ca.counterfactuals(posterior, {"gender": "male"}, draws=2, progress=False)
    question = {"decision": "approved", "protected": {"gender": "female"}, "features": ["salary", "balance"], "k": 5}
    with pytest.raises(DataError, match=r"'salary' is missing for 12 of 84 people.*\.completions\(\)"):
        ca.situation_testing(people, **question, counterfactuals=worlds)
    for completed, world in worlds.completions():
        result = ca.situation_testing(completed, **question, counterfactuals=world, progress=False)
        assert len(result.table) == (people["gender"] == "female").sum()


def test_nothing_missing_gives_the_same_table(posterior):
    people = PEOPLE.iloc[:2].assign(cause=1.0, mediator=2.0)
    worlds = ca.counterfactuals(posterior, {"group": "a"}, people, draws=2, progress=False)
    assert not worlds.completed
    for completed, _ in worlds.completions():
        pd.testing.assert_frame_equal(completed, people)


def test_completed_values_are_saved(moved, tmp_path):
    moved.save(tmp_path / "moved.nc")
    loaded = ca.load(tmp_path / "moved.nc")
    assert loaded.completed.equals(moved.completed)
    next(loaded.completions())


def test_latents_of_people_with_missing_values():
    """A latent of whom nothing is observed is drawn from its own law; else from what is known."""

    def program(n):
        with pyro.plate("individuals", n):
            skill = pyro.sample("skill", dist.Normal(0.0, 1.0))
            pyro.sample("maths", dist.Normal(skill, 1.0))
            pyro.sample("reading", dist.Normal(skill, 0.5))

    people = pd.DataFrame({"maths": [1.0, np.nan, np.nan], "reading": [2.0, 2.0, np.nan]})
    posterior = ca.fit(ca.SCM(program, latents=["skill"]), people, draws=DRAWS, chains=1, progress=False)
    worlds = ca.counterfactuals(posterior, {}, progress=False)
    skill = worlds.latents["skill"].to_numpy()
    for place, (precision, pull) in enumerate([(6.0, 9.0), (5.0, 8.0), (1.0, 0.0)]):
        assert follows(skill[:, place], pull / precision, precision**-0.5)
    assert follows(worlds.completed["maths"][:, 1].to_numpy() - skill[:, 1], 0.0, 1.0)
    assert follows(worlds.completed["reading"][:, 2].to_numpy() - skill[:, 2], 0.0, 0.5)
    twice = ca.counterfactuals(posterior, {"skill": 3.0}, draws=20, progress=False)
    shift = twice.dataset["maths"] - twice.completed["maths"]
    np.testing.assert_allclose(shift, 3.0 - twice.latents["skill"], atol=1e-9)


def test_computed_and_textbook_sites_are_completed():
    """A computed column is computed, and a missing value with a noise site of its own is drawn as any other."""

    def program(n):
        with pyro.plate("individuals", n):
            noise = pyro.sample("noise", dist.Normal(0.0, 1.0))
            wage = pyro.deterministic("wage", 2.0 + 3.0 * noise)
            tax = pyro.deterministic("tax", (wage > 3.0).double())
            pyro.sample("net", dist.Normal(wage - tax, 0.5))

    people = pd.DataFrame({"wage": [5.0, np.nan, 2.0], "tax": [np.nan, 1.0, 0.0], "net": [4.0, 3.0, np.nan]})
    without = people.drop(columns="tax")
    posterior = ca.fit(ca.SCM(program, latents=["noise"]), without, draws=DRAWS, chains=1, progress=False)
    worlds = ca.counterfactuals(posterior, {"wage": 1.0}, progress=False)
    drawn = worlds.completed["wage"].sel(individual=1).to_numpy()
    grid = np.linspace(-10.0, 15.0, 20001)
    below = np.cumsum(stats.norm(2.0, 3.0).pdf(grid) * stats.norm(grid - (grid > 3.0), 0.5).pdf(3.0))
    assert stats.kstest(np.interp(drawn, grid, below / below[-1]), "uniform").pvalue > CERTAIN
    known = ca.fit(ca.SCM(program, latents=["noise"]), people.iloc[[0, 2]], draws=200, chains=1, progress=False)
    done = ca.counterfactuals(known, {"wage": 1.0}, progress=False)
    assert (done.completed["tax"].sel(individual=0) == 1.0).all()
    assert (done.dataset["tax"] == 0.0).all()
    assert done.point["tax"].tolist() == [0.0, 0.0]
    with pytest.raises(DataError, match="'tax', which is computed from 'wage', determines it"):
        ca.fit(ca.SCM(program, latents=["noise"]), people, progress=False)


def test_one_hot_columns_are_completed():
    def program(n):
        with pyro.plate("individuals", n):
            kind = pyro.sample("kind", dist.OneHotCategorical(torch.tensor([0.2, 0.5, 0.3])))
            pyro.sample("wage", dist.Normal((kind * torch.tensor([0.0, 1.0, 2.0])).sum(-1), 0.5))

    scm = ca.SCM(program, levels={"kind": ["x", "y", "z"]})
    people = pd.DataFrame({"kind": ["x", None, None], "wage": [0.1, 1.9, np.nan]})
    posterior = ca.fit(scm, people, draws=DRAWS, chains=1, progress=False)
    worlds = ca.counterfactuals(posterior, {}, progress=False)
    odds = np.array([0.2, 0.5, 0.3]) * stats.norm([0.0, 1.0, 2.0], 0.5).pdf(1.9)
    for person, chances in ((1, odds / odds.sum()), (2, np.array([0.2, 0.5, 0.3]))):
        counts = np.bincount(worlds.completed["kind"].to_numpy()[:, person], minlength=3)
        assert stats.chisquare(counts, DRAWS * chances).pvalue > CERTAIN
    assert worlds.point["kind"].tolist() == ["x", "z", "y"]


def test_plots_show_completed_people(moved):
    for name, missing in (("outcome", 2), ("hired", 2)):
        words = [text.get_text() for text in ca.plots.plot_worlds(moved, name).get_legend().get_texts()]
        assert f"factual, {missing} values drawn" in words
