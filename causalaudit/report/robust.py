"""Robustness: which assumptions were tried, and what they change, as a section."""

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from causalaudit.report.blocks import Block, Section, Sentence
from causalaudit.report.drafting import Material
from causalaudit.report.stated import fields_of
from causalaudit.worlds import DiagramTest, EdgesResult, PriorSensitivity, SweepResult, WorldsResult
from causalaudit.worlds.plots import plot_headlines, plot_variance_shares

KINDS = (WorldsResult, SweepResult, PriorSensitivity, EdgesResult, DiagramTest)
"""What may be handed over as worlds."""


def robustness_section(material: Material) -> Section:
    """Return worlds, sweeps and edges, and what is known of couplings, confounding, bounds and multiplicity."""
    blocks: list[Block] = [fields_of("robustness", material.context, _known(material))]
    if material.results:
        blocks.append(material.table("How many units each audit examined", _multiplicity(material)))
    parts = [
        *(_worlds(material, name, one) for name, one in material.worlds_of(WorldsResult).items()),
        *(_sweep(material, name, one) for name, one in material.worlds_of(SweepResult).items()),
        *(_edges(material, name, one) for name, one in material.worlds_of(EdgesResult).items()),
    ]
    return Section("Robustness", tuple(blocks), tuple(parts))


def _known(material: Material) -> dict[str, Any]:
    worlds, sweeps = material.worlds_of(WorldsResult), material.worlds_of(SweepResult)
    known = {
        "worlds": _joined(f"{name}: {', '.join(one.worlds)}" for name, one in worlds.items()),
        "coupling": _joined(one.title for one in sweeps.values() if one.parameter == "r"),
        "confounding": _joined(one.title for one in sweeps.values() if one.parameter == "rho"),
        "bounds": _joined(_bounds(material)),
    }
    pairs = [
        f"{name}: {pair.first} and {pair.second} share a hidden cause, correlation {pair.rho:+g}"
        for name, posterior in material.posteriors.items()
        for pair in posterior.scm.confounding
    ]
    if pairs:
        known["confounding"] = _joined([*pairs, *filter(None, [known["confounding"]])])
    return {name: words for name, words in known.items() if words}


def _bounds(material: Material) -> Iterator[str]:
    """Yield which bounds over all couplings the audits give, and whether these are sharp."""
    for name, result in material.results.items():
        kinds = result.intervals
        for kind in kinds[kinds["kind"] == "coupling"].to_dict("records"):
            yield f"{name}: {kind['type']} bounds, about {kind['about']}"


def _joined(words: Iterable[str]) -> str:
    return "; ".join(words)


def _multiplicity(material: Material) -> pd.DataFrame:
    rows = []
    for name, result in material.results.items():
        verdicts = result.verdicts
        rules = "; ".join(dict.fromkeys(verdicts["rule"].tolist()))
        rows.append((name, len(verdicts), int(verdicts["flagged"].sum()), rules))
    return pd.DataFrame(rows, columns=["audit", "units examined", "flagged", "a unit is flagged if"])


def _worlds(material: Material, name: str, result: WorldsResult) -> Section:
    drawn = (
        (result.plot, "verdicts in each world"),
        (lambda: plot_headlines(result), "the number of the audit in each world"),
        (lambda: plot_variance_shares(result), "where the variance comes from"),
    )
    blocks: list[Block] = [
        Sentence("Fit and weights say how well worlds predict what was observed, not which of them is causally true."),
        material.table(f"{name}: fit and answer of each world", result.summary()),
        material.table(f"{name}: in how many worlds units are flagged", result.agreement.rename_axis("worlds")),
    ]
    blocks += [
        material.pictures.draw(plot, f"{name}: {words}", f"{result.title}: {words}. The numbers are in the tables.")
        for plot, words in drawn
    ]
    blocks.append(material.table(f"{name}: what the intervals are about", result.intervals))
    blocks.append(material.table(f"{name}: every unit in every world", result.table.drop(columns="unit")))
    return Section(f"Worlds: {name}", tuple(blocks))


def _sweep(material: Material, name: str, result: SweepResult) -> Section:
    drawn = material.pictures.draw(result.plot, f"{name}: {result.title}", f"{result.statement()} See the table.")
    tips = result.tipping_points.drop(columns="unit")
    blocks: tuple[Block, ...] = (
        Sentence(result.statement()),
        drawn,
        material.table(f"{name}: the answer at each value", result.table),
        material.table(f"{name}: where answers are overturned", tips),
    )
    return Section(f"Sweep: {name}", blocks)


def _edges(material: Material, name: str, result: EdgesResult) -> Section:
    blocks: tuple[Block, ...] = (
        material.table(f"{name}: evidence for each arrow", result.table),
        material.table(f"{name}: the programs that were compared", result.programs),
    )
    return Section(f"Edges: {name}", blocks)
