"""Whether two columns are associated among people who are alike in others, whatever their types."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import f as f_law
from scipy.stats import norm, rankdata
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV

from causalaudit.adjustment import Covariates, SplineBasis, fold_of
from causalaudit.people import codes_of, levels_of, why_discrete

_LEVELS = 10  # the most frequent levels of a column; the others are taken together
_FEWEST = 20  # people of a level that is not taken together with others
_PEOPLE_FOR_EACH = 10  # people for each pair of features whose products are averaged, and for each cell of covariates
_PENALTIES = np.logspace(-2, 4, 13)
_TREES = 50
_DETERMINED = 1e-5  # a share of a feature's variance; where no more is left, the others determine it
_ROUNDING = 1e-10


@dataclass(frozen=True)
class PartialAssociation:
    """The association of two columns given others.

    Attributes
    ----------
    strongest
        The largest correlation of what is left of the features of both columns: normal scores and their squares of a
        number, indicators of levels. NaN where nothing is left.
    statistic
        Hotelling's, of the mean products; it is about chi-square with as many degrees.
    degrees
        How many products vary.
    p_value
        From the F distribution; NaN where nothing varies.
    """

    strongest: float
    statistic: float
    degrees: int
    p_value: float


def partial_association(one: "pd.Series[Any]", other: "pd.Series[Any]", given: pd.DataFrame) -> PartialAssociation:
    """Test whether two columns are independent given others, by the generalised covariance measure.

    Features of either column are predicted from the others by cross-fitted ridge regressions on splines, indicators
    and their products. If the columns are independent given the others, the products of what is left have mean zero,
    and errors of the two predictions do harm only where both are wrong in the same place.

    Parameters
    ----------
    one, other
        Two columns without missing values.
    given
        The columns that people are to be alike in; may have none.

    References
    ----------
    Shah and Peters (2020), The hardness of conditional independence testing and the generalised covariance measure.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=1000)
    >>> people = pd.DataFrame({"z": z, "x": z**2 + rng.normal(size=1000), "y": z**2 + rng.normal(size=1000)})
    >>> round(partial_association(people.x, people.y, people[[]]).p_value, 6)
    0.0
    >>> bool(partial_association(people.x, people.y, people[["z"]]).p_value > 0.05)
    True
    """
    features = [_features(one), _features(other)]
    if _products(features) * _PEOPLE_FOR_EACH > len(one):  # too few people for the squares of numbers
        features = [
            part if _is_discrete(column) else part[:, :1] for part, column in zip(features, (one, other), strict=True)
        ]
    targets = np.column_stack(features)
    left = _Given.of(given).residuals(targets)
    left[:, left.var(axis=0) <= _DETERMINED * targets.var(axis=0)] = 0
    return _test(*np.split(left, [features[0].shape[1]], axis=1))


def _products(features: Sequence[np.ndarray]) -> int:
    return int(np.prod([part.shape[1] for part in features]))


def _is_discrete(column: "pd.Series[Any]") -> bool:
    return why_discrete(column) is not None


def _features(column: "pd.Series[Any]") -> np.ndarray:
    """Return indicators of levels, but for the most frequent; of a number, its normal score and the score's square."""
    if not _is_discrete(column):
        scores = _normal_scores(column)
        return np.column_stack([scores, scores**2 - 1])
    codes = codes_of(column, levels_of(column))
    number, counts = np.unique(codes, return_counts=True)
    kept = number[counts >= _FEWEST][np.argsort(-counts[counts >= _FEWEST], kind="stable")][:_LEVELS]
    if len(kept) < 2:  # two levels of a few people are all there is
        kept = number[np.argsort(-counts, kind="stable")][:_LEVELS]
    return (codes[:, None] == kept[1:]).astype(float)


def _normal_scores(column: "pd.Series[Any]") -> np.ndarray:
    numbers = column.to_numpy(dtype=float)
    return np.asarray(norm.ppf((rankdata(numbers) - 0.5) / len(numbers)))


@dataclass(frozen=True, eq=False)
class _Given:
    """What features are predicted from: columns of a linear model and, where these may miss something, of trees."""

    columns: np.ndarray
    splits: np.ndarray

    @classmethod
    def of(cls, given: pd.DataFrame) -> "_Given":
        """Take cells of values where people fill them, else splines, indicators and products, and trees after these."""
        names: list[Any] = list(given)
        covariates, people = Covariates.of(given, names), len(given)
        if covariates.discrete and covariates.cells.number * _PEOPLE_FOR_EACH <= people:
            cells = covariates.cells
            return cls((cells.cell[:, None] == np.arange(1, cells.number)).astype(float), np.empty((people, 0)))
        main = [_features(column) for _, column in given.items()]
        bent = [SplineBasis().fit_transform(part[:, :1]) for part in main]  # an indicator stays as it is
        crossed = [
            (first[:, :, None] * second[:, None, :]).reshape(people, -1) for first, second in combinations(main, 2)
        ]
        columns = np.column_stack([*main, *bent, *crossed])
        varying = columns[:, np.ptp(columns, axis=0) > 0]
        return cls((varying - varying.mean(axis=0)) / varying.std(axis=0), np.column_stack(main))

    def residuals(self, targets: np.ndarray) -> np.ndarray:
        """Return what is left of targets when people of other folds have predicted them."""
        if not self.columns.shape[1]:
            return targets - targets.mean(axis=0)
        left, fold = np.empty_like(targets), fold_of(np.zeros(len(targets), dtype=int))
        for number in range(int(fold.max()) + 1):
            train, test = fold != number, fold == number
            line = RidgeCV(_PENALTIES, alpha_per_target=True).fit(self.columns[train], targets[train])
            rest = targets - line.predict(self.columns).reshape(targets.shape)
            left[test] = rest[test]
            if self.splits.shape[1]:
                left[test] -= _by_trees(self.splits[train], rest[train], self.splits[test])
        return left


def _by_trees(rows: np.ndarray, targets: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Predict what is left by boosted trees, which see jumps and interactions of any order."""
    trees = HistGradientBoostingRegressor(max_iter=_TREES, max_leaf_nodes=8, early_stopping=False, random_state=0)
    return np.column_stack([clone(trees).fit(rows, target).predict(asked) for target in targets.T])


def _test(one: np.ndarray, other: np.ndarray) -> PartialAssociation:
    """Test whether the mean products of two sets of residuals are zero."""
    people = len(one)
    products = (one[:, :, None] * other[:, None, :]).reshape(people, -1)
    scale = np.sqrt(((one**2).mean(axis=0)[:, None] * (other**2).mean(axis=0)).ravel())
    products = products[:, scale > 0] / scale[scale > 0]
    covariance = np.atleast_2d(np.cov(products, rowvar=False)) if products.shape[1] else np.zeros((0, 0))
    sizes, axes = np.linalg.eigh(covariance)
    free = sizes > _ROUNDING * sizes.max(initial=1.0)
    degrees = int(free.sum())
    if degrees == 0 or degrees >= people:
        return PartialAssociation(float("nan"), float("nan"), degrees, float("nan"))
    mean = products.mean(axis=0)
    statistic = float(people * ((mean @ axes[:, free]) ** 2 / sizes[free]).sum())
    p_value = f_law.sf(statistic * (people - degrees) / (degrees * (people - 1)), degrees, people - degrees)
    return PartialAssociation(float(mean[np.abs(mean).argmax()]), statistic, degrees, float(p_value))
