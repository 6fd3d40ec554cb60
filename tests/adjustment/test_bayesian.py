"""Draws of a Bayesian regression against grids of its posterior."""

import numpy as np
import pytest
from scipy.special import expit

from causalaudit.adjustment.bayesian import draw_regression
from causalaudit.errors import CausalAuditWarning

ROWS = np.array([[-1.0], [0.3], [1.4]])
DRAWS = 4000


def moments(log_density, *axes):
    """Return mean and spread of each axis under a density on a grid."""
    grid = np.meshgrid(*axes, indexing="ij")
    weight = np.exp(log_density(*grid) - log_density(*grid).max())
    weight /= weight.sum()
    means = [(weight * part).sum() for part in grid]
    return means, [np.sqrt((weight * (part - mean) ** 2).sum()) for part, mean in zip(grid, means, strict=True)]


def agrees(values, mean, spread):
    assert abs(values.mean() - mean) < 5 * spread / np.sqrt(DRAWS / 2)
    assert values.std() == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize("events", [(3, 20, 60), (0, 1, 2), (40, 0, 1)])
def test_events_against_a_grid(events):
    people = np.array([50, 40, 70])
    place = np.repeat(np.arange(3), people)
    event = np.concatenate([np.arange(n) < k for n, k in zip(people, events, strict=True)]).astype(float)

    def log_density(base, effect):
        eta = base[..., None] + effect[..., None] * ROWS[:, 0]
        chance = np.log(expit(eta)) * events + np.log(expit(-eta)) * (people - np.array(events))
        return chance.sum(axis=-1) - base**2 / 50 - effect**2 / 2

    means, spreads = moments(log_density, np.linspace(-9, 4, 500), np.linspace(-5, 5, 500))
    drawn = draw_regression(ROWS, place, event, probabilities=False, draws=DRAWS, seed=1)
    agrees(drawn.base, means[0], spreads[0])
    agrees(drawn.effects[:, 0], means[1], spreads[1])


def test_log_odds_against_a_grid():
    rng = np.random.default_rng(5)
    place = rng.integers(3, size=30)
    odds = 0.4 - 0.8 * ROWS[place, 0] + rng.normal(size=30) * 0.6

    def log_density(base, effect, log_spread):
        eta = base[..., None] + effect[..., None] * ROWS[place, 0]
        rest = ((odds - eta) ** 2).sum(axis=-1)
        likelihood = -30 * log_spread - rest / (2 * np.exp(2 * log_spread))
        prior = -(base**2) / 50 - effect**2 / 2 - np.exp(2 * log_spread) / 2 + log_spread
        return likelihood + prior

    axes = np.linspace(-0.5, 1.3, 60), np.linspace(-1.8, 0.2, 60), np.linspace(-1.2, 0.4, 60)
    means, spreads = moments(log_density, *axes)
    drawn = draw_regression(ROWS, place, expit(odds), probabilities=True, draws=DRAWS, seed=2)
    agrees(drawn.base, means[0], spreads[0])
    agrees(drawn.effects[:, 0], means[1], spreads[1])
    agrees(np.log(drawn.spread), means[2], spreads[2])


def test_same_seed_same_draws_and_nothing_to_choose():
    place, event = np.zeros(20, dtype=int), (np.arange(20) < 5).astype(float)
    one, other = (
        draw_regression(np.zeros((1, 0)), place, event, probabilities=False, draws=50, seed=3) for _ in (1, 2)
    )
    assert np.array_equal(one.base, other.base)
    assert one.effects.shape == (50, 0)


def test_draws_that_are_not_to_be_trusted_are_announced(monkeypatch):
    monkeypatch.setattr("causalaudit.adjustment.bayesian._TRUSTED_K", -9.0)
    with pytest.warns(CausalAuditWarning, match="not to be trusted: Pareto k is"):
        draw_regression(ROWS, np.array([0, 1, 2]), np.array([0.0, 1.0, 1.0]), probabilities=False, draws=10)
