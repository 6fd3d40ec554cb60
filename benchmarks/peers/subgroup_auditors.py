"""The auditors of GerryFair and MultiAccuracy Boost, written from their papers and appendix B.1 of the bias-scan paper.

Both say for each person whether she is in the subgroup found, protected or not; in an evaluation it is cut to the
protected class, as the paper does.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.linear_model import LinearRegression, Ridge

from causalaudit.bias_scan.power.semisynthetic import OUTCOME, PREDICTION, SemiSyntheticData

ROUNDS = 50  # the paper leaves the number of rounds and the split open
THRESHOLD, STEP, ALPHA = 1e-4, 0.1, 1.0


def gerryfair(
    covariates: pd.DataFrame, outcome: ArrayLike, prediction: ArrayLike, direction: str | None = "positive"
) -> np.ndarray:
    """Return the group whose false positives deviate most from everybody's (Kearns et al. 2018).

    The expected prediction of people without the outcome is the baseline. A linear regression of each one's cost,
    prediction − baseline or its negative, is compared with a regression of zero, which is zero. The two groups are
    complements of equal weighted disparity, so the direction has to be given; None takes the larger disparity after
    all, and the group below the baseline if they are the same.
    """
    dummies = _dummies(covariates)
    outcome, prediction = np.asarray(outcome), np.asarray(prediction)
    negatives = outcome == 0
    baseline = prediction[negatives].mean()
    cost = LinearRegression().fit(dummies[negatives], prediction[negatives] - baseline).predict(dummies)
    above, below = cost > 0, cost < 0
    if direction is None:
        weighted = [_disparity(group & negatives, prediction, baseline) for group in (above, below)]
        return above if weighted[0] > weighted[1] * (1 + 1e-9) else below
    return above if direction == "positive" else below


def _disparity(group: np.ndarray, prediction: np.ndarray, baseline: float) -> float:
    return float(abs((prediction[group] - baseline).sum()))


def multiaccuracy(
    covariates: pd.DataFrame, outcome: ArrayLike, prediction: ArrayLike, directional: bool = True, seed: int = 0
) -> np.ndarray:
    """Return the partition of the highest score over the rounds of MultiAccuracy Boost (Kim et al. 2019).

    In each round a ridge regression of the slope of the log-loss, on half of the people, is tried on the other half:
    first for everybody, then for predictions above one half, then for the others. The first partition in which its
    mean product with the residuals (if directional, with the positive ones alone) exceeds the threshold is corrected.
    Nobody is found if none ever is.
    """
    dummies, outcome = _dummies(covariates), np.asarray(outcome)
    rng = np.random.default_rng(seed)
    log_odds = logit(np.asarray(prediction))
    best, found = 0.0, np.zeros(len(outcome), dtype=bool)
    for _ in range(ROUNDS):
        train = rng.random(len(outcome)) < 0.5
        partition, score, correction = _audit(dummies, outcome, expit(log_odds), train, directional)
        if not partition.any():
            break
        if score > best:
            best, found = score, partition
        log_odds = np.where(partition, log_odds - STEP * correction, log_odds)
    return found


def _audit(
    dummies: np.ndarray, outcome: np.ndarray, prediction: np.ndarray, train: np.ndarray, directional: bool
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the first partition that needs correction, its score and everybody's correction."""
    residual = prediction - outcome
    judged = np.maximum(residual, 0) if directional else residual
    heuristic = _loss_slope(residual)
    everybody = np.ones(len(outcome), dtype=bool)
    for partition in (everybody, prediction > 0.5, prediction <= 0.5):
        fitted, held = partition & train, partition & ~train
        if not fitted.any() or not held.any():
            continue
        correction = Ridge(alpha=ALPHA).fit(dummies[fitted], heuristic[fitted]).predict(dummies)
        score = float((correction * judged)[held].mean())
        if score > THRESHOLD:
            return partition, score, correction
    return ~everybody, 0.0, np.zeros(len(outcome))


def _loss_slope(residual: np.ndarray) -> np.ndarray:
    """Return the derivative of the log-loss by the prediction, sign / (1 − |residual|), straight from 0.9 on.

    The bias-scan paper calls it "similar to an absolute residual"; without its sign every partition needs correction,
    and the method always finds everybody.
    """
    size = np.abs(residual)
    slope = np.where(size < 0.9, 1 / (1 - np.minimum(size, 0.9)), 10 + 100 * (size - 0.9))
    return np.sign(residual) * slope


def gerryfair_detector(dataset: SemiSyntheticData) -> np.ndarray:
    """Audit for a higher false positive rate, all covariates being known."""
    return gerryfair(*_table(dataset)) & dataset.is_protected


def multiaccuracy_detector(dataset: SemiSyntheticData) -> np.ndarray:
    """Audit for predictions that are too high, all covariates being known."""
    return multiaccuracy(*_table(dataset)) & dataset.is_protected


def _table(dataset: SemiSyntheticData) -> tuple[pd.DataFrame, ArrayLike, ArrayLike]:
    covariates = dataset.data[dataset.features].assign(is_protected=dataset.is_protected)
    return covariates, dataset.data[OUTCOME].to_numpy(), dataset.data[PREDICTION].to_numpy()


def _dummies(covariates: pd.DataFrame) -> np.ndarray:
    return pd.get_dummies(covariates.astype(str), dtype=float).to_numpy()
