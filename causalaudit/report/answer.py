"""The first screen: what was asked, what was found and how surely, in which worlds, and what would overturn it."""

import math
from collections.abc import Iterator
from typing import Any

from causalaudit.association import ImpactRatiosResult
from causalaudit.markup import plain_text
from causalaudit.report.blocks import Answer
from causalaudit.report.drafting import Material
from causalaudit.report.stated import questions
from causalaudit.results import AuditResult
from causalaudit.worlds import DiagramTest, PriorSensitivity, SweepResult, WorldsResult
from causalaudit.worlds.headlines import summary_of_draws

_NAMED = 3  # units that are named in a sentence
_PROB = 0.9


def answer_of(material: Material) -> Answer:
    """Return what stands on the first screen."""
    asked = questions(material.context) or tuple(dict.fromkeys(one.title for one in material.results.values()))
    return Answer(
        asked or ("Nothing was asked: no audit was handed over.",),
        tuple(sentence for name, one in material.results.items() for sentence in _found(name, one)),
        tuple(_worlds(material)),
        tuple(_overturned(material)),
        tuple(_warnings(material)),
    )


def _found(name: str, result: AuditResult) -> Iterator[str]:
    if isinstance(result, ImpactRatiosResult):
        yield f"{name}: {result.words}"
        return
    yield f"{name}: {result.headline.name}: {_with_interval(result)}."
    verdicts = result.verdicts
    flagged = verdicts[verdicts["flagged"]]
    units = [_named(unit) for unit in flagged["unit"].head(_NAMED)]
    which = f": {'; '.join(units)}" if 0 < len(flagged) <= _NAMED else ""
    rest = ", such as " + units[0] if len(flagged) > _NAMED else ""
    yield f"{name}: {len(flagged):,} of {len(verdicts):,} units that were examined are flagged{which}{rest}."


def _with_interval(result: AuditResult) -> str:
    """Return the number of an audit with the interval of its draws or, without draws, that of its estimate."""
    draws, prob = result.headline.to_numpy(dtype=float), float(result.settings.get("prob", _PROB))
    centre, low, high = summary_of_draws(draws, prob)
    words = f"{prob:.0%} credible interval"
    if len(draws) == 1 and "mean" in result.table and result.table["mean"].iloc[0] == centre:
        kind = result.intervals.iloc[0]  # an estimate, of which the first row is the whole
        low, high = (float(result.table[f"{kind['kind']}_{end}"].iloc[0]) for end in ("low", "high"))
        words = f"{kind['level']:.0%} {kind['type']} interval"
    if math.isnan(low):
        return f"{plain_text(centre)} (a single number, of which no interval is known)"
    return f"{plain_text(centre)} ({words} from {plain_text(low)} to {plain_text(high)})"


def _named(unit: Any) -> str:
    """Return a unit in words: of a complainant it is enough who it is, as the title says the rest."""
    return f"complainant {unit.complainant}" if hasattr(unit, "complainant") else plain_text(unit)


def _worlds(material: Material) -> Iterator[str]:
    found = material.worlds_of(WorldsResult)
    for name, result in found.items():
        counts = result.agreement["flagged"]
        average = result.average
        yield (
            f"{name}: in {len(result.worlds)} worlds ({', '.join(result.worlds)}), {counts['all']:,} units are flagged "
            f"in all, {counts['some']:,} in some, {counts['none']:,} in none. {result.settings['headline']}: "
            f"{plain_text(average['value'])} averaged by weight, from {plain_text(average['min'])} to "
            f"{plain_text(average['max'])}."
        )
    if not found and material.posteriors:
        names = ", ".join(material.posteriors)
        yield f"In the causal model that was fitted ({names}). No other was compared, so that it may fail in another."
    if not found and not material.posteriors:
        yield "Not stated: no causal model was compared with another."


def _overturned(material: Material) -> Iterator[str]:
    said = False
    for name, result in material.worlds_of(WorldsResult).items():
        said = True
        split = result.table[result.table["agreement"] == "some"]
        if len(split):
            yield (
                f"{name}: {len(split):,} verdicts depend on which world is the right one. For example: "
                f"{result.statement(split['unit'].iloc[0])}"
            )
        else:
            yield f"{name}: no verdict differs between these worlds; one that is not among them might overturn it."
    for name, sweep in material.worlds_of(SweepResult).items():
        said = True
        yield f"{name}: {sweep.statement()}"
    for prior in material.worlds_of(PriorSensitivity).values():
        said = True
        yield prior.verdict
    if not said:
        yield "Not stated: no sweep over couplings or hidden confounding, and no sensitivity to the prior, is here."
    if material.posteriors:
        yield "A diagram in which an arrow or a hidden common cause is missing could overturn any of it."


def _warnings(material: Material) -> Iterator[str]:
    for name, posterior in material.posteriors.items():
        judged = posterior.diagnostics()
        if not judged.ok:
            yield f"{name}: {judged.verdict}"
    for test in material.worlds_of(DiagramTest).values():
        if test.refuted:
            yield f"The diagram is refuted by these data. {test.verdict}"
