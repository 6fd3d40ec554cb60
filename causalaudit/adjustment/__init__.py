"""Propensities and outcome models, for every auditor that adjusts for covariates.

All models take sets of weights of the people and predict for everybody, those with weight zero included: bootstraps are
many sets of weights, and people can be predicted by others only. Flexible models of any kind that scikit-learn has are
cross-fitted (`crossfit`), and enter doubly robust estimates (`doubly_robust`).
"""

from causalaudit.adjustment.balance import balance_table
from causalaudit.adjustment.covariates import (
    Cells,
    Covariates,
    check_declared,
    standardise,
    standardising_penalty,
)
from causalaudit.adjustment.crossfit import Crossfitted, crossfit, fold_of
from causalaudit.adjustment.doubly_robust import (
    SMALLEST_CHANCE,
    DoublyRobust,
    doubly_robust,
    fit_chance,
    odds_of_other,
    spread,
)
from causalaudit.adjustment.flexible import SplineBasis, flexible_models
from causalaudit.adjustment.logistic import (
    coefficient_influence,
    fit_logistic,
    one_sided,
    predict_logistic,
    regress,
    with_intercept,
)
from causalaudit.adjustment.outcome import OutcomeRegression, check_estimator, fit_estimator
from causalaudit.adjustment.propensity import (
    SMALLEST,
    Form,
    LogisticPropensity,
    NoOverlapError,
    Propensity,
    SaturatedPropensity,
    check_overlap,
    fit_propensity,
    log_odds,
    odds,
    weight_summary,
    well_filled,
)

__all__ = [
    "SMALLEST",
    "SMALLEST_CHANCE",
    "Cells",
    "Covariates",
    "Crossfitted",
    "DoublyRobust",
    "Form",
    "LogisticPropensity",
    "NoOverlapError",
    "OutcomeRegression",
    "Propensity",
    "SaturatedPropensity",
    "SplineBasis",
    "balance_table",
    "check_declared",
    "check_estimator",
    "check_overlap",
    "coefficient_influence",
    "crossfit",
    "doubly_robust",
    "fit_chance",
    "fit_estimator",
    "fit_logistic",
    "fit_propensity",
    "flexible_models",
    "fold_of",
    "log_odds",
    "odds",
    "odds_of_other",
    "one_sided",
    "predict_logistic",
    "regress",
    "spread",
    "standardise",
    "standardising_penalty",
    "weight_summary",
    "well_filled",
    "with_intercept",
]
