"""Parameters refitted to weighted people: a few steps from the mode, for many sets of weights at once."""

import numpy as np
import torch

from causalaudit.arviz_versions import inference_data
from causalaudit.errors import InferenceError
from causalaudit.inference.density.distinct_rows import DistinctRows
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.density.pair_quadrature import are_integrable
from causalaudit.inference.laplace.mode import Mode
from causalaudit.inference.laplace.mode_search import find_mode
from causalaudit.inference.posterior.arrangement import chained
from causalaudit.inference.posterior.posterior import Posterior
from causalaudit.progress import pieces
from causalaudit.scm.execution import numerics, over_draws
from causalaudit.scm.handlers import Tensors

# Numbers (sets of weights x rows x states x nodes) of one pass: 1 MiB, hundreds of which a gradient keeps.
_BUDGET = 2**17
_MOST_STEPS = 10  # of Newton to the mode, before it is searched from the prior
_MOST_CLIMBS = 12  # steps under each set of weights; two or three, where people are many
# A step that moves no parameter by more of its posterior standard deviation is the last: a fraction of it is left.
_SHORT = 0.1


def refit(posterior: Posterior, weights: np.ndarray, seed: int) -> Posterior:
    """Return a posterior whose draws are the parameters refitted under each row of weights (mean one).

    The weighted log-likelihood plus the log-prior is climbed in unconstrained space from the maximum at equal weights,
    or at the survey weights of the posterior, if it has some; these are not applied again.
    Only gradients and the Hessian at that maximum are needed, both by backward differentiation, which every program
    has that can be fitted.

    Raises
    ------
    InferenceError
        If several continuous latents of each person would have to be integrated out.
    """
    scm, draws = posterior.scm, len(weights)
    settings = {**posterior.settings, "chains": 1, "draws": draws}
    if not scm.parameters:
        return Posterior(scm, posterior.data, posterior.idata, settings)
    if not are_integrable(scm):
        raise InferenceError(
            "Several latents of each person are continuous, and cannot be integrated out: the parameters cannot be "
            'refitted to weighted people. Use population="simulate".'
        )
    people, survey = scm.encode(posterior.data), posterior.weights
    if survey is not None:
        counted = survey > 0
        people = {name: value[counted] for name, value in people.items()}
        survey, weights = survey[counted], weights[:, counted]
    density = MarginalDensity(scm, DistinctRows.of(scm, people, survey))
    mode = _mode(density, posterior, seed)
    by_row = np.zeros((draws, len(density.rows)))
    np.add.at(by_row.T, density.rows.inverse, weights.T)
    values = density.constrain(_climb(density.placed_at(mode.location), mode, by_row))
    group = chained(scm, (1, draws), {name: values[name] for name in scm.parameters})
    return Posterior(scm, posterior.data, inference_data(posterior=group), settings)


def _mode(density: MarginalDensity, posterior: Posterior, seed: int) -> Mode:
    """Return the maximum at equal weights, by Newton steps from the posterior mean."""
    means = {name: np.asarray(value.mean(axis=0)) for name, value in posterior.parameters().items()}
    location = density.parameters.inverse(means)
    for _ in range(_MOST_STEPS):
        here = density.placed_at(location)
        height, slope = here.gradient(location)
        with numerics():
            hessian = -np.asarray(torch.autograd.functional.hessian(here.total, torch.from_numpy(location)).numpy())
        if not np.isfinite(hessian).all() or np.linalg.eigvalsh(hessian)[0] <= 0:
            break
        step = np.linalg.solve(hessian, slope)
        found = Mode(location, hessian, height)
        if (np.abs(step) < _SHORT * np.sqrt(np.diag(found.covariance))).all():  # the rest is made up for under weights
            return found
        location = location + step
    return find_mode(density, prior=True, jacobian=True, seed=seed)


def _climb(density: MarginalDensity, mode: Mode, weights: np.ndarray) -> np.ndarray:
    """Return the maximum under each set of weights of the distinct rows (sets along the first axis).

    A limited-memory quasi-Newton method (Nocedal 1980) for all sets at once, whose first curvature is that at the mode.
    """
    covariance = mode.covariance
    short = _SHORT * np.sqrt(np.diag(covariance))
    places = np.repeat(mode.location[None], len(weights), axis=0)
    slopes = _slopes(density, places, weights)
    share = np.ones(len(weights))  # of the step that is tried
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(_MOST_CLIMBS):
        steps = share[:, None] * _steps(slopes, covariance, pairs)
        going = (np.abs(steps) > short).any(axis=1)
        if not going.any():
            break
        steps[~going] = 0.0
        found = slopes.copy()
        found[going] = _slopes(density, places[going] + steps[going], weights[going])
        lower = _length(found, covariance) < _length(slopes, covariance)  # False where it is not a number
        pairs.append((steps, np.where(np.isfinite(found), slopes - found, 0.0)))
        places[lower] += steps[lower]
        slopes[lower] = found[lower]
        share = np.where(lower | ~going, 1.0, share / 4)
    return places + share[:, None] * _steps(slopes, covariance, pairs)  # a short one, of which no gradient is needed


def _length(slopes: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return the squared length of the steps that gradients ask for at the mode, in standard deviations."""
    return np.asarray(np.einsum("dj,jk,dk->d", slopes, covariance, slopes))


def _steps(slopes: np.ndarray, covariance: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the steps along gradients, with the curvature that steps and changes of the gradient have shown.

    The two loops of the limited-memory quasi-Newton method; pairs that show no curvature of a maximum change nothing.
    """
    ascent, used = slopes.copy(), []
    for step, change in reversed(pairs):
        bend = (step * change).sum(axis=1, keepdims=True)
        inverse = np.divide(1.0, bend, out=np.zeros_like(bend), where=bend > 0)
        factor = inverse * (step * ascent).sum(axis=1, keepdims=True)
        ascent -= factor * change
        used.append((step, change, inverse, factor))
    ascent = ascent @ covariance
    for step, change, inverse, factor in reversed(used):
        ascent += step * (factor - inverse * (change * ascent).sum(axis=1, keepdims=True))
    return ascent


def _slopes(density: MarginalDensity, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the gradient of the weighted log-density at a place for each set of weights."""

    def one_set(at: Tensors, people: Tensors) -> Tensors:
        parts = density.by_row(density.parameters.split(at["place"]))
        return {"height": (parts.likelihood * people["weights"]).sum() + parts.log_prior + parts.jacobian}

    slopes = np.empty_like(places)
    with numerics():
        for part in pieces(len(places), density.run_size, _BUDGET):
            at = torch.tensor(places[part], requires_grad=True)
            people = {"weights": torch.from_numpy(weights[part])}
            found = over_draws(one_set, {"place": at}, people, len(at), check=part.start == 0)
            (slope,) = torch.autograd.grad(found["height"].sum(), at)
            slopes[part] = slope.numpy()
    return slopes
