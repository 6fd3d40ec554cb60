"""The affected people as a structural causal model knows them, and how its variables are read as features.

Features may be binned in the data of an audit, and not in the model.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd

from causalaudit.arviz_versions import group_names
from causalaudit.counterfactuals import population
from causalaudit.errors import DataError, InterventionError, nearest
from causalaudit.recourse.question.actions import Stands
from causalaudit.recourse.question.coding import CodedPeople
from causalaudit.scm import SCM
from causalaudit.scm.columns import check_support

if TYPE_CHECKING:
    from causalaudit.counterfactuals import ObservedPeople
    from causalaudit.inference import Posterior

Column = tuple[Any, np.ndarray]  # values as an array of the column's dtype, and codes among them


@dataclass(frozen=True, eq=False)
class Bins:
    """How values of a variable are read as the bins of a feature, learned from people of whom both are known.

    Attributes
    ----------
    cuts
        Where numbers pass from one bin to the next; None for a variable with levels.
    codes
        The code of the bin between two cuts, or of each level (-1: nobody has it).
    """

    cuts: np.ndarray | None
    codes: np.ndarray

    def read(self, numbers: np.ndarray) -> np.ndarray:
        """Return the codes of the bins."""
        at = numbers.astype(int) if self.cuts is None else np.searchsorted(self.cuts, numbers, side="left")
        return self.codes[at]


@dataclass(frozen=True, eq=False)
class ModelledPeople:
    """The affected people, who can be asked how they would respond to any intervention.

    Attributes
    ----------
    scm, people
        The model, and the coded people of the audit.
    who
        The affected people, as positions in `people`.
    population
        The same people, in the same order, with the columns of the model and their noise.
    targets
        For each feature that the model has: what each of its values stands for there.
    bins
        For each binned feature, how its variable is read.
    joint
        Whether latents were drawn together with the parameters, and are looked up by the labels of people, who can then
        not be asked about twice at once.
    """

    scm: SCM
    people: CodedPeople
    who: np.ndarray
    population: "ObservedPeople"
    targets: dict[str, tuple[Any, ...]]
    bins: dict[str, Bins]
    joint: bool

    @property
    def persons(self) -> pd.DataFrame:
        """The affected people with the columns of the model."""
        return self.population.persons

    @cached_property
    def codes(self) -> np.ndarray:
        """The features of the affected people: people × features."""
        return self.people.codes[self.who]

    @property
    def group(self) -> np.ndarray:
        """The groups of the affected people: 0 or 1."""
        return self.people.group[self.who]

    @cached_property
    def status(self) -> np.ndarray:
        """The protected levels of the affected people, as codes."""
        return self.people.status[self.who]

    @cached_property
    def draws(self) -> int:
        """How many draws are used."""
        return len(self.population.numbers)

    def downstream(self, names: Collection[str]) -> set[str]:
        """Return the variables that respond to interventions on others."""
        found = [nx.descendants(self.scm.graph, name) for name in names]
        return set().union(*found) - set(names)

    def column(self, name: str, numbers: np.ndarray) -> Column:
        """Return counterfactual numbers of a variable as values of the feature, with codes."""
        place = self.people.vocabulary.features.index(name)
        if not np.isfinite(numbers).all():
            raise InterventionError(f"The counterfactual {name!r} is not finite where an action leads.")
        if name in self.bins:
            codes = self.bins[name].read(numbers)
            if (codes < 0).any():
                raise InterventionError(f"The counterfactual {name!r} has a level that nobody has: its bin is unknown.")
            return self.people.typed_levels[place], codes
        dtype = self.people.data[name].dtype
        if name in self.scm.codec.levels:
            levels = pd.array(list(self.scm.codec.levels[name]), dtype=object)
            return _typed(levels, dtype), numbers.astype(np.int64)
        values, codes = np.unique(numbers, return_inverse=True)
        whole = dtype.kind in "iub" and bool((values == np.round(values)).all())
        return (values.astype(str(dtype).lower()) if whole else values), codes.reshape(numbers.shape)


def _typed(levels: Any, dtype: Any) -> Any:
    """Return levels as the dtype of a column; as objects if it has no room for all of them."""
    typed = pd.array(levels, dtype=dtype)
    return levels if pd.isna(typed).any() else typed


def model_people(
    posterior: "Posterior",
    data: pd.DataFrame,
    people: CodedPeople,
    affected: np.ndarray,
    values: Stands | None = None,
    draws: int | None = None,
    seed: int = 0,
) -> ModelledPeople:
    """Find the affected people in the posterior's data, and learn how features and variables correspond.

    People of the fit are found by the labels of the index; other people, and those of the fit of whom values are
    missing there, must have all columns of the model in `data`.
    A feature with `values` is binned: its bins are ranges (or sets of levels) of the variable of the same name, which
    are learned from the people, of whom both are known.
    """
    posterior.refuse_weights(
        "recourse counts people as they were sampled, all alike, and its intervals are about a population of such "
        "people. Fit without weights."
    )
    scm, binned = posterior.scm, dict(values or {})
    features = people.vocabulary.features
    modelled = [name for name in features if name in scm.columns]
    if not modelled:
        raise DataError(f"The posterior has none of the features as a variable; it has {', '.join(scm.columns)}.")
    for name in binned:
        if name not in modelled:
            raise DataError(
                f"values names {name!r}, which is not a feature that the model has: {nearest(name, modelled)}"
            )
    labels = people.data.index
    known = bool(labels.isin(posterior.data.index).all()) and _all_known(posterior, labels)
    if binned and not known:
        raise DataError(
            "values are given for binned features, but some people are not in the fit, or lack values there, so that "
            "their values in the model are not known: fit the posterior to all people of the audit, with the same "
            "index and no missing values."
        )
    everyone = posterior.data.loc[labels] if known else data.loc[labels]
    bins = {name: _learn(scm, name, everyone, people) for name in binned}
    if known:
        compared = [name for name in (*modelled, people.vocabulary.protected) if name not in binned]
        _check_same(people, everyone, compared, scm)
    who = np.flatnonzero(affected)
    asked = population(posterior, None if known else data, rows=labels[who], draws=draws, seed=seed)
    scm.encode(asked.persons)  # refuses people whom the model does not know, even if nothing responds
    targets = {name: _targets(scm, name, people, binned.get(name), bins.get(name)) for name in modelled}
    return ModelledPeople(scm, people, who, asked, targets, bins, joint="latents" in group_names(posterior.idata))


def _all_known(posterior: "Posterior", labels: "pd.Index[Any]") -> bool:
    """Tell whether the fit knew all values of people: of others, the audit is handed values that were drawn."""
    return not posterior.data.loc[labels, list(posterior.scm.columns)].isna().any(axis=None)


def _check_same(people: CodedPeople, everyone: pd.DataFrame, names: list[str], scm: SCM) -> None:
    for name in names:
        if name in scm.columns and not (people.data[name].astype(object) == everyone[name].astype(object)).all():
            raise DataError(
                f"{name!r} differs between data and the posterior's data for people with the same label. If it is "
                f"binned, say what the bins stand for, as in Actions(values={{{name!r}: {{bin: value}}}}); if these "
                "are other people, give them labels of their own."
            )


def _learn(scm: SCM, name: str, everyone: pd.DataFrame, people: CodedPeople) -> Bins:
    """Learn which bin each value of a variable belongs to."""
    codes = people.codes[:, people.vocabulary.features.index(name)]
    numbers = scm.codec.numbers(name, scm.codec.encode(name, everyone[name]))
    if name in scm.codec.levels:
        table = np.full(len(list(scm.codec.levels[name])), -1)
        table[numbers] = codes
        if (table[numbers] != codes).any():
            raise DataError(f"The bins of {name!r} do not follow from its levels in the model: a level is in two bins.")
        return Bins(None, table)
    order = np.unique(codes)[np.argsort([numbers[codes == code].min() for code in np.unique(codes)])]
    low, high = (np.array([end(numbers[codes == code]) for code in order]) for end in (np.min, np.max))
    if (low[1:] <= high[:-1]).any():
        raise DataError(f"The bins of {name!r} are not ranges of its values in the model: two of them overlap.")
    return Bins((high[:-1] + low[1:]) / 2, order)


def _targets(
    scm: SCM, name: str, people: CodedPeople, given: Mapping[Any, Any] | None, bins: Bins | None
) -> tuple[Any, ...]:
    """Return what each value of a feature stands for in the model."""
    own = list(people.vocabulary.levels[people.vocabulary.features.index(name)])
    missing = [value for value in own if given is not None and value not in given]
    if missing:
        raise DataError(f"values[{name!r}] does not say what {missing[0]!r} stands for; the bins are {own}.")
    stands = own if given is None else [given[value] for value in own]
    try:
        tensor = scm.codec.encode(name, pd.Series(stands))
        check_support(name, tensor, scm.structure.laws[name])
    except DataError as error:
        raise InterventionError(f"An action would be impossible in the model: {error}") from error
    read = np.arange(len(own)) if bins is None else bins.read(scm.codec.numbers(name, tensor))
    for code, value in enumerate(own):
        if read[code] != code:
            raise DataError(f"{stands[code]!r} is to stand for {value!r} of {name!r}, but is not in that bin.")
    return tuple(stands)
