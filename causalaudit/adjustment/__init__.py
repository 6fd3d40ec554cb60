"""Propensities and outcome models, for every auditor that adjusts for covariates.

All models take sets of weights of the people and predict for everybody, those with weight zero included: bootstraps are
many sets of weights, and people can be predicted by others only.
"""

from causalaudit.adjustment.bayesian import RegressionDraws, draw_regression
from causalaudit.adjustment.covariates import (
    Cells,
    Covariates,
    check_declared,
    standardise,
    standardising_penalty,
)
from causalaudit.adjustment.logistic import (
    coefficient_influence,
    fit_logistic,
    one_sided,
    predict_logistic,
    regress,
    with_intercept,
)
from causalaudit.adjustment.outcome import OutcomeRegression, fit_estimator
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
)

__all__ = [
    "SMALLEST",
    "Cells",
    "Covariates",
    "Form",
    "LogisticPropensity",
    "NoOverlapError",
    "OutcomeRegression",
    "Propensity",
    "RegressionDraws",
    "SaturatedPropensity",
    "check_declared",
    "check_overlap",
    "coefficient_influence",
    "draw_regression",
    "fit_estimator",
    "fit_logistic",
    "fit_propensity",
    "log_odds",
    "odds",
    "one_sided",
    "predict_logistic",
    "regress",
    "standardise",
    "standardising_penalty",
    "weight_summary",
    "with_intercept",
]
