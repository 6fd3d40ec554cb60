"""Where samplers start, and how far they step: coordinates from the Laplace fit, or from the prior."""

import numpy as np

from causalaudit.errors import InferenceError
from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.laplace.mode import spread_of
from causalaudit.inference.samplers.coordinates import WhiteCoordinates
from causalaudit.randomness import generator

_STARTS = 64
_TRIALS = 100  # draws by which two sets of coordinates are compared
_NARROW = 0.1  # of the prior's spread: a first guess of the posterior's


def better_coordinates(density: ProgramDensity, laplace: WhiteCoordinates, seed: int) -> WhiteCoordinates:
    """Return coordinates of the Laplace fit if they can be trusted, else these or the prior's, whichever fit better.

    Raises
    ------
    InferenceError
        If the data have probability zero under every draw from the prior.
    """
    if laplace.trusted:
        return laplace
    points = generator(seed, "frames").standard_normal((_TRIALS, density.size))
    both = (laplace, coordinates_of_prior(density, seed))
    return max(both, key=lambda one: float(np.median(one.log_ratios(density.value, points))))


def coordinates_of_draws(vectors: np.ndarray, trusted: bool) -> WhiteCoordinates:
    """Return the coordinates of the first two moments of draws of the parameters."""
    units = vectors.std(axis=0)
    units = np.where(units > 0, units, 1.0)
    correlation = np.atleast_2d(np.cov(vectors / units, rowvar=False)) * 0.99 + 0.01 * np.eye(len(units))
    root = units[:, None] * np.linalg.cholesky(correlation)
    return WhiteCoordinates.of_parameters(vectors.mean(axis=0), root, trusted)


def coordinates_of_prior(density: ProgramDensity, seed: int) -> WhiteCoordinates:
    """Return coordinates at the best of 64 draws from the prior, a tenth as wide as they are, all independent.

    Raises
    ------
    InferenceError
        If the data have probability zero under every draw.
    """
    starts = density.prior_vectors(_STARTS, seed)
    heights = density.value(starts)
    if np.isneginf(heights.max()):
        raise InferenceError(
            f"The data have probability zero under each of {_STARTS} draws from the prior of {density.name!r}. "
            "Check that the priors are in the units of the data."
        )
    spread, size = _NARROW * spread_of(starts), density.parameter_size
    by_person = spread[size:].reshape(density.latent_shape).T
    blocks = by_person[:, :, None] * np.eye(by_person.shape[1])
    slopes = np.zeros((len(spread) - size, size))
    return WhiteCoordinates(starts[int(np.argmax(heights))], np.diag(spread[:size]), slopes, blocks)
