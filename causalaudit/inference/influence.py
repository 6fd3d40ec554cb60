"""How much each person moves a posterior mean: the influence function, from the draws alone."""

from collections.abc import Mapping

import numpy as np

from causalaudit.arviz_versions import group_names
from causalaudit.errors import InferenceError
from causalaudit.inference.density.chunked_density import marginal_density
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.posterior.posterior import Posterior
from causalaudit.inference.sandwich.maximum import AtMaximum
from causalaudit.progress import pieces

_BUDGET = 2**23  # numbers (draws x rows) of one pass, 64 MiB
_SOME = 50  # draws near whose mean the maximum of a weighted posterior is sought
_STEP = 1e-3  # of differences, in standard deviations
_BY_NUMBER = 2  # draws for each number of the parameters that slopes are fitted to, at least
_SAME = 1e-8  # of standardised parameters, below which a direction is none (probabilities that add up to one)


def posterior_influence(posterior: Posterior, figures: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the influence of each person on posterior means.

    The derivative of a posterior mean with respect to the weight of a person is the covariance, over the posterior, of
    the figure with the log-likelihood of this person. No program has to be differentiated, and nothing refitted; the
    variance of the influences is right for a wrong program too (the sandwich, not the curvature).

    Draws of a weighted posterior have the covariance of the sandwich already, and not that of the curvature: there the
    influence on the maximum, H⁻¹ times the weighted score, is multiplied by the slope of the figure, which is fitted to
    the draws by least squares.

    Parameters
    ----------
    posterior
        From `fit`.
    figures
        What is averaged, by draw (first axis).
    numbers
        The draws of the posterior that the figures belong to.

    Returns
    -------
    numpy.ndarray
        People (in the order of the data) × figures: the derivative times the number of people, so that its variance
        over people, divided by their number, is that of the mean.

    Raises
    ------
    InferenceError
        If latents were drawn together with the parameters, so that people have no likelihood of their own.

    References
    ----------
    Giordano and Broderick (2023), The Bayesian infinitesimal jackknife for variance.
    """
    people = len(posterior.data)
    if not posterior.scm.parameters:
        return np.zeros((people, figures.shape[1]))
    if "latents" in group_names(posterior.idata):
        raise InferenceError(
            "The latents of this posterior were drawn together with its parameters, so that people have no likelihood "
            'of their own: how much each of them moves the parameters is not known. Use population="simulate".'
        )
    if posterior.weights is not None:
        return _of_weighted(posterior, figures, numbers, posterior.weights)
    density = MarginalDensity(posterior.scm, posterior.scm.encode(posterior.data))
    values, centred = posterior.parameters(), figures - figures.mean(axis=0)
    sums = np.zeros((len(density.rows), figures.shape[1]))
    for part in pieces(len(numbers), len(density.rows), _BUDGET):
        chosen = {name: value[numbers[part]] for name, value in values.items()}
        heights = density.likelihood_by_row(chosen, len(numbers[part]), accuracy="good")
        sums += heights.T @ centred[part]
    influence: np.ndarray = people * sums[density.rows.inverse] / max(1, len(numbers) - 1)
    return influence


def _of_weighted(posterior: Posterior, figures: np.ndarray, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    scm, counted = posterior.scm, weights > 0
    slopes = _slopes(_flat(posterior.parameters(), numbers), figures)
    influence = np.zeros((len(weights), figures.shape[1]))
    if not slopes.any():  # points
        return influence
    people = {name: value[counted] for name, value in scm.encode(posterior.data).items()}
    density = marginal_density(scm, people, weights[counted])
    place = AtMaximum.of(density, density.unconstrain(posterior.parameters(min(_SOME, len(numbers)))), seed=0)
    first, steps = density.of_first(), _STEP * np.eye(density.size)
    sides = [first.constrain(place.vectors(sign * steps)) for sign in (1, -1)]
    ends = [_flat({name: side[name] for name in scm.parameters}, np.arange(density.size)) for side in sides]
    change = (ends[0] - ends[1]) / (2 * _STEP) @ slopes
    influence[counted] = len(weights) * weights[counted, None] * (place.pulls(slice(None)) @ change)
    return influence


def _flat(values: Mapping[str, np.ndarray], numbers: np.ndarray) -> np.ndarray:
    """Return parameters as numbers (columns) by draw."""
    return np.concatenate([value[numbers].reshape(len(numbers), -1) for value in values.values()], axis=1)


def _slopes(parameters: np.ndarray, figures: np.ndarray) -> np.ndarray:
    """Return the slopes of figures in the parameters (rows), by least squares over draws."""
    draws, size = parameters.shape
    spread = parameters.std(axis=0)
    moving = spread > 1e-12 * np.abs(parameters).max(axis=0)
    slopes = np.zeros((size, figures.shape[1]))
    if not moving.any():
        return slopes
    if draws < _BY_NUMBER * (size + 1):
        raise InferenceError(
            f"{draws} draws are too few for the influence of weighted people on {size} parameters: ask for at least "
            f"{_BY_NUMBER * (size + 1)} draws."
        )
    standard = (parameters[:, moving] - parameters[:, moving].mean(axis=0)) / spread[moving]
    found, *_ = np.linalg.lstsq(standard, figures - figures.mean(axis=0), rcond=_SAME)
    slopes[moving] = found / spread[moving, None]
    return slopes
