"""What was searched for the modes of a posterior, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

RARELY_UNSEEN = (
    0.1  # chance that one more start reaches an unknown maximum, above which the search is not to be relied on
)
UNVISITED = 0.01  # share of the mass around modes that no chain visited, above which a part is missed


def modes_in_words(statistics: Mapping[str, Any]) -> str | None:
    """Say what was searched, and what was found; None where nothing was searched."""
    if "starts" not in statistics:
        return None
    starts, arrived, maxima = (int(statistics[name]) for name in ("starts", "arrived", "maxima"))
    some = "" if arrived == starts else f", of which {arrived} reached a maximum,"
    which = "" if maxima == 1 else f", of which {_number(int(statistics['modes']))}"
    return f"Modes: {starts} starts drawn from the prior{some} led to {_maxima(maxima)}{which}."


def several_in_words(statistics: Mapping[str, Any]) -> str:
    """Say how many modes count, if several do, and which of them are copies of one another."""
    modes = int(statistics.get("modes", 1))
    if modes == 1:
        return ""
    how = "were visited by the chains" if "r_hat" in statistics else "are weighed together"
    return f"{modes} modes count, and {how}. {statistics.get('copies', '')}".strip()


def modes_of_parts(parts: Sequence[tuple[str, Mapping[str, Any]]]) -> str | None:
    """Say the same of the independent parts of a posterior, each with its name; one by one where there are several."""
    searched = [(name, one) for name, one in parts if "starts" in one]
    several = [f"({name}) {modes_in_words(one)}" for name, one in searched if int(one["maxima"]) > 1]
    single = len(searched) - len(several)
    if not searched:
        return None
    one = f"Modes: the starts drawn from the prior led to one maximum in {single} of {len(parts)} independent parts."
    return " ".join([one, *several])


def misses_modes(statistics: Mapping[str, Any]) -> str:
    """Say why the modes that were found may not be all, if that is so; nothing otherwise."""
    unseen, unvisited = (float(statistics.get(name, 0.0)) for name in ("unseen", "unvisited"))
    if unseen > RARELY_UNSEEN:
        return (
            f"{statistics['starts']} starts drawn from the prior led to {statistics['maxima']} maxima, many of them "
            f"to one that no other found: there are more, which may be higher (chance of another: {unseen:.0%}). "
            "Narrow the priors, or reparametrise"
        )
    if unvisited > UNVISITED:
        return (
            f"the chains never came to modes that hold some {unvisited:.0%} of the posterior: identify them by the "
            "priors (an order, signs), or ask for more chains"
        )
    return ""


def _maxima(maxima: int) -> str:
    return "one maximum" if maxima == 1 else f"{maxima} maxima"


def _number(counting: int) -> str:
    return "one has nearly all of the mass" if counting == 1 else f"{counting} count"
