"""Calls, mutated at random and watched: the same seed makes the same calls."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tools.soak.calls import Call
from tools.soak.mutations import spoil
from tools.soak.watch import Outcome, watch

_RARE = 0.1  # of what takes a second or more


@dataclass
class Tally:
    """What became of all calls.

    Attributes
    ----------
    outcomes
        How often each kind.
    called
        How often each function.
    found
        From what is wrong and where to the first call that showed it, in words, and how many did.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    called: Counter[str] = field(default_factory=Counter)
    found: dict[tuple[str, str, str], tuple[str, int]] = field(default_factory=dict)
    slowest: tuple[float, str] = (0.0, "")

    def add(self, call: Call, outcomes: list[Outcome], words: str, seconds: float) -> None:
        """Count a call."""
        self.called[call.name] += 1
        self.outcomes.update({outcome.kind for outcome in outcomes})
        self.slowest = max(self.slowest, (seconds, words))
        for outcome in outcomes:
            if outcome.kind in ("answered", "refused"):
                continue
            key = (outcome.kind, outcome.place or call.name, outcome.words.split(":")[0])
            first, number = self.found.get(key, (f"{words}\n    {outcome.words}", 0))
            self.found[key] = (first, number + 1)

    def __str__(self) -> str:
        lines = [
            f"{kind} at {place} ({number}×): {words}"
            for (kind, place, _), (words, number) in sorted(self.found.items())
        ]
        counts = ", ".join(f"{number:,} {kind}" for kind, number in self.outcomes.most_common())
        total = sum(self.called.values())
        slow = f"slowest: {self.slowest[0]:.1f} s, {self.slowest[1]}"
        return "\n".join([*lines, f"{total:,} calls of {len(self.called)} functions: {counts}; {slow}"])


def fuzz(calls: list[Call], seed: int, numbers: Iterator[int] | range, tally: Tally) -> Tally:
    """Make the calls with these numbers."""
    chances = np.array([_RARE if call.rare else 1.0 for call in calls])
    for number in numbers:
        rng = np.random.default_rng([seed, number])
        call = calls[rng.choice(len(calls), p=chances / chances.sum())]
        arguments, done = _spoilt(call, rng)
        begun = time.monotonic()
        outcomes = watch(call, arguments)
        tally.add(call, outcomes, f"{number} {call.name}: {done}", time.monotonic() - begun)
    return tally


def _spoilt(call: Call, rng: np.random.Generator) -> tuple[dict[str, Any], str]:
    """Return the arguments, one or two of which are spoilt."""
    arguments = dict(call.arguments)
    if not arguments:
        return arguments, "as it is"
    chosen = rng.choice(list(arguments), size=min(len(arguments), 1 + int(rng.random() < 0.15)), replace=False)
    words = []
    for name in chosen.tolist():
        arguments[name], done = spoil(arguments[name], rng, name in call.repeats)
        words.append(f"{name} {done}")
    return arguments, "; ".join(words)
