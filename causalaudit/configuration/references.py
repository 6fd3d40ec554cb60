"""Names by which tables of a configuration refer to one another."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from causalaudit.configuration.audits import BiasScan, ErrorRates, ImpactRatios, Recourse, SituationTesting
from causalaudit.configuration.schema import Configuration, Decision, ModelTable
from causalaudit.errors import ConfigurationError, nearest

At = Callable[..., AbstractContextManager[None]]


def check_references(settings: Configuration, at: At) -> None:
    """Refuse names that are there twice or not at all, and audits that lack what they need.

    Parameters
    ----------
    settings
        The configuration.
    at
        Says which line a message is about (`ConfigurationFile.at`).
    """
    _check_names(settings, at)
    _check_decision(settings.decision, at)
    for number, audit in enumerate(settings.audit):
        with at("audit", number, "counterfactuals"):
            _check_intervention(audit, [one.name for one in settings.intervention])
        with at("audit", number):
            _check_needs(audit, settings.decision)
    _check_worlds(settings, at)


def uses_model(audit: Any) -> bool:
    """Tell whether the answer of an audit depends on the causal model.

    Examples
    --------
    >>> uses_model(Recourse(kind="recourse", protected="sex", features=["income"]))
    False
    """
    if isinstance(audit, SituationTesting | BiasScan):
        return audit.counterfactuals is not None
    return isinstance(audit, ErrorRates) or (isinstance(audit, Recourse) and audit.posterior)


def compared_audits(settings: Configuration) -> list[str]:
    """Return the names of the audits that are asked in every world."""
    if settings.comparison.audits is not None:
        return list(settings.comparison.audits)
    return [audit.label for audit in settings.audit if uses_model(audit)]


def _check_names(settings: Configuration, at: At) -> None:
    names = {
        "intervention": [one.name for one in settings.intervention],
        "audit": [one.label for one in settings.audit],
        "world": [one.name for one in settings.world],
    }
    for table, called in names.items():
        for number, name in enumerate(called):
            if name in called[:number]:
                with at(table, number):
                    raise ConfigurationError(f"There are two of the name {name!r}: give each a name of its own.")
    if settings.comparison.base in names["world"]:
        with at("world", names["world"].index(settings.comparison.base)):
            raise ConfigurationError(
                f"{settings.comparison.base!r} is the world of the configuration itself: give this one another name, "
                "or that one by base in [comparison]."
            )


def _check_decision(decision: Decision | None, at: At) -> None:
    if decision is not None and (decision.column is None) == (decision.rule is None):
        with at("decision"):
            raise ConfigurationError(
                'A decision is either column = "name" or rule = "model.py:function": give one of the two.'
            )


def _check_intervention(audit: Any, interventions: Sequence[str]) -> None:
    name = getattr(audit, "counterfactuals", None)
    if name is not None and name not in interventions:
        hint = nearest(name, interventions) if interventions else "add an [[intervention]] of that name."
        raise ConfigurationError(f"There is no [[intervention]] {name!r}: {hint}")


def _check_needs(audit: Any, decision: Decision | None) -> None:
    if isinstance(audit, BiasScan):
        if audit.prediction is None and audit.recommendation is None and audit.criterion == "separation":
            raise ConfigurationError(
                'A bias scan needs a column: add recommendation = "column" (decisions) or prediction = "column" '
                "(probabilities)."
            )
        return
    if decision is None:
        raise ConfigurationError('This audit asks about a decision: add [decision] with rule = "model.py:function".')
    if decision.rule is None and not isinstance(audit, SituationTesting | ImpactRatios):
        raise ConfigurationError(
            "This audit asks what would have been decided of other people, which a column cannot tell: give [decision] "
            'a rule = "model.py:function".'
        )


def _check_worlds(settings: Configuration, at: At) -> None:
    asked = {audit.label: audit for audit in settings.audit}
    for number, name in enumerate(settings.comparison.audits or []):
        with at("comparison", "audits", number):
            if name not in asked:
                raise ConfigurationError(f"There is no [[audit]] {name!r}: {nearest(name, list(asked))}")
            if not uses_model(asked[name]):
                raise ConfigurationError(
                    f"The audit {name!r} does not use the causal model: its answer is the same in every world. "
                    "Leave it out, or give it counterfactuals."
                )
    if settings.world and not compared_audits(settings):
        with at("world"):
            raise ConfigurationError(
                "No [[audit]] uses the causal model, so that worlds have nothing to differ by: give an audit "
                "counterfactuals, or leave the worlds out."
            )
    for number, world in enumerate(settings.world):
        with at("world", number):
            if world.model is None and _says(world):
                raise ConfigurationError(
                    f"{', '.join(_says(world))} belong to a program: add model, or leave them to the configuration."
                )


def _says(model: ModelTable) -> list[str]:
    return [name for name in ("levels", "latents", "columns") if getattr(model, name) is not None]
