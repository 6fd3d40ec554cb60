"""Noise that two worlds share to a degree: its distribution, its correlation, and what is asked for."""

import numpy as np
import pyro
import pyro.distributions as dist
import pytest
import torch
from random_programs import FAMILIES
from scipy import stats

import causalaudit as ca
from causalaudit.errors import DataError, ProgramError
from causalaudit.scm.noise import couplings_of, noise_of
from causalaudit.scm.noise.coupled import recoupled

SIZE = 4_000
ORDERED = [name for name, law in FAMILIES.items() if couplings_of(law(torch.zeros(2)))[0] == "monotone"]
UNIFORMS = torch.from_numpy(np.random.default_rng(5).random((2, SIZE)))


@pytest.fixture(params=ORDERED)
def site(request):
    """A law of each ordered family for many people, and their noise."""
    law = FAMILIES[request.param](torch.full((SIZE,), 0.3, dtype=torch.float64))
    noise = noise_of(law, "site", shape_has_parents="parents" in request.param)
    return law, noise, noise.fresh(law, UNIFORMS[0])


def test_the_law_stays_and_the_correlation_is_r(site):
    law, noise, own = site
    before = noise.push(law, own).numpy()
    for r in (-0.5, 0.0, 0.5):
        other = recoupled(noise, law, own, UNIFORMS[1], r)
        z = stats.norm.ppf(UNIFORMS[0]) * r + np.sqrt(1 - r * r) * stats.norm.ppf(UNIFORMS[1])
        expected = noise.push(law, noise.fresh(law, torch.from_numpy(stats.norm.cdf(z)))).numpy()
        after = noise.push(law, other).numpy()
        usual = np.abs(z) < 5
        # Near zero a value is a difference of larger numbers.
        np.testing.assert_allclose(after[usual], expected[usual], rtol=1e-7, atol=1e-7)
        if len(np.unique(before)) == SIZE:  # ranks are those of normal numbers, whose correlation they show
            found = stats.spearmanr(before, after).statistic
            assert found == pytest.approx(6 / np.pi * np.arcsin(r / 2), abs=4 / np.sqrt(SIZE))


def test_one_is_the_same_and_minus_one_twice(site):
    law, noise, own = site
    value = noise.push(law, own)
    same = noise.push(law, recoupled(noise, law, own, UNIFORMS[1], 1.0))
    reversed_ = recoupled(noise, law, own, UNIFORMS[1], -1.0)
    back = noise.push(law, recoupled(noise, law, reversed_, UNIFORMS[1], -1.0))
    torch.testing.assert_close(same, value, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(back, value, rtol=1e-9, atol=1e-9)
    if len(value.unique()) == SIZE:
        assert stats.spearmanr(value, noise.push(law, reversed_)).statistic == pytest.approx(-1.0)


def test_far_tails_are_reversed():
    law = FAMILIES["Poisson"](torch.zeros(2, dtype=torch.float64))
    noise, tails = noise_of(law, "site"), torch.tensor([1e-200, -1e-200], dtype=torch.float64)
    torch.testing.assert_close(recoupled(noise, law, tails, torch.full((2,), 0.5), -1.0), -tails, rtol=1e-9, atol=0.0)
    ends = recoupled(noise, law, torch.zeros(2, dtype=torch.float64), torch.full((2,), 0.5), -1.0)
    assert bool((ends > 0).all())  # from no survival to hardly any probability below


@pytest.mark.parametrize("family", ORDERED)
def test_it_runs_over_draws_at_once(family):
    law = FAMILIES[family](torch.full((3,), 0.3, dtype=torch.float64))
    noise = noise_of(law, "site", shape_has_parents="parents" in family)
    own = torch.stack([noise.fresh(law, UNIFORMS[0, start : start + 3]) for start in (0, 3)])

    def other(one):
        return recoupled(noise, law, one, UNIFORMS[1, :3], 0.5)

    torch.testing.assert_close(torch.func.vmap(other)(own), torch.stack([other(one) for one in own]))


LAWS = {"gender": "monotone", "salary": "monotone", "balance": "monotone"}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (0.5, {"gender": 0.5, "salary": 0.5, "balance": 0.5}),
        (1, LAWS),
        (-1, {"gender": -1.0, "salary": -1.0, "balance": -1.0}),
        ("independent", {**LAWS, "gender": "independent"}),  # of discrete ones
        ({"salary": 0}, {**LAWS, "salary": 0.0}),
        ({"salary": np.float64(0.25), "gender": 1.0}, {**LAWS, "salary": 0.25}),
    ],
)
def test_what_is_asked_for(asked, expected):
    scm = ca.models.loan.linear()
    assert scm.couplings(asked) == scm.with_coupling(asked).couplings() == expected
    assert scm.couplings() == LAWS  # the model itself is as it was


def test_what_is_asked_for_last_holds_and_the_rest_stays():
    scm = ca.models.loan.linear().with_coupling({"salary": 0.5}).with_coupling({"balance": 0.0})
    assert scm.coupling == {"salary": 0.5, "balance": 0.0}
    assert scm.couplings({"salary": -1}) == {"gender": "monotone", "salary": -1.0, "balance": 0.0}
    assert scm.couplings("gumbel") == {"gender": "gumbel", "salary": 0.5, "balance": 0.0}
    assert scm.with_coupling({"salary": 1, "balance": "monotone"}).coupling == {}


def categories(n):
    with pyro.plate("individuals", n):
        kind = pyro.sample("kind", dist.Categorical(torch.tensor([0.2, 0.8])))
        pyro.sample("other", dist.Categorical(torch.stack([0.3 + 0.1 * kind, 0.7 - 0.1 * kind], -1)))


def test_categories_have_names_only():
    scm = ca.SCM(categories)
    with pytest.raises(ProgramError, match=r"'kind' \(Categorical\) cannot have the coupling 0\.5.* no order.*gumbel"):
        scm.with_coupling({"kind": 0.5})
    with pytest.raises(ProgramError, match=r"0\.5 is a number, but no variable has noise with an order"):
        scm.with_coupling(0.5)
    adult = ca.models.adult.census()
    couplings = adult.couplings(0.5)
    assert set(couplings.values()) == {0.5, "gumbel"}
    assert {name for name, value in couplings.items() if value == "gumbel"} == {
        name for name, family in adult.families.items() if family == "Categorical" and name in couplings
    }


@pytest.mark.parametrize("bad", [1.01, -2, float("nan")])
def test_numbers_out_of_range(bad):
    scm = ca.models.loan.linear()
    with pytest.raises(ProgramError, match="is not one of monotone, gumbel, independent, nor a number from -1 to 1"):
        scm.with_coupling({"salary": bad})


@pytest.mark.parametrize("bad", [True, None])
def test_what_is_no_coupling_at_all(bad):
    with pytest.raises(DataError, match="must be text, a number or a mapping to text or a number"):
        ca.models.loan.linear().with_coupling({"salary": bad})


def test_sites_that_there_are_not():
    with pytest.raises(ProgramError, match="coupling is given for 'salery', which has no noise: did you mean 'salary'"):
        ca.models.loan.linear().with_coupling({"salery": 0.5})
