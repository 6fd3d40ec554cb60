"""The document of a report: its parts in the order in which regulators and reviewers ask for them."""

from collections.abc import Mapping
from typing import Any

from causalaudit.markup import plain_text
from causalaudit.report.answer import answer_of
from causalaudit.report.blocks import Document, Section
from causalaudit.report.drafting import Material
from causalaudit.report.found import association_section, audits_section
from causalaudit.report.modelled import bayesian_section, model_section
from causalaudit.report.robust import robustness_section
from causalaudit.report.software import software_section
from causalaudit.report.stated import fields_of


def document_of(material: Material, title: str | None) -> Document:
    """Return the whole report."""
    system = material.context.get("identity", {}).get("system")
    name = title or (f"Audit of {system}" if system else "Audit of automated decisions")
    return Document(
        name,
        answer_of(material),
        (
            _stated("Identity", "identity", material),
            _stated("People", "people", material, _people(material)),
            _stated("Data", "data", material, _data(material)),
            association_section(material),
            model_section(material),
            bayesian_section(material),
            audits_section(material),
            robustness_section(material),
            _stated("Limits", "limits", material),
            _stated("Governance", "governance", material),
            software_section(material),
        ),
    )


def _stated(title: str, name: str, material: Material, known: dict[str, Any] | None = None) -> Section:
    return Section(title, (fields_of(name, material.context, known),))


def _people(material: Material) -> dict[str, Any]:
    """Return whom the audits compare."""
    asked = [one.settings.get("protected") for one in material.results.values()]
    words = dict.fromkeys(_compared(one) for one in asked if one is not None)
    return {"protected": "; ".join(words)} if words else {}


def _compared(protected: Any) -> str:
    """Return what `settings` say of the protected column in words: a pair is a level and whom it is compared with."""
    if not isinstance(protected, Mapping):
        return plain_text(protected)
    levels = {name: one if isinstance(one, list | tuple) else [one] for name, one in protected.items()}
    return "; ".join(f"{name}: {' against '.join(map(str, one))}" for name, one in levels.items())


def _data(material: Material) -> dict[str, Any]:
    """Return what the tables of the posteriors say of themselves."""
    found = {id(one.data): one for one in material.posteriors.values()}
    if not found:
        return {}
    missing = []
    for posterior in found.values():
        columns = posterior.data.isna().sum()
        missing += [f"{name}: {count:,}" for name, count in columns[columns > 0].items()]
    weights = dict.fromkeys(str(one.settings["weights"]) for one in found.values() if "weights" in one.settings)
    return {
        "n": ", ".join(f"{len(one.data):,}" for one in found.values()),
        "missing": "; ".join(missing) or "none in the table that was fitted",
        "weights": ", ".join(weights) or "none: all people count alike",
    }
