"""The methods of `fit`: each is one function from a log-density to draws."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from causalaudit.errors import InferenceError
from causalaudit.inference.density.log_density import DensityParts, LogDensity


@dataclass(frozen=True)
class MethodDraws:
    """Unconstrained draws of a method (a single one is a point), and what it says about them.

    Attributes
    ----------
    method
        What was done in the end: "auto" never is.
    vectors
        The draws, chains one after the other.
    parts
        Their densities and values.
    statistics
        Numbers about all of them; `diagnose` judges by these.
    by_draw, by_step
        Numbers about each draw, and about each step of an optimisation.
    """

    method: str
    vectors: np.ndarray
    parts: DensityParts[np.ndarray]
    statistics: Mapping[str, Any] = field(default_factory=dict)
    by_draw: Mapping[str, np.ndarray] = field(default_factory=dict)
    by_step: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """How many draws are wanted: `chains` × `draws`; `seed` is where everything random flows from.

    `start` has values of the parameters near the maximum, if such are known.
    """

    draws: int
    chains: int
    seed: int
    progress: bool = False
    start: Mapping[str, np.ndarray] | None = None

    @property
    def total(self) -> int:
        """How many draws there are in all."""
        return self.draws * self.chains

    def with_seed(self, seed: int) -> "Request":
        """Return the same request with another seed."""
        return replace(self, seed=seed)


Sampler = Callable[[LogDensity, Request], np.ndarray]
"""A sampler from elsewhere: it returns unconstrained vectors, by chain, draw and number."""


@dataclass(frozen=True)
class Method:
    """A method of `fit`.

    Attributes
    ----------
    run
        What it does.
    several_latents
        Whether it can draw several continuous latents of each person together with the parameters; otherwise a program
        with several is refused.
    by_component
        Whether the components of a posterior that factorises are drawn one by one. Whoever asks for a sampler gets it
        on the whole posterior.
    """

    run: Callable[[Any, Request], MethodDraws]
    several_latents: bool = True
    by_component: bool = False


METHODS: dict[str, Method] = {}


def find_method(name: str) -> Method:
    """Return the method of a name.

    Raises
    ------
    InferenceError
        If there is none; the message lists those there are.
    """
    if name not in METHODS:
        raise InferenceError(f"The method {name!r} is not one of {', '.join(METHODS)}.")
    return METHODS[name]
