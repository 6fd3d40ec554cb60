"""Nested counterfactual rates of the people of the data as they are, and how far these are a sample of a population."""

import numpy as np

from causalaudit.counterfactuals import ReweightedPeople
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.explaining.reweighted_rates import WeightedRates, reweighted_rates
from causalaudit.error_rates.explaining.terms import SHAPE
from causalaudit.progress import pieces
from causalaudit.randomness import dirichlet_weights


def standardised_rates(question: RateQuestion, people: ReweightedPeople, progress: bool) -> np.ndarray:
    """Return draws of the rates in the population, whose mean is the posterior mean of the rates of these people.

    A person moves a rate by counting in it, and by moving the parameters. The Bayesian bootstrap of the sum of both is
    drawn: influences under Dirichlet weights, which are centred so that the mean over draws is exact.
    """
    found = reweighted_rates(question, people, progress)
    figures = found.rates.reshape(len(found.rates), -1)
    influence = _by_counting(found, people.weights[0]) + people.influence(figures)
    moved = _bootstrap(influence, len(figures), people.seed)
    draws = figures.mean(axis=0) + moved - moved.mean(axis=0)
    return np.asarray(draws.reshape(-1, *SHAPE))


def _by_counting(found: WeightedRates, weights: np.ndarray) -> np.ndarray:
    """Return the influence of each person (first axis) on the rates in which he or she counts, with a weight."""
    members = found.members * weights
    means = found.rates.mean(axis=0)[..., None]
    influence = (found.answers - means) * members / members.mean(axis=-1)[:, None]
    return np.asarray(influence.reshape(-1, influence.shape[-1]).T)


def _bootstrap(influence: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """Return weighted means of influences under Dirichlet weights (first axis: draws)."""
    people = len(influence)
    return np.concatenate(
        [
            dirichlet_weights(seed, "people", range(part.start, part.stop), people) @ influence / people
            for part in pieces(draws, people)
        ]
    )
