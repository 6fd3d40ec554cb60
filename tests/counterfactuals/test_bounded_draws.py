"""Bounds over all couplings that come with counterfactuals."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch

import causalaudit as ca
from causalaudit.errors import CausalAuditError, DataError, InterventionError
from tests.support.finite_programs import draw_xor, posterior_of


def office(n):
    with pyro.plate("individuals", n):
        gender = pyro.sample("gender", dist.Bernoulli(torch.full((n,), 0.4)))
        rank = pyro.sample(
            "rank", dist.Categorical(torch.stack([0.5 - 0.2 * gender, 0.3 + 0.0 * gender, 0.2 + 0.2 * gender], -1))
        )
        pyro.sample("raise", dist.Bernoulli(0.2 + 0.1 * gender + 0.2 * rank))


@pytest.fixture(scope="module")
def posterior():
    scm = ca.SCM(office, levels={"gender": ["male", "female"], "rank": ["low", "middle", "high"]})
    people = pd.DataFrame(
        {
            "gender": ["male", "male", "female", "female", "male"],
            "rank": ["low", "high", "middle", "low", "high"],
            "raise": [0, 1, 0, 1, 0],
        },
        index=list("abcde"),
    )
    return ca.fit(scm, people, draws=1000, chains=2, progress=False)


@pytest.mark.parametrize("coupling", ["monotone", "gumbel", "independent", -1.0, 0.5])
def test_the_answer_of_every_coupling_is_inside(posterior, coupling):
    names = {"rank": "gumbel" if isinstance(coupling, float) else coupling, "raise": coupling}
    worlds = ca.counterfactuals(posterior, {"gender": "female"}, coupling=names, bounds=True, progress=False)
    for name, size in (("rank", 3), ("raise", 2)):
        share = np.stack([(worlds.dataset[name] == code).mean("draw") for code in range(size)], axis=-1)
        low, high = worlds.bounds[name].mean("draw").to_numpy()
        slack = 3.5 * np.sqrt(np.maximum(share * (1 - share), 1e-12) / worlds.dataset.sizes["draw"])
        assert (low - slack <= share).all()
        assert (share <= high + slack).all()


def test_bounds_are_labelled_and_known_in_closed_form(posterior):
    worlds = ca.counterfactuals(posterior, {"gender": "female"}, draws=3, bounds=True, progress=False)
    assert worlds.bounds.attrs == {}
    assert worlds.bounds["rank"].attrs == {"bounds": "sharp"}
    assert worlds.bounds["rank"].dims == ("bound", "draw", "individual", "rank_value")
    found = worlds.bounds["rank"].sel(individual="a", draw=worlds.bounds.draw[0])
    # of a man at the low rank, p = .5; ranks of women .3, .3, .4
    np.testing.assert_allclose(found.sel(bound="lower"), [0.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(found.sel(bound="upper"), [0.6, 0.6, 0.8], atol=1e-12)
    same = worlds.bounds["rank"].sel(individual="c").transpose("bound", "draw", "rank_value")
    assert (same == [0.0, 1.0, 0.0]).all()  # she is what she is


@pytest.mark.parametrize("coupling", ["monotone", "independent", -1.0])
def test_the_share_of_a_group_is_inside_and_narrower(posterior, coupling):
    """Of five people; one mechanism serves them all, so that not everybody is at her own best."""
    names = {"rank": "gumbel" if isinstance(coupling, float) else coupling, "raise": coupling}
    worlds = ca.counterfactuals(posterior, {"gender": "female"}, coupling=names, draws=800, progress=False)
    one = ca.counterfactuals(posterior, {"gender": "female"}, draws=2, bounds=True, progress=False)
    for name, size in (("rank", 3), ("raise", 2)):
        low, high = one.share_bounds[name].isel(draw=0).to_numpy()
        share = np.array([(worlds.dataset[name] == code).mean() for code in range(size)])
        assert (low - 0.05 <= share).all()
        assert (share <= high + 0.05).all()
        personal = one.bounds[name].isel(draw=0).mean("individual").to_numpy()
        assert (personal[0] <= low + 1e-9).all()
        assert (high <= personal[1] + 1e-9).all()
    assert one.share_bounds["rank"].attrs["bounds"] == "sharp"


def test_the_draws_are_the_same_with_bounds_and_without(posterior):
    plain, bounded = (
        ca.counterfactuals(posterior, {"gender": "female"}, draws=20, bounds=asked, progress=False)
        for asked in (False, True)
    )
    assert plain.dataset.equals(bounded.dataset)
    assert not plain.bounds


def test_bounds_are_saved(posterior, tmp_path):
    worlds = ca.counterfactuals(posterior, {"gender": "female"}, draws=4, bounds=True, progress=False)
    worlds.save(tmp_path / "worlds.nc")
    loaded = ca.load(tmp_path / "worlds.nc")
    assert loaded.bounds.identical(worlds.bounds)
    with pytest.raises(CausalAuditError, match="no bounds but those saved"):
        _ = loaded.share_bounds


def test_the_truth_of_xor_is_inside_for_everybody():
    """The program has the probabilities of XOR and another noise; in truth W is another for everybody, Y is not."""
    people = draw_xor(np.random.default_rng(0), 4000)
    posterior = ca.fit(ca.models.standard_prediction.plain_bernoulli(), people, draws=2, chains=1, progress=False)
    worlds = ca.counterfactuals(posterior, {"X": 1 - people["X"]}, bounds=True, progress=False)
    for name, truth, expected in (("W", 1.0, (0.8, 1.0)), ("Y", 0.0, (0.0, 0.36))):
        other = np.arange(2) != people[name].to_numpy()[:, None]
        low, high = worlds.bounds[name].isel(draw=0).to_numpy()[:, other]
        assert (low <= truth + 1e-12).all()
        assert (high >= truth - 1e-12).all()
        # the mean over these people, each of whom has a number between 0 and 1
        np.testing.assert_allclose([low.mean(), high.mean()], expected, atol=2.6 * 0.5 / np.sqrt(len(people)))


def test_what_has_no_bounds_is_refused(posterior):
    with pytest.raises(InterventionError, match="leave out edges"):
        ca.counterfactuals(posterior, {"gender": "female"}, edges=[("gender", "rank")], bounds=True, progress=False)
    unknown = posterior.data.assign(**{"raise": [0, 1, None, 1, 0]})
    with pytest.raises(DataError, match="'raise' is missing of somebody"):
        ca.counterfactuals(posterior, {"gender": "female"}, unknown, bounds=True, progress=False)
    confounded = posterior_of(posterior.scm.confounded("gender", "raise", rho=0.3), posterior.data, {"x": np.zeros(3)})
    with pytest.raises(DataError, match="confounded"):
        ca.counterfactuals(confounded, {"gender": "female"}, bounds=True, progress=False)
    loans = ca.datasets.make_loan(100, seed=0)
    with pytest.raises(DataError, match="infinitely many values, which cannot be enumerated: ask without bounds=True"):
        ca.counterfactuals(
            ca.fit(ca.models.loan.linear(), loans, draws=50, progress=False), {"gender": "male"}, bounds=True
        )


def test_an_intervention_that_reaches_nothing_has_no_bounds(posterior):
    assert not ca.counterfactuals(posterior, {"raise": 1}, bounds=True, progress=False).bounds


def test_bounds_are_not_written_to_folders(tmp_path):
    pytest.importorskip("zarr")
    scm = ca.models.standard_prediction.plain_bernoulli()
    people = pd.DataFrame({name: [0, 1, 1] for name in scm.columns})
    posterior = ca.fit(scm, people, draws=2, chains=1)
    with pytest.raises(DataError, match="bounds are kept in memory"):
        ca.counterfactuals(posterior, {"X": 1}, bounds=True, path=tmp_path / "worlds.zarr")
    assert not list(tmp_path.iterdir())
