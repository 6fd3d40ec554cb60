"""Semi-synthetic data with a known biased subgroup: Algorithm 1 of the paper, and its injected signals."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from causalaudit.arguments import check_seed
from causalaudit.errors import DataError
from causalaudit.people import levels_of, pick_column, read_protected
from causalaudit.randomness import generator

OUTCOME, PREDICTION, RECOMMENDATION = "outcome", "prediction", "recommendation"
_LEAST, _MOST = 0.001, 0.999  # probabilities after a shift


@dataclass(frozen=True, eq=False)
class SemiSyntheticData:
    """Real covariates with drawn outcomes and predictions, which treat a subgroup unlike its counterpart, or nobody.

    Attributes
    ----------
    data : pandas.DataFrame
        The covariates, with `outcome` (0, 1), `prediction` (a probability) and `recommendation` (0, 1).
    protected : dict
        The protected class, as `scan_bias` takes it.
    true : numpy.ndarray
        Everybody's probability of the outcome.
    subgroup : dict
        The values of the chosen attributes that define the subgroup; attributes of which all are in are left out.
    """

    data: pd.DataFrame
    protected: dict[str, Any]
    true: np.ndarray
    subgroup: dict[str, list[Any]]

    @property
    def features(self) -> list[str]:
        """The covariates beside the protected one."""
        drawn = {OUTCOME, PREDICTION, RECOMMENDATION, *self.protected}
        return [name for name in self.data.columns if name not in drawn]

    @property
    def is_protected(self) -> np.ndarray:
        """Who belongs to the protected class."""
        return read_protected(self.data, self.protected).protected(self.data)

    def members(self, subgroup: Mapping[str, Any] | None) -> np.ndarray:
        """Return which people of the protected class are in a subgroup; None is nobody."""
        inside = self.is_protected & (subgroup is not None)
        for name, values in (subgroup or {}).items():
            inside = inside & self.data[name].isin(list(values)).to_numpy()
        return inside

    def accuracy(self, detected: np.ndarray) -> float:
        """Return the Jaccard similarity of the people detected and those who are treated otherwise (equation 3).

        Examples
        --------
        >>> import pandas as pd
        >>> from causalaudit.bias_scan.power.semisynthetic import draw_fair_data
        >>> people = pd.DataFrame({"sex": ["f", "m"] * 50, "age": ["young"] * 40 + ["old"] * 60})
        >>> fair = draw_fair_data(people, {"sex": "f"}, n_bias=1)
        >>> fair.accuracy(fair.members(fair.subgroup))
        1.0
        """
        biased = self.members(self.subgroup)
        return float((biased & detected).sum() / (biased | detected).sum())


def draw_fair_data(
    covariates: pd.DataFrame,
    protected: Mapping[str, Any] | None = None,
    n_bias: int = 2,
    *,
    p_bias: float = 0.5,
    sigma_true: float = 0.6,
    sigma_predict: float = 0.2,
    seed: int = 0,
) -> SemiSyntheticData:
    """Draw outcomes and predictions that do not depend on the protected class, and a subgroup to bias later.

    Parameters
    ----------
    covariates
        Discrete attributes of real people.
    protected
        The protected class, as `scan_bias` takes it; None draws one of the levels of all columns, each as probably.
    n_bias, p_bias
        The subgroup: how many attributes define it, and how probably each of their values belongs to it.
    sigma_true, sigma_predict
        Standard deviations of what moves a person's true log-odds beside the covariates, and of the error of the
        predicted log-odds.
    seed
        Same seed, same data; the streams of the subgroup and of the people are apart.

    Notes
    -----
    Algorithm 1 of Boxer, McFowland and Neill (2024): with a weight from N(0, 0.2²) for each value of each attribute but
    the protected one, true log-odds = sum of weights + N(0, σ_true²), outcome ~ Bernoulli, predicted log-odds = true
    ones + N(0, σ_predict²), and the recommendation says whether the prediction reaches one half. The subgroup
    (section 3, step B) is drawn anew until somebody protected is in it.

    Examples
    --------
    >>> import pandas as pd
    >>> from causalaudit.bias_scan.power.semisynthetic import draw_fair_data
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 50, "age": ["young"] * 40 + ["old"] * 60})
    >>> draw_fair_data(people, {"sex": "f"}, n_bias=1).data.columns.tolist()
    ['sex', 'age', 'outcome', 'prediction', 'recommendation']
    """
    _check_covariates(covariates, n_bias, p_bias)
    rng = generator(check_seed(seed), "semi-synthetic data")
    asked = _draw_protected(covariates, rng) if protected is None else protected
    read_protected(covariates, asked)
    protected = dict(asked)
    dummies = pd.get_dummies(covariates.drop(columns=list(protected)).astype("category"), dtype=float)
    log_odds = dummies.to_numpy() @ rng.normal(0, 0.2, dummies.shape[1]) + rng.normal(0, sigma_true, len(covariates))
    true, predicted = expit(log_odds), expit(log_odds + rng.normal(0, sigma_predict, len(covariates)))
    drawn = SemiSyntheticData(covariates, protected, true, {})
    subgroup = _draw_subgroup(drawn, n_bias, p_bias, generator(seed, "biased subgroup"))
    outcome = (rng.random(len(covariates)) < true).astype(int)
    return replace(drawn, data=_with_predictions(covariates, outcome, predicted), subgroup=subgroup)


def inject(
    fair: SemiSyntheticData,
    mu_sep: float = 0.0,
    mu_suf: float = 0.0,
    *,
    delta: float = 0.0,
    mu_sep_logit: float = 0.0,
    mu_suf_logit: float = 0.0,
    delta_logit: float = 0.0,
    seed: int = 0,
) -> SemiSyntheticData:
    """Treat the subgroup otherwise than its counterpart (section 3, step B, and appendix B.3 of the paper).

    Parameters
    ----------
    fair
        What `draw_fair_data` returned.
    mu_sep
        Added to the predicted probabilities: a violation of separation.
    mu_suf
        Taken from the true probabilities: a violation of sufficiency.
    delta
        Added to both: another base rate, with predictions as good as before.
    mu_sep_logit, mu_suf_logit, delta_logit
        The same with log-odds: μ′_sep, μ′_suf and δ′ of appendix B.3, the shifts that a scan is made for. Beside shifts
        of probabilities, they come first.
    seed
        For drawing outcomes anew where the true probabilities change.

    Examples
    --------
    >>> import pandas as pd
    >>> from causalaudit.bias_scan.power.semisynthetic import draw_fair_data, inject
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 50, "age": ["young"] * 40 + ["old"] * 60})
    >>> fair = draw_fair_data(people, {"sex": "f"}, n_bias=1)
    >>> raised = inject(fair, mu_sep=0.25).data.prediction - fair.data.prediction
    >>> bool((raised[fair.members(fair.subgroup)] > 0.2).all())
    True
    """
    biased = fair.members(fair.subgroup)
    predicted = fair.data[PREDICTION].to_numpy()
    true = _shifted(fair.true, biased, delta_logit - mu_suf_logit, delta - mu_suf)
    outcome = fair.data[OUTCOME].to_numpy()
    if mu_suf or delta or mu_suf_logit or delta_logit:
        again = generator(seed, "outcomes anew").random(len(true)) < true
        outcome = np.where(biased, again, outcome).astype(int)
    predicted = _shifted(predicted, biased, delta_logit + mu_sep_logit, delta + mu_sep)
    return replace(fair, data=_with_predictions(fair.data, outcome, predicted), true=true)


def _shifted(chance: np.ndarray, biased: np.ndarray, log_odds: float, probability: float) -> np.ndarray:
    """Shift the log-odds of some people, and then their probabilities, which stay away from 0 and 1."""
    moved = expit(logit(chance) + log_odds) if log_odds else chance
    moved = np.clip(moved + probability, _LEAST, _MOST) if probability else moved
    return np.where(biased, moved, chance)


def _with_predictions(people: pd.DataFrame, outcome: np.ndarray, predicted: np.ndarray) -> pd.DataFrame:
    drawn = {OUTCOME: outcome, PREDICTION: predicted, RECOMMENDATION: (predicted >= 0.5).astype(int)}
    return people.assign(**drawn)


def _draw_protected(covariates: pd.DataFrame, rng: np.random.Generator) -> dict[str, Any]:
    pairs = [(name, level) for name in covariates.columns for level in levels_of(covariates[name])]
    return dict([pairs[rng.integers(len(pairs))]])


def _draw_subgroup(
    drawn: SemiSyntheticData, n_bias: int, p_bias: float, rng: np.random.Generator
) -> dict[str, list[Any]]:
    names = drawn.features
    if n_bias > len(names):
        raise DataError(f"n_bias is {n_bias}, but beside the protected one there are only {len(names)} covariates.")
    while True:
        chosen = sorted(rng.choice(len(names), n_bias, replace=False))
        subgroup = {}
        for name in (names[place] for place in chosen):
            levels = levels_of(drawn.data[name])
            kept = [level for level, inside in zip(levels, rng.random(len(levels)) < p_bias, strict=True) if inside]
            if len(kept) < len(levels):
                subgroup[name] = kept
        if drawn.members(subgroup).any():
            return subgroup


def _check_covariates(covariates: pd.DataFrame, n_bias: int, p_bias: float) -> None:
    taken = {OUTCOME, PREDICTION, RECOMMENDATION} & set(covariates.columns)
    if taken:
        raise DataError(f"The covariates have a column {min(taken)!r}, but that is drawn here: leave it out.")
    for name in covariates.columns:
        pick_column(covariates, name, "covariate")
    single = [name for name in covariates.columns if covariates[name].nunique() < 2]
    if single or covariates.shape[1] < 2:
        raise DataError(f"There must be two covariates or more, of two values or more each; see {single or 'here'}.")
    if n_bias < 1 or not 0 < p_bias <= 1:
        raise DataError(f"n_bias is {n_bias} and p_bias {p_bias}, but must be at least 1 and in (0, 1].")
