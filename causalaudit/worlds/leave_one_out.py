"""How well a world predicts each person from all others: PSIS-LOO on the distinct rows of the data."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from causalaudit.arviz_versions import group_names, group_of, pareto_smoothed
from causalaudit.errors import DataError, InferenceError
from causalaudit.inference import Posterior
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.progress import pieces
from causalaudit.worlds.scored_columns import ScoredColumns
from causalaudit.worlds.scored_likelihood import scored_program

_MOST_DRAWS = 1000  # of the posterior, that are weighed: more change the sum by less than its Monte-Carlo error
_FLAT = 1e-12  # range of a log-likelihood over draws, below which all draws weigh the same


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The log predictive density of each person when she is left out.

    Attributes
    ----------
    elpd
        By person, in the order that was asked for.
    pareto_k
        The greatest shape of the tail of a person's importance weights; above 0.7 her number cannot be trusted.
    """

    elpd: np.ndarray
    pareto_k: float


def leave_one_out(posterior: Posterior, people: "pd.Index", scored: ScoredColumns) -> LeaveOneOut:
    """Return the leave-one-out predictive density of each person, latents summed out.

    The importance weights, one over the likelihood under which the program was fitted, are Pareto-smoothed; what is
    averaged by them is the likelihood of the scored columns. Equal people are counted once: it takes 16 bytes × draws
    (at most 1,000, evenly spaced) × distinct rows of memory.

    Parameters
    ----------
    posterior
        From `fit`, with draws.
    people
        In which order they are asked about.
    scored
        The columns, and those seen through rounding.

    References
    ----------
    Vehtari, Gelman and Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC.
    Statistics and Computing 27.

    Examples
    --------
    >>> import causalaudit as ca
    >>> from causalaudit.worlds.scored_columns import ScoredColumns
    >>> posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(100, seed=0), draws=100, seed=0)
    >>> found = leave_one_out(posterior, posterior.data.index, ScoredColumns.of({"linear": posterior}))
    >>> found.elpd.shape
    (100,)
    """
    refuse_without_draws(posterior)
    posterior.refuse_weights("leave-one-out takes each for one factor of the posterior. Fit without weights.")
    numbers = posterior.draw_numbers(min(len(posterior.draw_numbers()), _MOST_DRAWS))
    values = {name: value[numbers] for name, value in posterior.parameters().items()}
    encoded = posterior.scm.encode(posterior.data)
    fitted = MarginalDensity(posterior.scm, encoded)
    weighed = fitted.likelihood_by_row(values, len(numbers))
    asked = MarginalDensity(scored_program(posterior.scm, scored), encoded).likelihood_by_row(values, len(numbers))
    if not np.isfinite(asked).all():
        raise DataError(
            f"{posterior.scm.name!r} gives a probability of zero to the columns {', '.join(scored.names)} of somebody, "
            "so that it cannot be scored: use a distribution with heavier tails, or weights that need no score."
        )
    elpd, shapes = _smoothed(weighed, asked, _efficiency(posterior, len(numbers)))
    order = fitted.rows.inverse[posterior.data.index.get_indexer(people)]
    return LeaveOneOut(elpd[order], float(shapes.max()))


def refuse_without_draws(posterior: Posterior) -> None:
    """Refuse a posterior whose people have no likelihood over draws."""
    method = posterior.settings["method"]
    if method in ("map", "ml"):
        raise InferenceError(
            f"{posterior.scm.name!r} was fitted by {method!r}, a point without draws: nobody can be left out of it. "
            'Fit by "auto", or name weights that need no score ("equal", or a mapping).'
        )
    if "latents" in group_names(posterior.idata):
        raise InferenceError(
            f"The latents of {posterior.scm.name!r} were drawn together with its parameters, so that people have no "
            'likelihood of their own: name weights that need no score ("equal", or a mapping).'
        )


def _efficiency(posterior: Posterior, draws: int) -> float:
    """Return what each draw is worth: the effective sample size of importance weights or chains, by the draws used."""
    ess = float(group_of(posterior.idata, "sample_stats").attrs.get("ess", draws))
    return min(1.0, max(ess, 1.0) / draws)


def _smoothed(weighed: np.ndarray, asked: np.ndarray, efficiency: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the log predictive density and the tail shape of each distinct row (columns)."""
    rows = weighed.shape[1]
    elpd, shapes = asked.mean(axis=0), np.zeros(rows)
    varying = np.flatnonzero(np.ptp(weighed, axis=0) > _FLAT)
    for part in pieces(len(varying), len(weighed)):
        some = varying[part]
        smoothed, shapes[some] = pareto_smoothed(-weighed[:, some].T, efficiency)
        elpd[some] = logsumexp(smoothed + asked[:, some].T, axis=1)
    return elpd, shapes
