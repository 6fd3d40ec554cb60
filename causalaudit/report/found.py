"""What results hold, as sections: each audit, and the association table."""

from typing import Any

import numpy as np
import pandas as pd

from causalaudit.association import ImpactRatiosResult
from causalaudit.report.blocks import Block, Section, Sentence
from causalaudit.report.drafting import Material
from causalaudit.report.stated import fields_of
from causalaudit.results import AuditResult

_SETTINGS_LEFT_OUT = ("counterfactuals",)


def association_section(material: Material) -> Section:
    """Return the association tables, as Local Law 144 defines them, where some were handed over."""
    found = [one for one in material.results.values() if isinstance(one, ImpactRatiosResult)]
    known = {"unknown": "; ".join(one.unknown_words for one in found)} if found else {}
    blocks: list[Block] = [
        Sentence(
            "Selection or scoring rates and impact ratios as New York City's Local Law 144 defines them (6 RCNY § "
            "5-300 and § 5-301). They describe who was selected; they say nothing about why."
        ),
        fields_of("association", material.context, known),
    ]
    if not found:
        blocks.append(Sentence("Association table: not stated. causalaudit.impact_ratios makes one."))
    parts = tuple(
        audit_section(material, name, one)
        for name, one in material.results.items()
        if isinstance(one, ImpactRatiosResult)
    )
    return Section("Association table", tuple(blocks), parts)


def audits_section(material: Material) -> Section:
    """Return each audit with its table, plot, intervals and verdicts."""
    parts = tuple(
        audit_section(material, name, one)
        for name, one in material.results.items()
        if not isinstance(one, ImpactRatiosResult)
    )
    blocks: list[Block] = [] if parts else [Sentence("Audits of a causal model: not stated.")]
    return Section("Audits", tuple(blocks), parts)


def audit_section(material: Material, name: str, result: AuditResult) -> Section:
    """Return one audit."""
    blocks: list[Block] = [Sentence(result.title if result.title != name else "")] if result.title != name else []
    summary = result.summary()
    blocks.append(
        Sentence(result.empty) if summary.empty else material.table(f"{name}: the answer in a few rows", summary)
    )
    blocks.append(material.pictures.draw(result.plot, f"{name}: the answer as a picture", _described(result)))
    blocks += _intervals(material, name, result)
    blocks += _verdicts(material, name, result)
    blocks.append(material.table(f"{name}: the whole table", result.table))
    blocks.append(material.table(f"{name}: what was asked for", _settings(result.settings)))
    return Section(name, tuple(blocks))


def _described(result: AuditResult) -> str:
    return f"{result.title}. The numbers are in the tables of this section."


def _intervals(material: Material, name: str, result: AuditResult) -> list[Block]:
    kinds = result.intervals
    if kinds.empty:
        return [Sentence("Intervals: none were asked for, so that how sure the numbers are is not known.")]
    return [material.table(f"{name}: what each interval is about", kinds)]


def _verdicts(material: Material, name: str, result: AuditResult) -> list[Block]:
    verdicts = result.verdicts
    if verdicts.empty:
        return [Sentence("Verdicts: no unit was examined.")]
    rules = list(dict.fromkeys(verdicts["rule"].tolist()))
    said: list[Block] = [Sentence(f"When a unit is flagged: {rule}.") for rule in rules[:3]]
    columns = ["unit", "flagged", "value", "probability", "structural", "sampling"]
    shown = verdicts if len(rules) > 1 else verdicts[columns]
    kept = [column for column in shown if column in ("unit", "flagged") or not _unknown(shown[column])]
    order = np.argsort(~verdicts["flagged"].to_numpy(), kind="stable")
    return [*said, material.table(f"{name}: verdicts", shown[kept].iloc[order].reset_index(drop=True))]


def _unknown(column: "pd.Series[Any]") -> bool:
    return bool(column.isna().all())


def _settings(settings: dict[str, Any]) -> pd.DataFrame:
    rows = [(name, value) for name, value in settings.items() if name not in _SETTINGS_LEFT_OUT]
    return pd.DataFrame(rows, columns=["setting", "value"])
