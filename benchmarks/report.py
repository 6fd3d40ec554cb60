"""What a benchmark hands back: figures, with targets where there are any, and notes on what was measured."""

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Figure:
    """One number that was measured; it meets its target if it is below, or above, what is given."""

    name: str
    value: float
    unit: str = ""
    below: float | None = None
    above: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None if there is none."""
        if self.above is not None:
            return bool(self.value > self.above)
        return None if self.below is None else bool(self.value < self.below)

    @property
    def shown(self) -> str:
        return f"{self.value:.3g} {self.unit}".rstrip()

    @property
    def target(self) -> str:
        if self.above is not None:
            return f"> {self.above:g} {self.unit}".rstrip()
        return "" if self.below is None else f"< {self.below:g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Report:
    """The figures of one benchmark, and what a reader must know about them."""

    figures: list[Figure]
    notes: list[str]


def cpu_seconds(function: Callable[[], Result]) -> tuple[Result, float]:
    """Return what the function returns, and the CPU seconds of this process that it took."""
    started = time.process_time()
    result = function()
    return result, time.process_time() - started


def median_cpu_seconds(function: Callable[[], object], repeats: int) -> float:
    """Return the median over several runs of the CPU seconds that the function takes."""
    return median(cpu_seconds(function)[1] for _ in range(repeats))


def peak_gigabytes() -> float:
    """Return the greatest resident memory this process has had, in units of 10^9 bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e9
