"""How much parameters, and what an audit says, depend on the prior."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from causalaudit.arguments import check_seed, check_types
from causalaudit.arviz_versions import group_names, group_of
from causalaudit.counterfactuals.ask import check_posterior
from causalaudit.errors import DataError, InferenceError
from causalaudit.inference import Posterior
from causalaudit.inference.posterior.diagnostics import TRUSTED_K
from causalaudit.markup import paragraph, piece, table
from causalaudit.randomness import generator
from causalaudit.results import AuditResult, SavedResult
from causalaudit.storage import storable
from causalaudit.worlds.power_scaling import scaled_weights, sensitivity

SENSITIVE = 0.05  # above which a quantity depends on a part of the density (Kallioinen et al. 2024)
_FEWEST = 1000  # draws: with 300, a number that has nothing to do with the prior scores .059
_PERMUTATIONS, _POINT = 100, 0.95


@storable
@dataclass(frozen=True, repr=False, eq=False)
class PriorSensitivity(SavedResult):
    """What depends on the prior. Results compare by identity.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each parameter (or entry of one) and one for the audit's number: `quantity`, `prior` and `likelihood`
        (how far its law moves when the prior, or the likelihood, is raised to a power a little off one), `by_chance`
        (the 95 % point of the first, were the quantity unrelated to the prior), `flagged` and, in words, `diagnosis`.
    settings : dict
        `answer` (the name of the audit's number), the greatest `pareto_k` of the weights, `draws`, `seed`.
    """

    table: pd.DataFrame
    settings: dict[str, Any]
    KIND: ClassVar[str] = "prior sensitivity"

    @property
    def verdict(self) -> str:
        """Whether what the audit says depends on the prior, in words."""
        row = self.table.iloc[-1]
        others = self.table["quantity"][:-1][self.table["flagged"][:-1]].tolist()
        which = f"; so do the parameters {', '.join(others)}" if others and row["flagged"] else ""
        which = f"; the parameters {', '.join(others)} do" if others and not row["flagged"] else which
        does = "depends" if row["flagged"] else "does not depend"
        return (
            f"The answer ({row['quantity']}) {does} on the prior: sensitivity {row['prior']:.3f}, by chance up to "
            f"{row['by_chance']:.3f}{which}."
        )

    def __repr__(self) -> str:
        return f"PriorSensitivity: {self.verdict}\n{self.table.round(3).to_string(index=False)}"

    def _repr_html_(self) -> str:
        return piece(paragraph(self.verdict), table(self.table, index=False))


def prior_sensitivity(
    posterior: Posterior, audit: Callable[[Posterior], AuditResult], *, seed: int = 0
) -> PriorSensitivity:
    """Say how much the parameters, and the answer of an audit, depend on the prior, without fitting again.

    The prior (all of it) and the likelihood are raised to powers a little off one, by weighing the draws. A quantity is
    flagged if the prior moves it by more than .05, and by more than it moves 95 % of 100 permutations of its draws,
    which have nothing to do with the prior.

    Parameters
    ----------
    posterior
        From `fit`, with at least 1,000 draws.
    audit
        A function of a posterior that returns the result of any auditor; its `headline` must have at least 1,000 draws.
    seed
        Of the permutations.

    Returns
    -------
    PriorSensitivity

    Raises
    ------
    InferenceError
        If there are too few draws, or Pareto k of the weights is above 0.7.

    References
    ----------
    Kallioinen, Paananen, Bürkner and Vehtari (2024), Detecting and diagnosing prior and likelihood sensitivity with
    power-scaling. Statistics and Computing 34.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.datasets.make_loan(300, seed=0)
    >>> posterior = ca.fit(ca.models.loan.linear(), people, draws=250, seed=0)
    >>> def audit(posterior):
    ...     women = people.gender == "female"
    ...     worlds = ca.counterfactuals(posterior, do={"gender": "male"}, rows=women)
    ...     bank = lambda people: people.salary + 5 * people.balance > 225_000
    ...     return ca.situation_testing(
    ...         people, bank, {"gender": "female"}, features=["salary", "balance"], counterfactuals=worlds
    ...     )
    >>> found = ca.prior_sensitivity(posterior, audit)
    >>> bool(found.table.flagged.any())
    False
    """
    check_types(prior_sensitivity, locals())
    check_posterior(posterior)
    posterior.refuse_weights("its draws are moved, and have no likelihood to scale. Fit without weights.")
    seed, total = check_seed(seed), len(posterior.draw_numbers())
    _refuse_few("The posterior", total)
    if "log_prior" not in group_names(posterior.idata):
        raise InferenceError(f"{posterior.scm.name!r} has no parameters: there is no prior to depend on.")
    log_prior = _by_draw([value.to_numpy() for value in group_of(posterior.idata, "log_prior").data_vars.values()]).sum(
        axis=1
    )
    log_likelihood = group_of(posterior.idata, "sample_stats")["log_likelihood"].to_numpy().ravel()
    parts, shapes = zip(*(scaled_weights(part) for part in (log_prior, log_likelihood)), strict=True)
    if not max(shapes) <= TRUSTED_K:
        raise InferenceError(
            f"Pareto k of the power-scaled weights is {max(shapes):.2f}, and above {TRUSTED_K} they say nothing: a few "
            "draws carry all of the weight. Ask for more draws, or fit with other priors and compare_worlds."
        )
    name, answer = _answer(audit(posterior.copy()))
    _refuse_few("The audit's headline", len(answer))
    prior, likelihood = parts
    rows = [_row(quantity, draws, prior, likelihood, seed) for quantity, draws in _parameters(posterior).items()]
    numbers = posterior.draw_numbers(len(answer))
    rows.append(_row(name, answer, _of_draws(prior, numbers), _of_draws(likelihood, numbers), seed))
    columns = ["quantity", "prior", "likelihood", "by_chance", "flagged", "diagnosis"]
    settings = {"answer": name, "pareto_k": float(max(shapes)), "draws": total, "seed": seed}
    return PriorSensitivity(pd.DataFrame(rows, columns=columns), settings)


def _refuse_few(what: str, draws: int) -> None:
    if draws < _FEWEST:
        raise InferenceError(
            f"{what} has {draws} draws, but {_FEWEST} are needed: with fewer, numbers that have nothing to do with the "
            "prior are flagged."
        )


def _answer(result: Any) -> tuple[str, np.ndarray]:
    if not isinstance(result, AuditResult):
        raise DataError(f"audit must return the result of an auditor, but returned {type(result).__name__}.")
    draws = result.headline.to_numpy(dtype=float)
    if not np.isfinite(draws).all():
        raise DataError(f"The audit's number ({result.headline.name}) is not known at every draw.")
    return str(result.headline.name), draws


def _by_draw(arrays: list[np.ndarray]) -> np.ndarray:
    """Return draws × numbers of arrays whose first two axes are chains and draws."""
    return np.concatenate([one.reshape(one.shape[0] * one.shape[1], -1) for one in arrays], axis=1)


def _parameters(posterior: Posterior) -> dict[str, np.ndarray]:
    """Return the draws of each number that a parameter has."""
    found = {}
    for name, value in posterior.parameters().items():
        for entry in np.ndindex(value.shape[1:]):
            found[f"{name}{list(entry)}" if entry else name] = value[(slice(None), *entry)]
    return found


def _of_draws(weights: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    chosen = weights[:, numbers]
    return np.asarray(chosen / chosen.sum(axis=1, keepdims=True))


def _row(name: str, draws: np.ndarray, prior: np.ndarray, likelihood: np.ndarray, seed: int) -> tuple[Any, ...]:
    rng = generator(seed, "prior sensitivity")
    shuffled = np.stack([prior[:, rng.permutation(len(draws))] for _ in range(_PERMUTATIONS)])
    by_chance = float(np.quantile(sensitivity(draws, shuffled), _POINT))
    to_prior, to_likelihood = (float(sensitivity(draws, part[None])[0]) for part in (prior, likelihood))
    flagged = to_prior > SENSITIVE and to_prior > by_chance
    weak = flagged and to_likelihood <= SENSITIVE
    words = "the data say little" if weak else "prior and data disagree, or both count" if flagged else "-"
    return name, to_prior, to_likelihood, by_chance, flagged, words
