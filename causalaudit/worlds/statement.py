"""What several worlds say of a unit, as one sentence of plain English with numbers."""

from collections.abc import Sequence, Sized
from typing import TYPE_CHECKING, Any

import numpy as np

from causalaudit.worlds.units import FLAGGED, NOT_EXAMINED

if TYPE_CHECKING:
    from causalaudit.worlds.result import WorldsResult

_ROUNDING = 1e-9
_SOURCES = {
    "between": "disagreement between the worlds",
    "structural": "uncertainty inside each world",
    "sampling": "the sampling of the people compared",
}


def state(result: "WorldsResult", row: Any) -> str:
    """Return the sentence on a row of a comparison's table."""
    verdicts = {world: row[f"verdict_{world}"] for world in result.worlds}
    numbers = [*_probability(result, row), *_values(result, row), *_bounds(result, row), *_shares(row)]
    parts = [f"{row['words']} is {_where(verdicts)}", *numbers, _overturned(result, verdicts, _moved(result, row))]
    return f"{'; '.join(parts)}."


def _where(verdicts: dict[str, str]) -> str:
    examined = [world for world, verdict in verdicts.items() if verdict != NOT_EXAMINED]
    flagged = [world for world in examined if verdicts[world] == FLAGGED]
    unseen = [world for world in verdicts if world not in examined]
    outside = f" ({_listed(unseen)} did not examine it)" if unseen else ""
    if not flagged:
        return f"flagged in none of the {_counted(examined)}{outside}"
    if len(flagged) == len(examined):
        return f"flagged in all {_counted(examined)}{outside}"
    return f"flagged in {len(flagged)} of the {_counted(examined)} ({_listed(flagged)}){outside}"


def _each(worlds: Sized) -> str:
    return "each of them" if len(worlds) > 1 else "the one that examined it"


def _counted(worlds: Sequence[str]) -> str:
    return f"{len(worlds)} world" + "s" * (len(worlds) != 1)


def _probability(result: "WorldsResult", row: Any) -> list[str]:
    known = {world: row[f"probability_{world}"] for world in result.worlds if not np.isnan(row[f"probability_{world}"])}
    if not known:
        return []
    low, high = min(known, key=lambda world: known[world]), max(known, key=lambda world: known[world])
    found = f"between {known[low]:.2f} (“{low}”) and {known[high]:.2f} (“{high}”)"
    if known[low] == known[high]:
        return [f"the probability of what it is flagged for is {known[low]:.2f} in {_each(known)}"]
    how = result.settings["weights"] if isinstance(result.settings["weights"], str) else "the given"
    averaged = "" if np.isnan(row["probability"]) else f"{row['probability']:.2f} averaged by {how} weights and "
    return [f"the probability of what it is flagged for is {averaged}{found}"]


def _values(result: "WorldsResult", row: Any) -> list[str]:
    values = [row[f"value_{world}"] for world in result.worlds]
    known, name = [value for value in values if not np.isnan(value)], result.settings["value"]
    if not known:
        return []
    if min(known) == max(known):
        return [f"its {name} is {known[0]:.3g} in {_each(known)}"]
    return [f"its {name} lies between {min(known):.3g} and {max(known):.3g}"]


def _bounds(result: "WorldsResult", row: Any) -> list[str]:
    known = _ends(result, row)
    if not known:
        return []
    if not _moved(result, row):
        return [f"no coupling of the noise changes its {result.settings['bounded']}"]
    low, high = min(low for low, _ in known), max(high for _, high in known)
    return [f"under any coupling of the noise its {result.settings['bounded']} lies between {low:.3g} and {high:.3g}"]


def _ends(result: "WorldsResult", row: Any) -> list[tuple[float, float]]:
    """Return the bounds over couplings in each world that has some."""
    ends = [(row.get(f"coupling_low_{world}"), row.get(f"coupling_high_{world}")) for world in result.worlds]
    return [(low, high) for low, high in ends if low is not None and not np.isnan(low)]


def _moved(result: "WorldsResult", row: Any) -> bool:
    """Tell whether a coupling is known to matter in some world."""
    return any(high - low > _ROUNDING for low, high in _ends(result, row))


def _shares(row: Any) -> list[str]:
    if row["mostly"] == "certain":
        return ["no uncertainty is left in that"]
    if row["mostly"] not in _SOURCES:
        return []
    return [f"{row[row['mostly']]:.0%} of its variance is {_SOURCES[row['mostly']]}"]


def _overturned(result: "WorldsResult", verdicts: dict[str, str], moved: bool) -> str:
    """Say what would turn the verdict that the weights favour into the other one."""
    weights = result.headline["weight"]
    examined = [world for world, verdict in verdicts.items() if verdict != NOT_EXAMINED]
    favour = float(sum(weights[world] for world in examined if verdicts[world] == FLAGGED))
    against = float(sum(weights[world] for world in examined if verdicts[world] != FLAGGED))
    if len({verdicts[world] for world in examined}) == 1:
        return f"only a world {'or a coupling ' * moved}that is not among these would overturn that"
    favoured, other = (FLAGGED, "not flagged") if favour >= against else ("not flagged", FLAGGED)
    holders = [world for world in examined if verdicts[world] == other]
    share = max(favour, against) / (favour + against) if favour + against else float("nan")
    were = "the right world" if len(holders) == 1 else "any of them the right world"
    return f"{share:.0%} of the weight says {favoured!r}, which would be overturned were {_listed(holders)} {were}"


def _listed(names: Sequence[str]) -> str:
    quoted = [f"“{name}”" for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + f" and {quoted[-1]}"
