"""Rectangles of the bivariate normal distribution: against scipy, far out against its own quadrature, and slopes."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from scipy.special import log_ndtr
from torch.func import hessian, jacrev, vmap

from causalaudit.scm.noise.bivariate_normal import log_conditional, log_density, log_interval, log_rectangle

INFINITE = 1e8
RHOS = (-0.95, -0.6, 0.2, 0.5, 0.9)


def columns(*numbers):
    return [torch.tensor([float(number)], dtype=torch.float64) for number in numbers]


def rectangle(one, other, rho):
    ends = columns(*one, *other)
    return float(log_rectangle((ends[0], ends[1]), (ends[2], ends[3]), rho))


def log_by_quadrature(one, other, rho):
    """The same probability by scipy's adaptive quadrature, in units of its greatest value."""
    spread = np.sqrt(1 - rho**2)

    def log_integrand(at):
        low, high = ((end - rho * at) / spread for end in other)
        if low > 0:
            low, high = -high, -low
        top = log_ndtr(high)
        return stats.norm.logpdf(at) + top + np.log(-np.expm1(log_ndtr(low) - top))

    grid = np.linspace(max(one[0], -60), min(one[1], 60), 2001)
    heights = np.array([log_integrand(at) for at in grid])
    top, counts = heights.max(), grid[heights > heights.max() - 45]
    ends = np.linspace(max(counts[0] - 0.01, grid[0]), min(counts[-1] + 0.01, grid[-1]), 12)
    pieces = [
        integrate.quad(lambda at: np.exp(log_integrand(at) - top), a, b, epsrel=1e-13, epsabs=0)[0]
        for a, b in pairwise(ends)
    ]
    return top + np.log(sum(pieces))


@pytest.mark.parametrize("rho", RHOS)
def test_quadrants_and_rectangles_are_those_of_scipy(rho):
    law = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]])
    rng = np.random.default_rng(0)
    for h, k in rng.normal(size=(6, 2)) * 1.5:
        assert np.exp(rectangle((-INFINITE, h), (-INFINITE, k), rho)) == pytest.approx(law.cdf([h, k]), abs=1e-10)
    for low, high in zip(rng.normal(size=(6, 2)), rng.exponential(size=(6, 2)), strict=True):
        expected = law.cdf(low + high, lower_limit=low)
        assert np.exp(rectangle(*zip(low, low + high, strict=True), rho)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("one", "other", "rho"),
    [
        ((8.0, INFINITE), (-INFINITE, -9.0), 0.5),
        ((20.0, 20.5), (3.0, 3.1), 0.5),
        ((-INFINITE, -14.0), (-12.0, -11.5), -0.9),
        ((5.0, 5.001), (-7.0, -6.9), 0.95),
        ((-30.0, -29.0), (-INFINITE, 1.0), 0.6),
    ],
)
def test_far_out_a_probability_has_all_its_digits(one, other, rho):
    found, expected = rectangle(one, other, rho), log_by_quadrature(one, other, rho)
    assert expected < -20
    assert found == pytest.approx(expected, abs=1e-10)  # relative to the probability
    assert rectangle(other, one, rho) == pytest.approx(expected, abs=1e-10)


def test_rectangles_add_up_and_without_correlation_they_are_products():
    grid = [-INFINITE, -3.0, -0.5, 0.1, 2.0, INFINITE]
    cells = list(pairwise(grid))
    total = sum(np.exp(rectangle(one, other, 0.8)) for one in cells for other in cells)
    assert total == pytest.approx(1.0, abs=1e-11)
    for one in cells:
        alone = [float(log_interval(*columns(*cell))) for cell in (one, cells[1])]
        assert rectangle(one, cells[1], 0.0) == pytest.approx(sum(alone), abs=1e-11)


def test_a_narrow_rectangle_is_a_density():
    at, width, rho = (0.7, -1.2), 1e-4, 0.6
    found = rectangle((at[0], at[0] + width), (at[1], at[1] + width), rho) - 2 * np.log(width)
    centre = columns(at[0] + width / 2, at[1] + width / 2)
    expected = float(log_density(*centre, rho)) + sum(stats.norm.logpdf(float(one)) for one in centre)
    assert found == pytest.approx(expected, abs=1e-7)
    law = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]])
    assert expected == pytest.approx(law.logpdf([float(one) for one in centre]), abs=1e-12)


@pytest.mark.parametrize(
    "ends",
    [(-1.0, 0.5, 0.2, 1.0), (-INFINITE, 0.3, 0.1, INFINITE), (4.0, 4.5, -6.0, -5.0), (-INFINITE, -9.0, 7.0, INFINITE)],
)
def test_slopes_are_those_of_finite_differences_inside_vmap_too(ends):
    start = torch.tensor(ends, dtype=torch.float64)
    finite = start.abs() < INFINITE

    def function(at):
        at = torch.where(finite, at, start)
        parts = at.unsqueeze(-1).unbind(0)
        both = log_rectangle((parts[0], parts[1]), (parts[2], parts[3]), 0.6)
        return (both + log_conditional(parts[0], parts[1], parts[2], 0.6)).sum()

    step = 1e-3

    def difference(of, at):
        found = []
        for place in range(4):
            shift = torch.zeros(4, dtype=torch.float64)
            shift[place] = step
            near, far = of(at + shift) - of(at - shift), of(at + 2 * shift) - of(at - 2 * shift)
            found.append((8 * near - far) / (12 * step))
        return torch.stack(found)

    slope = jacrev(function)
    assert torch.allclose(slope(start), difference(function, start), rtol=1e-7, atol=1e-7)
    assert torch.allclose(hessian(function)(start), difference(slope, start), rtol=1e-6, atol=1e-6)
    several = start + torch.linspace(-0.01, 0.01, 3, dtype=torch.float64).unsqueeze(-1)
    assert torch.allclose(vmap(slope)(several), torch.stack([slope(one) for one in several]), rtol=1e-12)
