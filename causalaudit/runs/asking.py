"""The auditors, asked as a configuration says."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from causalaudit.association import impact_ratios
from causalaudit.bias_scan import scan_bias
from causalaudit.configuration import BiasScan, ErrorRates, ImpactRatios, Intervention, Recourse, SituationTesting
from causalaudit.counterfactuals import CounterfactualDraws, counterfactuals
from causalaudit.error_rates import decompose_error_rates
from causalaudit.errors import ConfigurationError, nearest
from causalaudit.people import find_column, levels_of
from causalaudit.recourse import Actions, audit_recourse
from causalaudit.results import AuditResult
from causalaudit.situation_testing import Gower, situation_testing
from causalaudit.situation_testing.shift import Shift

if TYPE_CHECKING:
    from causalaudit.inference import Posterior

NOT_ARGUMENTS = ("kind", "name", "counterfactuals")


class Question:
    """What audits ask about: people and a decision.

    Parameters
    ----------
    people
        The table.
    decision
        A column, or a function; None if the configuration has none.
    favourable
        The good decision.
    seed
        Of audits that have none of their own.
    """

    def __init__(self, people: pd.DataFrame, decision: Any, favourable: Any, seed: int) -> None:
        self.people, self.decision, self.favourable, self.seed = people, decision, favourable, seed

    def of(self, people: pd.DataFrame) -> "Question":
        """Return the same question about other people."""
        return Question(people, self.decision, self.favourable, self.seed)

    def draws(
        self, posterior: "Posterior", intervention: Intervention, draws: int | None = None
    ) -> CounterfactualDraws:
        """Return the counterfactuals of an intervention; so many draws, if it is not as many as it says."""
        options = intervention.said("name", "do", "rows")
        if draws is not None:
            options["draws"] = draws
        if "edges" in options:
            options["edges"] = [(cause, effect) for cause, effect in options["edges"]]
        rows = None if intervention.rows is None else chosen_rows(self.people, intervention.rows)
        return counterfactuals(posterior, intervention.do, rows=rows, **{"seed": self.seed, **options})

    def audit(
        self,
        audit: Any,
        posterior: "Callable[[], Posterior]",
        draws_of: Callable[[str], CounterfactualDraws],
        **changes: Any,
    ) -> AuditResult:
        """Return the answer of an audit.

        Parameters
        ----------
        audit
            The table of the configuration.
        posterior, draws_of
            Return the posterior, and the counterfactuals of the intervention of a name, for audits that need them.
        changes
            Arguments in place of those of the configuration.
        """
        said = {**audit.said(*NOT_ARGUMENTS), **changes}
        if isinstance(audit, ImpactRatios):  # nothing about it is random, or long
            return impact_ratios(self.people, self.decision, favourable=self.favourable, **audit.said(*NOT_ARGUMENTS))
        said = {"seed": self.seed, **said}
        if isinstance(said["protected"], dict):
            said["protected"] = _protected(said["protected"])
        if getattr(audit, "counterfactuals", None) is not None:
            said["counterfactuals"] = draws_of(audit.counterfactuals)
        return _ASK[type(audit)](self, said, posterior)

    def situation_testing(self, said: dict[str, Any], _: Any) -> AuditResult:
        """Ask who was discriminated."""
        if "distance" in said:
            said["distance"] = Gower(**said["distance"])
        return situation_testing(self.people, self.decision, favourable=self.favourable, **said)

    def error_rates(self, said: dict[str, Any], posterior: "Callable[[], Posterior]") -> AuditResult:
        """Ask why error rates are unequal."""
        return decompose_error_rates(posterior(), self.decision, **said)

    def recourse(self, said: dict[str, Any], posterior: "Callable[[], Posterior]") -> AuditResult:
        """Ask who can turn a rejection."""
        said["actions"] = Actions(**said.get("actions", {}))
        said["posterior"] = posterior() if said.get("posterior") else None
        return audit_recourse(self.people, self.decision, favourable=self.favourable, **said)

    def bias_scan(self, said: dict[str, Any], _: Any) -> AuditResult:
        """Ask which subgroup is treated most differently."""
        return scan_bias(self.people, **said)


_ASK: Mapping[type, Callable[..., AuditResult]] = {
    SituationTesting: Question.situation_testing,
    ErrorRates: Question.error_rates,
    Recourse: Question.recourse,
    BiasScan: Question.bias_scan,
}


def chosen_rows(people: pd.DataFrame, rows: Mapping[str, Any]) -> "pd.Series[bool]":
    """Return who has one of the levels in every one of the columns.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": ["f", "m"], "region": ["north", "south"]})
    >>> chosen_rows(people, {"sex": "f", "region": ["north", "east"]}).tolist()
    Traceback (most recent call last):
    causalaudit.errors.ConfigurationError: Nobody has 'region' = 'east': there are 'north', 'south'.
    >>> chosen_rows(people, {"sex": "f"}).tolist()
    [True, False]
    """
    mask = pd.Series(True, people.index)
    for name, levels in rows.items():
        column = find_column(people, name, "column of rows")
        there = levels_of(column)
        for level in levels if isinstance(levels, list) else [levels]:
            if level not in there:
                shown = nearest(str(level), there[:20])
                raise ConfigurationError(f"Nobody has {name!r} = {level!r}: {shown}")
        mask &= column.isin(levels if isinstance(levels, list) else [levels])
    if not mask.any():
        raise ConfigurationError(f"Nobody has all of rows = {dict(rows)}.")
    return mask


def _protected(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return who is protected as auditors want it: pairs as tuples, shifts as such."""

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(value)
        return Shift(**value) if isinstance(value, dict) else value

    return {name: one(value) for name, value in said.items()}
