"""The methods that `fit` knows by name, and how others are added to them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from causalaudit.errors import InferenceError
from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.density.pair_quadrature import IntegralError
from causalaudit.inference.laplace.importance_draws import ImportanceDraws, laplace_draws
from causalaudit.inference.laplace.mode import NoMaximumError
from causalaudit.inference.laplace.mode_search import find_mode
from causalaudit.inference.laplace.other_modes import ModeSearch
from causalaudit.inference.posterior.diagnostics import FOUND_FIRST, TRUSTED_K, WORTHWHILE
from causalaudit.inference.samplers.chains import chain_statistics, some_of
from causalaudit.inference.samplers.coordinates import WhiteCoordinates
from causalaudit.inference.samplers.nuts import nuts_draws
from causalaudit.inference.samplers.registry import METHODS, Method, MethodDraws, Request, Sampler
from causalaudit.inference.samplers.start import better_coordinates, coordinates_of_draws, coordinates_of_prior
from causalaudit.inference.samplers.svi import svi_draws, variational_coordinates
from causalaudit.progress import say

_PROPOSALS = 1000  # importance draws whose moments are the coordinates that a sampler starts with
_COMPARED = 1000  # draws of chains for which the closest mode is looked up
_NAMED = 3  # parameters by which a part of a posterior is called
_CHECKED = 8  # draws at which the nodes of a continuous latent are doubled as a check


def register_method(name: str, sampler: Sampler, several_latents: bool = True) -> None:
    """Let `fit` draw posteriors by a sampler from elsewhere.

    Parameters
    ----------
    name
        By which `fit` knows it: ``fit(scm, data, method=name)``.
    sampler
        A function of a `LogDensity` and a `Request` that returns unconstrained draws, as an array by chain, draw and
        number: ``(request.chains, request.draws, density.size)``. It takes its randomness from ``request.seed``. It
        may be called again if its draws show that the density must be computed more accurately.
    several_latents
        Whether it may be asked to draw several continuous latents of each person together with the parameters: then
        vectors have hundreds of numbers.

    Raises
    ------
    InferenceError
        If there is a method of that name.

    Examples
    --------
    >>> import numpy as np
    >>> from causalaudit.inference import register_method
    >>> def prior_only(density, request):
    ...     vectors = density.prior_vectors(request.total, request.seed)
    ...     return vectors.reshape(request.chains, request.draws, density.size)
    >>> register_method("draws of the prior", prior_only)
    """
    if name in METHODS:
        raise InferenceError(f"There is a method {name!r} already: give the sampler another name.")
    METHODS[name] = Method(_from_elsewhere(name, sampler), several_latents)


def _from_elsewhere(name: str, sampler: Sampler) -> Callable[[ProgramDensity, Request], MethodDraws]:
    def run(density: ProgramDensity, request: Request) -> MethodDraws:
        density = _placed_for(density, request.seed)
        while True:
            by_chain = _checked(name, sampler(density, request), (request.chains, request.draws, density.size))
            finer = density.refined(some_of(by_chain, _CHECKED))
            if finer is density:
                break
            density = finer  # the nodes of a continuous latent were too few where the draws are
        vectors = by_chain.reshape(request.total, density.size)
        parts = density.over(vectors, request.progress)
        return MethodDraws(name, vectors, parts, chain_statistics(density, by_chain))

    return run


def _placed_for(density: ProgramDensity, seed: int) -> ProgramDensity:
    """Place the nodes of a continuous latent at the mode, or at the best of some draws from the prior."""
    if not density.integrates:
        return density
    try:
        return density.placed_at(find_mode(density, prior=True, jacobian=True, seed=seed, rough=True).location)
    except NoMaximumError:
        return density.placed_at(coordinates_of_prior(density, seed).location)


def _checked(name: str, vectors: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    found = np.asarray(vectors, dtype=float)
    if found.shape != shape:
        raise InferenceError(
            f"The sampler of the method {name!r} returned an array of the shape {found.shape}, but chains × draws × "
            f"numbers are {shape}."
        )
    if not np.isfinite(found).all():
        raise InferenceError(f"The sampler of the method {name!r} returned draws that are not finite.")
    return found


# The methods that are there from the beginning


def _point(name: str, prior: bool) -> Callable[[ProgramDensity, Request], MethodDraws]:
    def run(density: ProgramDensity, request: Request) -> MethodDraws:
        vectors = find_mode(density, prior=prior, jacobian=False, seed=request.seed).location[None]
        density = density.placed_at(vectors[0]).refined(vectors)
        return MethodDraws(name, vectors, density.over(vectors, request.progress))

    return run


def _laplace(density: ProgramDensity, request: Request) -> MethodDraws:
    return _resampled(laplace_draws(density, request.total, request.seed, request.progress))


def _resampled(laplace: ImportanceDraws) -> MethodDraws:
    names = ("pareto_k", "ess", "efficiency", "first_share", "shift", "log_evidence", "log_evidence_error")
    statistics = {name: getattr(laplace, name) for name in names}
    return MethodDraws("laplace", laplace.vectors, laplace.parts, statistics | laplace.search.statistics)


def _auto(density: ProgramDensity, request: Request) -> MethodDraws:
    laplace, why = None, "each person has several continuous latents, which are drawn with the parameters"
    if density.size == density.parameter_size:
        try:
            laplace = laplace_draws(density, request.total, request.seed, request.progress)
        except IntegralError:  # nor can any other method
            raise
        except InferenceError as error:  # NUTS may do without, or says why it cannot
            why = f"importance resampling failed ({str(error).partition('. ')[0].rstrip('.')})"
        else:
            if laplace.trusted:
                return _resampled(laplace)
            why = _distrust(laplace)
    some = ", ".join(map(repr, list(density.scm.parameters)[:_NAMED]))
    more = ", …" if len(density.scm.parameters) > _NAMED else ""
    say(f"fit: NUTS samples {some}{more} of {density.name!r}, because {why}.", request.progress)
    return _nuts(density, request, laplace)


def _distrust(laplace: ImportanceDraws) -> str:
    """Say why importance draws are not to be trusted."""
    if not laplace.pareto_k < TRUSTED_K:
        return f"Pareto k of importance resampling is {laplace.pareto_k:.2f}, and only below {TRUSTED_K} it works"
    if not laplace.efficiency >= WORTHWHILE:
        return f"only {laplace.efficiency:.1%} of the importance proposals count"
    if not laplace.first_share >= FOUND_FIRST:
        return f"only {laplace.first_share:.1%} of the posterior is around its modes"
    return "wider importance proposals find more and more of the posterior"


def _nuts(density: ProgramDensity, request: Request, laplace: ImportanceDraws | None = None) -> MethodDraws:
    """Run NUTS in the coordinates of the Laplace fit; where these cannot be trusted, of a variational fit."""
    density, start, no_maximum, search = _start(density, request, laplace)
    if not start.trusted:
        density, better = variational_coordinates(density, start, request.seed, request.progress)
        if better is None and no_maximum is not None:
            raise no_maximum
        start = better or start
    found = nuts_draws(density, start, request.draws, request.chains, request.seed, request.progress, no_maximum)
    if search is None:
        return found
    known = search.statistics | {"unvisited": search.unvisited(some_of(found.vectors, _COMPARED))}
    return replace(found, statistics={**found.statistics, **known})


def _svi(density: ProgramDensity, request: Request) -> MethodDraws:
    density, start, *_ = _start(density, request)
    return svi_draws(density, start, request.total, request.seed, request.progress)


def _start(
    density: ProgramDensity, request: Request, laplace: ImportanceDraws | None = None
) -> tuple[ProgramDensity, WhiteCoordinates, InferenceError | None, ModeSearch | None]:
    """Return the density placed where samplers start, the coordinates there, why it has no maximum, or its modes.

    A density may be a posterior without having a highest point. With latents that are not integrated out there is no
    Laplace fit.
    """
    if density.size > density.parameter_size:
        return density, coordinates_of_prior(density, request.seed), None, None
    try:
        laplace = laplace or laplace_draws(density, _PROPOSALS, request.seed, request.progress)
    except NoMaximumError as error:
        return density, coordinates_of_prior(density, request.seed), error, None
    own = coordinates_of_draws(laplace.vectors, laplace.trusted)
    return laplace.density, better_coordinates(laplace.density, own, request.seed), None, laplace.search


METHODS.update(
    auto=Method(_auto, by_component=True),
    laplace=Method(_laplace, several_latents=False, by_component=True),
    nuts=Method(_nuts),
    svi=Method(_svi),
    map=Method(_point("map", prior=True), several_latents=False, by_component=True),
    ml=Method(_point("ml", prior=False), several_latents=False, by_component=True),
)
