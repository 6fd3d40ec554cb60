"""What an audit says while two variables have a hidden common cause of growing strength."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from causalaudit.arguments import check_share, check_types
from causalaudit.counterfactuals.ask import check_posterior
from causalaudit.errors import DataError
from causalaudit.inference import Posterior, fit_near
from causalaudit.progress import parallel
from causalaudit.worlds.sweep_result import SweepResult
from causalaudit.worlds.sweeps import Answer, Answered, ask, check_range, sweep_result

_NONE = 0.0  # the correlation where there is no hidden common cause


def confounding_sensitivity(
    posterior: Posterior,
    between: tuple[str, str],
    rho: Any,
    audit: Callable[[Posterior], Answer],
    threshold: float | None = None,
    *,
    prob: float = 0.9,
    progress: bool = True,
) -> SweepResult:
    """Audit under hidden confounding of two variables, from none to as much as is asked for.

    The noises of the two have a Gaussian copula with the correlation rho (`SCM.confounded`), and the program is fitted
    again at each rho, outwards from 0, each fit starting at its neighbour. At rho = 0 the posterior is the one that was
    given.

    Parameters
    ----------
    posterior
        From `fit`, of the program without confounding of the pair.
    between
        The two variables.
    rho
        Numbers between -1 and 1; 0 is added, the reference.
    audit
        A function of a posterior that returns the result of any auditor, or a number.
    threshold
        Of the audit's number: the answer tips where it is no longer strictly on the side where it is at rho = 0.
        Required of counts; 0 by default. Units tip where they are no longer cases, or become some.
    prob
        The probability of the credible intervals, which take rho as known.
    progress
        Show a bar when it is long. Both directions are fitted in parallel, by `joblib`.

    Returns
    -------
    SweepResult

    Raises
    ------
    DataError
        If rho is out of range, or the answer is a count and there is no threshold.

    Notes
    -----
    The log-likelihood beside the answer is flat where an edge between the pair is saturated (a free effect for each
    level of a cause takes over whatever confounding takes away). Elsewhere it prefers some rho, for reasons of the
    form of the program as much as of confounding: in simulations it has preferred 0 to a true 0.5. It chooses nothing.

    Under a fixed causal order some answers cannot depend on the confounding of a pair: the law of what was observed,
    where the edge is saturated, and with it the total difference of rates between groups; and counterfactuals of
    variables that descend from neither of the pair, or whose parents an intervention does not reach. Direct, indirect
    and spurious parts of a difference do depend on it, and so does every counterfactual of the effect in the pair.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.datasets.make_loan(300, seed=0)
    >>> posterior = ca.fit(ca.models.loan.linear(), people, draws=50, seed=0)
    >>> def saving(posterior):
    ...     return float(posterior.parameters()["saving"].mean())
    >>> swept = ca.confounding_sensitivity(posterior, ("salary", "balance"), [0.3], saving)
    >>> bool(swept.table.value[1] < swept.table.value[0])  # more is confounding, less is effect
    True
    """
    check_types(confounding_sensitivity, locals())
    check_posterior(posterior)
    check_share("prob", prob)
    pair = _check_pair(posterior, between)
    values = check_range("rho", rho, _NONE, open_ends=True)
    sides = [values[values < 0][::-1].tolist(), values[values > 0].tolist()]
    below, above = parallel(_Outwards(posterior, pair, audit), sides, "Confounding", progress)
    answers = [*below[::-1], ask(audit, posterior, "rho = 0"), *above]
    about = f"hidden confounding of {pair[0]} and {pair[1]}"
    settings = {"parameter": "rho", "reference": _NONE, "between": list(pair), "prob": float(prob), "about": about}
    return sweep_result(values, answers, threshold, settings)


def _check_pair(posterior: Posterior, between: Any) -> tuple[str, str]:
    if isinstance(between, str) or len(between) != 2:
        raise DataError(f"between is {between!r}, but must be the names of two variables.")
    one, other = between
    if any(known.rho and known.names == {one, other} for known in posterior.scm.confounding):
        raise DataError(
            f"{one!r} and {other!r} are confounded in {posterior.scm.name!r} already: give the posterior of the program"
            " without that, from which rho starts at 0."
        )
    posterior.scm.confounded(one, other, 0.5)  # refuses what cannot be confounded, before anything is fitted
    return str(one), str(other)


@dataclass(frozen=True)
class _Outwards:
    """Fits and audits one direction, each rho from its neighbour: what a worker needs."""

    posterior: Posterior
    pair: tuple[str, str]
    audit: Callable[[Posterior], Answer]

    def __call__(self, side: Sequence[float]) -> list[Answered]:
        answers, near = [], self.posterior
        for rho in side:
            near = fit_near(near, self.posterior.scm.confounded(*self.pair, rho=rho), progress=False)
            answers.append(ask(self.audit, near, f"rho = {rho:g}"))
        return answers
