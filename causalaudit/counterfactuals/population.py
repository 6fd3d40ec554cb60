"""People whose responses to interventions can be asked for again and again: for auditors that choose interventions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.counterfactuals.abduction import Abduction
from causalaudit.counterfactuals.ask import select_people
from causalaudit.inference import Posterior
from causalaudit.people import check_seed


def population(
    posterior: Posterior,
    data: pd.DataFrame | None = None,
    *,
    rows: Any = None,
    draws: int | None = None,
    coupling: str | Mapping[str, str] | None = None,
    seed: int = 0,
) -> "ObservedPeople":
    """Return people who can be asked how they would respond to any intervention.

    It is what auditors use that choose interventions themselves; with one intervention, `counterfactuals` gives the
    answer at once.

    Parameters
    ----------
    posterior, data, rows, draws, coupling, seed
        As in `counterfactuals`.

    Examples
    --------
    >>> import numpy as np, causalaudit as ca
    >>> from causalaudit.counterfactuals import population
    >>> posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(300, seed=0), seed=0)
    >>> people = population(posterior, draws=10)
    >>> next(people.under({"gender": ["male", "female"]}, np.array([7, 7])))["salary"].shape
    (10, 2)
    """
    people = select_people(posterior, data, rows)
    return ObservedPeople(posterior, people, draws, posterior.scm.couplings(coupling), check_seed(seed))


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
    coupling: dict[str, str]
    seed: int

    @property
    def numbers(self) -> np.ndarray:
        """The draws of the posterior that are used."""
        return self.posterior.draw_numbers(self.draws)

    @cached_property
    def _joint(self) -> bool:
        """Whether latents were drawn together with the parameters, and are looked up by the labels of people."""
        return "latents" in self.posterior.idata.groups()

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
            total=len(self.persons),
        )  # fmt: skip
