"""People of the data whose responses to interventions can be asked for again and again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arviz_versions import group_names
from causalaudit.counterfactuals.abduction import Abduction
from causalaudit.global_state import cached_property
from causalaudit.inference import Posterior
from causalaudit.randomness import label_places
from causalaudit.scm.noise import Coupling


@dataclass(frozen=True, eq=False)
class ObservedPeople:
    """People of whom the values are known, and with them the noise, at every draw.

    Attributes
    ----------
    persons : pandas.DataFrame
        The people, with the columns of the program.
    """

    posterior: Posterior
    persons: pd.DataFrame
    draws: int | None
    coupling: dict[str, Coupling]
    seed: int

    @property
    def numbers(self) -> np.ndarray:
        """The draws of the posterior that are used."""
        return self.posterior.draw_numbers(self.draws)

    @cached_property
    def _joint(self) -> bool:
        """Whether latents were drawn together with the parameters, and are looked up by the labels of people."""
        return "latents" in group_names(self.posterior.idata)

    def under(self, do: Mapping[str, Sequence[Any]], who: np.ndarray) -> Iterator[dict[str, np.ndarray]]:
        """Yield the variables of some people under an intervention, for one part of the draws after the other.

        Parameters
        ----------
        do
            The variables that are set, with a value for each of the people.
        who
            Positions among the people, repeated at will. A person has the same noise every time.

        Yields
        ------
        dict
            Variable → numbers (codes for levels), draws × people.
        """
        question = self._question(do, who)
        return (question.worlds(numbers) for numbers in question.tasks())

    def _question(self, do: Mapping[str, Sequence[Any]], who: np.ndarray) -> Abduction:
        persons = self.persons.iloc[who] if self._joint else self.persons.iloc[who].reset_index(drop=True)
        encode = self.posterior.scm.codec.encode
        tensors = {name: encode(name, pd.Series(list(values))) for name, values in do.items()}
        return Abduction(
            self.posterior, persons, tensors, self.draws, self.coupling, None, self.seed, None, positions=who,
            total=len(self.persons), stations=label_places(self.persons.index),
        )  # fmt: skip
