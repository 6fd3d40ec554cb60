"""Which columns several worlds are scored by, and in which measure, so that their likelihoods can be compared."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyro.distributions as dist

from causalaudit.errors import DataError
from causalaudit.inference import Posterior
from causalaudit.scm import SCM
from causalaudit.scm.noise.both_tails import has_tails, is_discrete


@dataclass(frozen=True)
class ScoredColumns:
    """What the predictions of all worlds are scored by.

    Attributes
    ----------
    names
        The columns.
    rounded
        Those of them that are counts in one world and continuous in another: a continuous world is scored by the
        probability of the rounding cell, F(x + ½) − F(x − ½).
    """

    names: tuple[str, ...]
    rounded: frozenset[str]

    @classmethod
    def of(cls, posteriors: Mapping[str, Posterior]) -> "ScoredColumns":
        """Take all columns except those that have no parent in any world; they must be the same everywhere.

        Raises
        ------
        DataError
            If worlds explain different columns, or score one by measures that cannot be compared.
        """
        explained = {
            world: [name for name in one.scm.columns if _caused(name, one.scm)] for world, one in _items(posteriors)
        }
        names = tuple(dict.fromkeys(name for own in explained.values() for name in own))
        for world, posterior in posteriors.items():
            missing = [name for name in names if name not in posterior.scm.columns]
            if missing:
                raise DataError(
                    f"The worlds explain different columns: {missing[0]!r} is no variable of {world!r}. Worlds are "
                    'scored by the same columns: add it to the program, or name weights that need no score ("equal", '
                    "or a mapping)."
                )
        if not names:
            raise DataError(
                'No column has a parent in any world: there is nothing to score, so give weights ("equal").'
            )
        return cls(names, frozenset(name for name in names if _is_rounded(name, posteriors)))


def _items(posteriors: Mapping[str, Posterior]) -> list[tuple[str, Posterior]]:
    return list(posteriors.items())


def _caused(name: str, scm: SCM) -> bool:
    return any(True for _ in scm.graph.predecessors(name))


def _is_rounded(name: str, posteriors: Mapping[str, Posterior]) -> bool:
    """Tell whether a column is a count in one world and continuous in another; refuse what cannot be compared."""
    measures = {world: _measure(name, posterior.scm) for world, posterior in posteriors.items()}
    if len(set(measures.values())) == 1:
        return False
    listed = ", ".join(f"{measure} in {world!r}" for world, measure in measures.items())
    if set(measures.values()) != {"discrete", "continuous"}:
        raise DataError(
            f"The column {name!r} is {listed}: likelihoods of different measures cannot be compared. Give it a "
            'distribution of the same kind, or name weights that need no score ("equal", or a mapping).'
        )
    for world, posterior in posteriors.items():
        law = posterior.scm.structure.laws[name]
        if measures[world] == "continuous" and any(name in pair.names for pair in posterior.scm.confounding):
            raise DataError(
                f"The column {name!r} is {listed}, and confounded in {world!r}, where the probability of a rounding "
                'cell is not known. Name weights that need no score ("equal", or a mapping).'
            )
        if measures[world] == "continuous" and not has_tails(law):
            raise DataError(
                f"The column {name!r} is {listed}, and {type(law).__name__} has no distribution function here, which "
                "the probability of a rounding cell needs."
            )
    return True


def _measure(name: str, scm: SCM) -> str:
    law = scm.structure.laws[name]
    if isinstance(law, dist.Delta):
        return "computed"
    if is_discrete(law):
        return "discrete"
    return "partly discrete" if getattr(law, "has_atoms", False) else "continuous"


def same_people(posteriors: Mapping[str, Posterior]) -> "pd.Index":
    """Return the people of all worlds, in the order of the first; refuse worlds on different people.

    Raises
    ------
    DataError
        If they have other labels, or other values of a column that both worlds have as a variable.
    """
    (first, reference), *others = posteriors.items()
    people = reference.data.index
    for world, posterior in others:
        data = posterior.data
        if len(data) != len(people) or not people.isin(data.index).all():
            raise DataError(
                f"The worlds {first!r} and {world!r} are on different people ({len(people)} and {len(data)}, by index)."
                " Fit all programs to the same table."
            )
        for name in (name for name in reference.scm.columns if name in posterior.scm.columns):
            ours, theirs = (table.loc[people, name].to_numpy() for table in (reference.data, data))
            differ = np.flatnonzero(np.asarray(ours != theirs) & ~(pd.isna(ours) & pd.isna(theirs)))
            if len(differ):
                raise DataError(
                    f"The worlds {first!r} and {world!r} are on different people: {name!r} of row "
                    f"{people.tolist()[differ[0]]!r} is {ours[differ[0]]!r} and {theirs[differ[0]]!r}. "
                    "Fit all programs to the same table."
                )
    return people
