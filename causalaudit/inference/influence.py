"""How much each person moves a posterior mean: the influence function, from the draws alone."""

import numpy as np

from causalaudit.arviz_versions import group_names
from causalaudit.errors import InferenceError
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.posterior.posterior import Posterior
from causalaudit.progress import pieces

_BUDGET = 2**23  # numbers (draws x rows) of one pass, 64 MiB


def posterior_influence(posterior: Posterior, figures: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the influence of each person on posterior means.

    The derivative of a posterior mean with respect to the weight of a person is the covariance, over the posterior, of
    the figure with the log-likelihood of this person. No program has to be differentiated, and nothing refitted; the
    variance of the influences is right for a wrong program too (the sandwich, not the curvature).

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
    density = MarginalDensity(posterior.scm, posterior.scm.encode(posterior.data))
    values, centred = posterior.parameters(), figures - figures.mean(axis=0)
    sums = np.zeros((len(density.rows), figures.shape[1]))
    for part in pieces(len(numbers), len(density.rows), _BUDGET):
        chosen = {name: value[numbers[part]] for name, value in values.items()}
        heights = density.likelihood_by_row(chosen, len(numbers[part]), accuracy="good")
        sums += heights.T @ centred[part]
    influence: np.ndarray = people * sums[density.rows.inverse] / max(1, len(numbers) - 1)
    return influence
