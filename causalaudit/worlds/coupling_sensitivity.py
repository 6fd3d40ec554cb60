"""What an audit says while the coupling of chosen sites goes from the same noise to the reversed one."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from causalaudit.arguments import check_share, check_types
from causalaudit.counterfactuals.ask import check_posterior
from causalaudit.errors import DataError
from causalaudit.inference import Posterior
from causalaudit.progress import parallel
from causalaudit.worlds.sweep_result import SweepResult
from causalaudit.worlds.sweeps import Answer, Answered, ask, check_range, sweep_result

_TODAY = 1.0  # the same noise in both worlds


def coupling_sensitivity(
    posterior: Posterior,
    audit: Callable[[Posterior], Answer],
    sites: str | Collection[str],
    r: Any,
    threshold: float | None = None,
    *,
    prob: float = 0.9,
    progress: bool = True,
) -> SweepResult:
    """Audit under couplings from the same noise in both worlds (r = 1) over independent (0) to reversed (-1).

    The coupling of a site is the correlation, on the normal scale, of a person's noise in the factual and in the
    counterfactual world. No data tell couplings apart, and nothing is fitted again: `loglik` is the same in every row.

    Parameters
    ----------
    posterior
        From `fit`.
    audit
        A function of a posterior that returns the result of any auditor, or a number. Values of r are audited in
        parallel, by `joblib`.
    sites
        The variables whose coupling is swept: one, or several together.
    r
        Numbers from -1 to 1; 1 is added, the reference.
    threshold
        Of the audit's number: the answer tips where it is no longer strictly on the side where it is at r = 1. Required
        of counts; 0 by default. Units tip where they are no longer cases, or become some.
    prob
        The probability of the credible intervals, which take r as known.
    progress
        Show a bar when it is long.

    Returns
    -------
    SweepResult

    Raises
    ------
    DataError
        If r is out of range, or the answer is a count and there is no threshold.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.datasets.make_loan(200, seed=0)
    >>> posterior = ca.fit(ca.models.loan.linear(), people, draws=20, seed=0)
    >>> def gap(posterior):
    ...     worlds = ca.counterfactuals(posterior, do={"gender": "male"}, rows=people.gender == "female")
    ...     return float((worlds.dataset["salary"].mean("draw") - people.salary[people.gender == "female"]).mean())
    >>> swept = ca.coupling_sensitivity(posterior, gap, "salary", [0.5, 0.0], threshold=1000)
    >>> swept.table["r"].tolist()
    [0.0, 0.5, 1.0]
    """
    check_types(coupling_sensitivity, locals())
    check_posterior(posterior)
    check_share("prob", prob)
    values, names = check_range("r", r, _TODAY, open_ends=False), _check_sites(posterior, sites)
    task = _Coupled(posterior, audit, tuple(names))
    answers = list(parallel(task, values.tolist(), "Couplings", progress))
    about = f"the coupling of {', '.join(names)}"
    settings = {"parameter": "r", "reference": _TODAY, "sites": names, "prob": float(prob), "about": about}
    return sweep_result(values, answers, threshold, settings)


def _check_sites(posterior: Posterior, sites: Any) -> list[str]:
    names = [sites] if isinstance(sites, str) else list(sites)
    if not names:
        raise DataError("sites is empty: name the variables whose coupling is swept.")
    posterior.scm.couplings(dict.fromkeys(names, 0.0))  # refuses what has no noise, or none that can be correlated
    return names


@dataclass(frozen=True)
class _Coupled:
    """Audits under a coupling: what a worker needs."""

    posterior: Posterior
    audit: Callable[[Posterior], Answer]
    sites: tuple[str, ...]

    def __call__(self, r: float) -> Answered:
        return ask(self.audit, self.posterior.with_coupling(dict.fromkeys(self.sites, r)), f"r = {r:g}")
