"""Propensities: P(group | covariates), saturated or by logistic regression, and whether they overlap."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from causalaudit.adjustment.covariates import Covariates
from causalaudit.adjustment.logistic import predict_logistic, regress
from causalaudit.errors import DataError

Form = Literal["auto", "saturated", "logistic"]
# Probabilities are kept this far from 0 and 1 where log-odds or weights are taken of them.
SMALLEST = 1e-6
IMPOSSIBLE = 1e-6  # a fitted propensity below it is none
FILLED = 20  # people in a cell of covariates, of which its probabilities can be counted


class NoOverlapError(DataError):
    """Some people have covariates with which nobody is in one of the two groups."""


class Propensity(Protocol):
    """What every model of propensities can do."""

    @property
    def form(self) -> str:
        """How it depends on the covariates, in a word."""

    @property
    def chance(self) -> np.ndarray:
        """P(group | covariates) of each person, fitted under their weights; by default all weigh alike."""

    def chances(self, weights: np.ndarray) -> np.ndarray:
        """Return the propensities of everybody (columns) fitted under sets of weights of the people (rows)."""


@dataclass(frozen=True, eq=False)
class SaturatedPropensity:
    """Every combination of values of the covariates has a propensity of its own: the share of the group in it."""

    covariates: Covariates
    group: np.ndarray
    weights: np.ndarray | None = None
    form = "saturated"

    @cached_property
    def chance(self) -> np.ndarray:
        return self.chances(np.ones((1, len(self.group))) if self.weights is None else self.weights[None])[0]

    def chances(self, weights: np.ndarray) -> np.ndarray:
        cells = self.covariates.cells
        ours, everyone = cells.sums(weights * self.group), cells.sums(weights)
        return np.divide(ours, everyone, out=np.zeros_like(ours), where=everyone > 0)[:, cells.cell]


@dataclass(frozen=True, eq=False)
class LogisticPropensity:
    """A logistic regression of the group on the covariates."""

    covariates: Covariates
    group: np.ndarray
    weights: np.ndarray | None = None
    form = "logistic"

    @cached_property
    def coefficients(self) -> np.ndarray:
        """The intercept and the coefficients."""
        return regress(self.covariates.design, self.group, None if self.weights is None else self.weights[None])[0]

    @cached_property
    def chance(self) -> np.ndarray:
        return predict_logistic(self.covariates.design, self.coefficients[None])[0]

    def chances(self, weights: np.ndarray) -> np.ndarray:
        design = self.covariates.design
        return predict_logistic(design, regress(design, self.group, weights, start=self.coefficients))


def fit_propensity(
    covariates: Covariates, group: np.ndarray, form: Form = "auto", weights: np.ndarray | None = None
) -> SaturatedPropensity | LogisticPropensity:
    """Return the model of P(group | covariates).

    Models predict for everybody under any weights of the people, so that those with weight zero are predicted by the
    others.

    Parameters
    ----------
    covariates
        Of the people.
    group
        Who is in the group: 1 or 0.
    form
        ``"saturated"``: a probability for each combination of values; ``"logistic"``: a logistic regression;
        ``"auto"``: saturated if all covariates are discrete.
    weights
        Survey weights of the people.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> people = pd.DataFrame({"age": [0.5, 0.5, 1.5, 1.5, 1.5], "x": [0, 1, 0, 1, 1]})
    >>> model = fit_propensity(Covariates.of(people, ["age"]), people.x.to_numpy())
    >>> model.form, model.chance.round(2).tolist()
    ('saturated', [0.5, 0.5, 0.67, 0.67, 0.67])
    """
    saturated = covariates.discrete if form == "auto" else form == "saturated"
    model = SaturatedPropensity if saturated else LogisticPropensity
    return model(covariates, np.asarray(group, dtype=float), weights)


def well_filled(covariates: Covariates, group: np.ndarray) -> bool:
    """Return whether there are enough people to count a propensity in every combination of values.

    All covariates are discrete, there are twenty people a cell on average, and no smaller cell lacks one of the groups:
    that would be chance, whereas a large cell without one of them says that there is no overlap.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> people = Covariates.of(pd.DataFrame({"sex": ["m", "f"] * 100, "job": list("abcdefghij") * 20}), ["sex", "job"])
    >>> group = np.arange(200) // 10 % 2
    >>> well_filled(people, group), well_filled(people.only(np.arange(200) < 190), group[:190])
    (True, False)
    """
    if not covariates.discrete:
        return False
    cells = covariates.cells
    ours, everyone = cells.sums(np.stack([np.asarray(group, dtype=float), np.ones(len(covariates))]))
    one_sided = (ours == 0) | (ours == everyone)
    return bool(everyone.mean() >= FILLED and not (one_sided & (everyone < FILLED)).any())


def log_odds(chance: np.ndarray) -> np.ndarray:
    """Return log-odds of probabilities, which are kept a millionth away from 0 and 1."""
    inner = np.clip(chance, SMALLEST, 1 - SMALLEST)
    return np.log(inner) - np.log1p(-inner)


def odds(chance: np.ndarray) -> np.ndarray:
    """Return the odds of probabilities: the weights with which others stand for the group."""
    return np.exp(log_odds(chance))


def check_overlap(chance: np.ndarray, needed: np.ndarray, covariates: Covariates, level: str, advice: str) -> None:
    """Refuse covariates with which a group does not occur.

    Parameters
    ----------
    chance
        The propensity of the group, of each person.
    needed
        Who must have one.
    covariates
        Of the people.
    level
        The group and who it is among, in words.
    advice
        What to do.

    Raises
    ------
    NoOverlapError
        It names the group, and covariates with which its propensity is zero.
    """
    bad = needed & (chance < IMPOSSIBLE)
    if bad.any():
        raise NoOverlapError(
            f"There is no overlap: the propensity of {level} is 0 for {int(bad.sum())} of {len(bad)} people, for "
            f"example with {covariates.example(bad)}. {advice}"
        )


def weight_summary(weights: np.ndarray, chance: np.ndarray) -> dict[str, float]:
    """Describe the weights with which people of a group stand for others.

    Parameters
    ----------
    weights
        Of the people of the group.
    chance
        The propensity of the group, of everybody.
    """
    return {
        "people": len(weights),
        "effective_people": float(weights.sum() ** 2 / (weights**2).sum()),
        "largest_weight": float(weights.max() / weights.mean()),
        "smallest_propensity": float(chance.min()),
    }
