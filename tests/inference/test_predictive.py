"""Predictive checks by group, as pictures and as numbers."""

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.plots import plot_predictive


def firm(n):
    rate = pyro.sample("rate", dist.LogNormal(1.0, 0.5))
    gap = pyro.sample("gap", dist.Normal(0.0, 0.5))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.4))
        pyro.sample("years", dist.Poisson(rate * torch_exp(gap * sex)))
        pyro.sample("wage", dist.Normal(20.0 + gap * sex, 2.0))


def torch_exp(value):
    return value.exp()


@pytest.fixture(scope="module")
def scm():
    return ca.SCM(firm, levels={"sex": ["man", "woman"]})


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    sex = rng.random(400) < 0.4
    wage, years = rng.normal(20 - 0.5 * sex, 2), rng.poisson(6 * np.exp(-0.5 * sex))
    return pd.DataFrame({"sex": np.where(sex, "woman", "man"), "years": years, "wage": wage})


@pytest.fixture(scope="module")
def posterior(scm, people):
    return ca.fit(scm, people, draws=100, seed=0)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_numbers_are_curves_inside_their_bands(posterior, people):
    ax = plot_predictive(posterior, "wage", by="sex", prob=0.98)
    assert legend(ax) == ["man", "woman", "observed", "simulated, 98% band"]
    assert (len(ax.lines), len(ax.collections)) == (2, 2)
    for line, band, group in zip(ax.lines, ax.collections, ("man", "woman"), strict=True):
        own = np.sort(people.loc[people["sex"] == group, "wage"])
        np.testing.assert_allclose(line.get_ydata(), np.searchsorted(own, line.get_xdata(), "right") / len(own))
        edge = band.get_paths()[0].vertices
        inside = []
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True):
            at = edge[np.isclose(edge[:, 0], x), 1]
            inside.append(at.min() - 1e-9 <= y <= at.max() + 1e-9)
        assert np.mean(inside) > 0.9


def test_levels_are_shares_beside_each_other(posterior, people):
    ax = plot_predictive(posterior, "sex")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["man", "woman"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), people["sex"].value_counts(normalize=True)[["man", "woman"]])
    assert legend(ax) == ["observed", "simulated, 90% bars"]
    for bar, share in zip(ax.patches, ax.lines[0].get_ydata(), strict=True):
        assert bar.get_y() - 0.05 < share < bar.get_y() + bar.get_height() + 0.05


def test_counts_have_whole_numbers_and_few_of_them_are_shares(scm, posterior):
    grid = plot_predictive(posterior, "years", by="sex").lines[0].get_xdata()
    assert (grid == np.round(grid)).all()
    plt.figure()
    few = scm.prior_predictive(n=20, draws=10)
    few["years"] = few["years"].clip(max=2)
    ax = plot_predictive(few, "years", by="sex")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2"]
    assert ax.get_ylabel() == "share of people"


def test_a_prior_needs_no_data_and_takes_them(scm, people):
    prior = scm.prior_predictive(n=100, draws=50)
    ax = plot_predictive(prior, "wage", by="sex")
    assert not ax.lines
    assert legend(ax) == ["man", "woman", "simulated, 90% band"]
    _, axes = plt.subplots()
    assert plot_predictive(prior, "wage", by="sex", data=people, ax=axes) is axes
    assert len(axes.lines) == 2


def test_a_wide_prior_does_not_hide_the_data(scm, people):
    prior = scm.prior_predictive(n=100, draws=50)
    prior["wage"] = prior["wage"] * 1000
    low, high = plot_predictive(prior, "wage", data=people).get_xlim()
    assert high - low <= 5 * np.ptp(people["wage"])


def test_a_group_that_some_draws_lack_is_drawn_from_the_others(scm, people):
    prior = scm.prior_predictive(n=3, draws=60, seed=1)
    assert ((prior["sex"] == 1).sum("individual") == 0).any()
    assert len(plot_predictive(prior, "wage", by="sex", data=people).collections) == 2
    plt.figure()
    nobody = people[people["sex"] == "man"]
    assert len(plot_predictive(prior, "wage", by="sex", data=nobody).lines) == 1


def test_bad_input_is_named(scm, posterior, people):
    with pytest.raises(DataError, match=r"No variable 'wages' was simulated: did you mean 'wage'\?"):
        plot_predictive(posterior, "wages")
    with pytest.raises(DataError, match="No variable 'gap' was simulated"):
        plot_predictive(posterior, "gap")
    with pytest.raises(DataError, match=r"'wage' has .* values, but there may be at most 8 groups"):
        plot_predictive(posterior, "years", by="wage")
    prior = scm.prior_predictive(n=10, draws=5)
    with pytest.raises(DataError, match="data has no column 'wage'"):
        plot_predictive(prior, "wage", data=people[["sex"]])
    with pytest.raises(DataError, match="'sex' has the value 'other', which is not a level"):
        plot_predictive(prior, "wage", by="sex", data=people.assign(sex="other"))


def test_the_same_seed_gives_the_same_picture(posterior):
    axes = [plot_predictive(posterior, "wage", draws=20, ax=plt.subplots()[1]) for _ in range(2)]
    one, two = (ax.collections[0].get_paths()[0].vertices for ax in axes)
    np.testing.assert_array_equal(one, two)


def test_loo_goes_through_arviz(posterior, people):
    posterior.log_likelihood(progress=False)
    own = az.loo(posterior.idata)
    assert own.n_data_points == len(people)
    assert float(own.p_loo) == pytest.approx(2, abs=1.2)
