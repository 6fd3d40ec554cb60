"""What the user states: the fields that regulators and reviewers ask for, each "not stated" where nothing was given."""

from collections.abc import Mapping
from typing import Any

from causalaudit.errors import DataError, nearest
from causalaudit.markup import plain_text
from causalaudit.report.blocks import Fields

QUESTION = "question"
"""The key of a context that holds no fields: what was asked, in the user's words."""

FIELDS: dict[str, dict[str, str]] = {
    "identity": {
        "system": "System",
        "version": "Version",
        "deployer": "Deployer",
        "auditor": "Auditor",
        "independence": "Independence of the auditor",
        "date": "Date of the audit",
        "purpose": "Purpose of the system",
    },
    "people": {
        "groups": "Groups",
        "protected": "Protected attributes and their levels",
        "intersections": "Intersections examined",
        "proxies": "Known proxies of protected attributes",
    },
    "data": {
        "origin": "Origin",
        "window": "Time window",
        "n": "Number of people",
        "preparation": "Preparation",
        "missing": "Missing values",
        "excluded": "People excluded, and why",
        "weights": "Weights",
    },
    "association": {"justification": "Why small categories are excluded", "unknown": "People of unknown category"},
    "model": {
        "assumptions": "Assumptions that no data can test",
        "identified": "What is identified",
    },
    "bayesian": {"priors": "Why these priors", "sensitivity": "Sensitivity to the prior"},
    "robustness": {
        "worlds": "Other causal models",
        "coupling": "Couplings of the worlds",
        "confounding": "Hidden confounding",
        "bounds": "Bounds over all couplings",
        "multiplicity": "How many units were searched, and how that is corrected",
    },
    "limits": {"use": "What the answer must not be used for", "scope": "Whom it is about", "known": "Known limits"},
    "governance": {
        "contest": "Who may contest the decision or this audit, and how",
        "contact": "Contact",
        "oversight": "Human oversight",
        "next": "When it is audited again",
    },
    "software": {"data_sha256": "SHA-256 of the data file", "command": "How it was run"},
}


def checked_context(context: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a context whose tables are known, or refuse it.

    Examples
    --------
    >>> checked_context({"identity": {"system": "Hire 3"}})
    {'identity': {'system': 'Hire 3'}}
    """
    known = [QUESTION, *FIELDS]
    if context is not None and not isinstance(context, Mapping):
        raise DataError(f"context is {type(context).__name__}, but must map {', '.join(known)} to what is stated.")
    for name, value in (context or {}).items():
        if name not in known:
            raise DataError(f"context names {name!r}, which is no part of a report: {nearest(str(name), known)}")
        if name != QUESTION and not isinstance(value, Mapping):
            names = ", ".join(FIELDS[name])
            raise DataError(f"context[{name!r}] is {type(value).__name__}, but must map its fields ({names}) to text.")
    return dict(context or {})


def fields_of(name: str, context: Mapping[str, Any], known: Mapping[str, Any] | None = None) -> Fields:
    """Return the fields of a part: those that are asked for, then whatever else was stated.

    Parameters
    ----------
    name
        The part.
    context
        What was stated.
    known
        What the results know of fields that were not stated.
    """
    stated = {**(known or {}), **context.get(name, {})}
    asked = FIELDS[name]
    others = {key: str(key).replace("_", " ").capitalize() for key in stated if key not in asked}
    return Fields(tuple((label, _text(stated.get(key))) for key, label in {**asked, **others}.items()))


def questions(context: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what was asked, as a list of sentences; empty if it was not stated."""
    asked = context.get(QUESTION)
    if asked is None:
        return ()
    return tuple(map(str, asked)) if isinstance(asked, list | tuple) else (str(asked),)


def _text(value: Any) -> str | None:
    if value is None or value == "" or value == [] or value == {}:
        return None
    return plain_text(value)
