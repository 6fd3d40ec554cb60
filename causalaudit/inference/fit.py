"""The front door of inference."""

import warnings
from functools import partial

import numpy as np
import pandas as pd

from causalaudit.arguments import check_count, check_kind, check_types
from causalaudit.errors import CausalAuditWarning, DataError, InferenceError
from causalaudit.inference.components.draws import DensityOf, draws_by_component
from causalaudit.inference.components.partition import components_of
from causalaudit.inference.density.chunked_density import marginal_density
from causalaudit.inference.density.joint_density import JointDensity
from causalaudit.inference.density.latent_states import continuous_latents
from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.density.mirror_images import warn_of_mirror_images
from causalaudit.inference.density.pair_quadrature import IntegralError, are_integrable
from causalaudit.inference.density.patterns import check_missing
from causalaudit.inference.posterior.arrangement import inference_data
from causalaudit.inference.posterior.posterior import Posterior
from causalaudit.inference.samplers import methods  # noqa: F401, the methods enter the registry
from causalaudit.inference.samplers.registry import METHODS, Method, MethodDraws, Request, find_method
from causalaudit.inference.sandwich.respread import respread
from causalaudit.people import check_table
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Tensors
from causalaudit.scm.missing import missing_in
from causalaudit.weights import read_weights


def fit(
    scm: SCM,
    data: pd.DataFrame,
    method: str = "auto",
    *,
    draws: int = 1000,
    chains: int = 4,
    weights: str | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Posterior:
    """Infer the parameters of an SCM from a table of people: the first part of abduction.

    Parameters
    ----------
    scm
        The program.
    data
        A table with a unique index and a column for every variable that is not latent; a `pyro.deterministic` without
        a column is computed. Other columns are carried along. Values may be missing (see Notes).
    method
        =============  ===========================================================  ======================
        method         what                                                         when `auto` picks it
        =============  ===========================================================  ======================
        ``"laplace"``  importance resampling around the mode and along its ridge,   k < 0.7, 10 % count,
                       checked by Pareto k, the share of the proposals that count   half of the mass is
                       and that of the mass that is around the mode                 around the mode
        ``"nuts"``     Pyro's no-U-turn sampler, started and whitened by the above  otherwise
        ``"svi"``      a variational guide (normal), checked by Pareto k            never
        ``"map"``      the mode of the posterior density in the parameters' units   never
        ``"ml"``       maximum likelihood, which ignores the priors: the papers'    never
                       least-squares abduction
        =============  ===========================================================  ======================

        `causalaudit.inference.register_method` adds samplers from elsewhere.
    draws, chains
        There are ``chains × draws`` draws in all, for every method; for points they are equal. Only ``"nuts"``
        has chains that are run one by one, by `joblib` (see `joblib.parallel_config`).
    weights
        A column of survey weights (see Notes): people whom the sample has too few of count for more.
    seed
        Everything random flows from it.
    progress
        Show a bar when it is long.

    Returns
    -------
    Posterior

    Raises
    ------
    DataError, InferenceError
        If the table does not fit the program; if the density is unbounded, flat or zero.

    Notes
    -----
    Latents with finitely many values are summed out exactly, and one continuous latent for each person, or two that
    together enter at most eight variables, are integrated out. More, and two whose integral does not converge, are
    drawn jointly with the parameters (``"nuts"``, ``"svi"``), with a warning about the cost; their draws are in
    ``posterior.idata["latents"]``.

    A missing value is a latent of that person. If nothing that follows from it is observed, it drops out; a finite one
    is summed out, and one continuous one for each person is integrated out; several are an error. This assumes that
    values are missing at random: whether one is missing may depend on what is observed of the person, not on the
    value itself. The cost grows with the number of patterns of missing columns. A program without free
    parameters is legal: then the data are recorded, and every draw is the program itself.

    **Threads.** A process runs one program at a time: of threads that fit, or ask for counterfactuals, at once, the
    others wait. Meanwhile torch's default type is float64, also for code of your own in another thread. Where
    `joblib.parallel_config` asks for threads, tasks are done by as many processes.

    **Weights.** Somebody with the weight w counts w times in the log-likelihood, a pseudo-likelihood; weights are
    scaled so that they add up to the number of people who have one that is not zero. It has its maximum where that of
    the population is, whatever people were sampled by, if weights are the inverse of the probability of being sampled.
    Its curvature takes weights for people: draws are therefore moved so that their covariance is the sandwich
    H⁻¹ J H⁻¹, J being the variance of the sum of the weighted scores of people who were sampled independently (no
    strata, no clusters) plus the curvature of the prior. It is so for every method that draws, also between parameters
    of different sites; points (``"map"``, ``"ml"``) have no spread. There is no evidence, and ``sample_stats`` are of
    the draws before they were moved, ``log_pseudo_likelihood`` among them. Several continuous latents, and missing
    values, are refused.

    References
    ----------
    Savitsky and Toth (2016), Bayesian estimation under informative sampling. Electronic Journal of Statistics 10.
    Williams and Savitsky (2021), Uncertainty estimation for pseudo-Bayesian inference under complex sampling.
    International Statistical Review 89.

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(500, seed=1)
    >>> posterior = ca.fit(ca.models.loan.linear(), applicants, seed=0)
    >>> posterior.diagnostics().ok
    True
    """
    check_types(fit, locals())
    check_count("draws", draws)
    check_count("chains", chains)
    return _fit(scm, data, method, Request(int(draws), int(chains), seed, progress), weights)


def fit_near(posterior: Posterior, scm: SCM, *, progress: bool = True) -> Posterior:
    """Fit another program with the same parameters to the people of a posterior, in the same way, starting from it.

    The search for the maximum begins at the posterior's mean: for programs that differ a little, such as those of a
    sweep over the strength of confounding (`SCM.confounded`), it is short, and finds the maximum next to the other. An
    unconfounded program gives the same draws wherever its maximum is found from, to the rounding of that maximum.

    Parameters
    ----------
    posterior
        The fit to start from; its data, method ("auto" where that is "laplace"), draws, chains, weights and seed are
        taken.
    scm
        The program to fit.
    progress
        Show a bar when it is long.

    Raises
    ------
    InferenceError
        If the program has other parameters.

    Examples
    --------
    >>> import causalaudit as ca
    >>> from causalaudit.inference import fit_near
    >>> scm = ca.models.loan.linear()
    >>> posterior = ca.fit(scm, ca.datasets.make_loan(200, seed=0), seed=0)
    >>> near = fit_near(posterior, scm.confounded("salary", "balance", rho=0.1))
    >>> bool(near.summary()["mean"]["saving"] < posterior.summary()["mean"]["saving"])
    True
    """
    check_types(fit_near, locals())
    check_kind("posterior", posterior, Posterior, "what fit returned")
    if set(scm.parameters) != set(posterior.scm.parameters):
        raise InferenceError(
            f"The parameters of {scm.name!r} are {', '.join(scm.parameters)}, but the posterior to start from has "
            f"{', '.join(posterior.scm.parameters)}: use fit."
        )
    settings = posterior.settings
    method = settings["method"]
    if method not in METHODS or method == "laplace":  # which may be good enough for the one, and not for the other
        method = "auto"
    start = {name: np.asarray(value.mean(axis=0)) for name, value in posterior.parameters().items()}
    request = Request(settings["draws"], settings["chains"], settings["seed"], progress, start or None)
    return _fit(scm, posterior.data, method, request, settings.get("weights"))


def _fit(scm: SCM, data: pd.DataFrame, method: str, request: Request, weights: str | None) -> Posterior:
    chosen = find_method(method)
    check_table(data)
    scm = scm.with_columns_of(data)
    values = scm.encode_observed(data)
    _check_missing(scm, values, data, chosen.several_latents)
    counted = None if weights is None else read_weights(data, weights)
    if counted is not None:
        _refuse_what_has_no_weights(scm, values)
        values = {name: value[counted > 0] for name, value in values.items()}
        counted = counted[counted > 0]
    density_of = _kind_of_density(scm, len(data), chosen.several_latents)
    warn_of_mirror_images(scm)
    try:
        found = _draws(scm, values, density_of, chosen, request, counted)
    except IntegralError:
        if not chosen.several_latents or counted is not None or missing_in(values):
            raise
        _warn_of_joint_draws(scm, len(data), "cannot be integrated out numerically")
        found = _draws(scm, values, _joint_where_latent, chosen, request, None)
    if not np.isfinite(found.parts.likelihood).all():
        first = {name: found.parts.values[name] for name in scm.parameters}
        density_of(scm, scm.encode_observed(data)).refuse_impossible(first, data.index)
    chains, draws = request.chains, request.draws
    settings = {"method": found.method, "draws": draws, "chains": chains, "seed": int(request.seed)}
    if weights is not None:
        settings["weights"] = weights
    idata = inference_data(
        scm, data, (chains, draws), found.parts, found.statistics, found.by_draw, found.by_step,
        likelihood="log_likelihood" if weights is None else "log_pseudo_likelihood",
    )  # fmt: skip
    posterior = Posterior(scm, data.copy(), idata, settings)
    diagnostics = posterior.diagnostics()
    if not diagnostics.ok:
        warnings.warn(diagnostics.verdict, CausalAuditWarning, stacklevel=3)
    return posterior


def _check_missing(scm: SCM, values: Tensors, data: pd.DataFrame, several_latents: bool) -> None:
    """Refuse missing values that cannot be made up for."""
    missing = missing_in(values)
    for name, mask in missing.items():
        if bool(mask.all()):
            raise DataError(f"{name!r} is missing for everybody: if nobody observes it, add it to `latents`.")
    if missing and several_latents and not are_integrable(scm):
        raise DataError(
            f"{', '.join(map(repr, missing))} {'is' if len(missing) == 1 else 'are'} missing for some people, but the "
            f"latents {', '.join(map(repr, continuous_latents(scm)))} are drawn jointly with parameters, for people "
            "with all columns known. Drop or impute these people first, or use one continuous latent."
        )
    check_missing(scm, values, data.index)


def _draws(
    scm: SCM, values: Tensors, density_of: DensityOf, method: Method, request: Request, weights: np.ndarray | None
) -> MethodDraws:
    """Draw the parameters: component by component, if there are several and the method does not want them together."""
    if weights is not None:
        density_of = partial(marginal_density, weights=weights)
    components = components_of(scm, values) if method.by_component else []
    if sum(bool(component.parameters) for component in components) > 1:
        return draws_by_component(scm, values, components, density_of, method, request, weights)
    density = density_of(scm, values)
    if request.start is not None:
        density = density.with_start(request.start)
    if density.size:
        found = method.run(density, request)
        return found if weights is None else respread([density], [found], weights, request.seed)[0]
    nothing = np.zeros((1, 0))  # to infer
    return MethodDraws("exact", nothing, density.over(nothing, request.progress))


def _refuse_what_has_no_weights(scm: SCM, values: Tensors) -> None:
    missing, latents = missing_in(values), continuous_latents(scm)
    if missing:
        raise DataError(
            f"{', '.join(map(repr, missing))} {'is' if len(missing) == 1 else 'are'} missing for some people, and fits "
            "with weights need all columns of the program: drop or impute these people first, or leave out weights."
        )
    if not are_integrable(scm):
        raise InferenceError(
            f"The latents {', '.join(map(repr, latents))} are continuous and would be drawn together with the "
            "parameters: people have no likelihood of their own that weights could multiply. Leave out weights, or "
            "use one continuous latent, or finite ones."
        )


def _kind_of_density(scm: SCM, people: int, several_latents: bool) -> DensityOf:
    """Integrate out the continuous latents of each person, or if there are too many, and the method can, draw them."""
    if are_integrable(scm) or not several_latents:
        return marginal_density
    _warn_of_joint_draws(scm, people, "only one for each person can be integrated out, or two that enter few variables")
    return _joint_where_latent


def _warn_of_joint_draws(scm: SCM, people: int, why: str) -> None:
    latents = continuous_latents(scm)
    warnings.warn(
        f"The latents {', '.join(map(repr, latents))} are continuous, and {why}: all {len(latents) * people} of the "
        f"{people} people are drawn jointly with the parameters, which is slow and scales badly. Fewer latents, finite "
        "ones, or fewer people make it fast.",
        CausalAuditWarning,
        stacklevel=5,
    )


def _joint_where_latent(scm: SCM, values: Tensors) -> ProgramDensity:
    return JointDensity(scm, values) if continuous_latents(scm) else marginal_density(scm, values)
