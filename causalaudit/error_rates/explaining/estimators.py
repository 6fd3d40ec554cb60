"""Which estimator of the rates with xi ≠ x: by method, and by the models of propensity and expectation."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from sklearn.linear_model import LogisticRegression

from causalaudit.adjustment import Form, LogisticPropensity, SaturatedPropensity, fit_propensity, well_filled
from causalaudit.error_rates.explaining.crossed_rates import (
    CrossedRates,
    PropensityWeightedRates,
    RegressedRates,
    SaturatedRates,
)
from causalaudit.error_rates.explaining.robust_rates import RobustRates
from causalaudit.error_rates.explaining.sample import Sample
from causalaudit.errors import CausalAuditWarning, DataError

Method = Literal["doubly_robust", "ipw", "plugin"]
_CURVE = (
    "method='plugin' with continuous covariates fits a logistic curve to the classifier's answers: a rule with steps "
    "or bands in them is missed, and intervals do not know it. Use method='doubly_robust'."
)


@dataclass(frozen=True)
class Estimator:
    """A method and its models, checked; see `estimate_error_rates`."""

    method: str
    propensity: Any
    expectation: Any
    seed: int

    @classmethod
    def of(cls, method: str, propensity: Any, expectation: Any, seed: int) -> "Estimator":
        """Check what was given."""
        if method not in get_args(Method):
            raise DataError(f"method is {method!r}, but must be one of {', '.join(get_args(Method))}.")
        fits = hasattr(propensity, "fit")
        if not fits and propensity not in get_args(Form):
            raise DataError(
                f"propensity is {propensity!r}, but must be one of {', '.join(get_args(Form))}, or a classifier of "
                "scikit-learn."
            )
        if expectation is not None and not hasattr(expectation, "fit"):
            raise DataError(f"expectation is {expectation!r}, but must be a classifier or regressor of scikit-learn.")
        if method != "doubly_robust" and (fits or expectation is not None):
            raise DataError(
                f"Models of scikit-learn are for method='doubly_robust', but method is {method!r}, whose intervals "
                "hold for tables and logistic regressions only."
            )
        if isinstance(propensity, str) and propensity == "saturated" and expectation is not None:
            raise DataError("With propensity='saturated' expectations are tables too: leave `expectation` out.")
        return cls(method, propensity, expectation, seed)

    def fit(self, sample: Sample) -> CrossedRates:
        """Return the estimates for the people of a sample."""
        if self.method == "doubly_robust":
            if not self._by_tables(sample):
                return RobustRates.of(sample, self._model(), self.expectation, self.seed)
            return SaturatedRates(
                sample, SaturatedPropensity(sample.covariates, sample.x.astype(float), sample.weights)
            )
        if self.method == "plugin" and not sample.covariates.discrete:
            warnings.warn(_CURVE, CausalAuditWarning, stacklevel=4)
        propensity = fit_propensity(sample.covariates, sample.x, self.propensity, sample.weights)
        if isinstance(propensity, LogisticPropensity):
            return (
                PropensityWeightedRates(sample, propensity)
                if self.method == "ipw"
                else RegressedRates(sample, propensity)
            )
        return SaturatedRates(sample, propensity)

    def _by_tables(self, sample: Sample) -> bool:
        if isinstance(self.propensity, str) and self.propensity == "auto":
            return self.expectation is None and well_filled(sample.covariates, sample.x)
        return isinstance(self.propensity, str) and self.propensity == "saturated"

    def _model(self) -> Any:
        if not isinstance(self.propensity, str):
            return self.propensity
        if self.propensity == "auto":
            return None
        return {"logistic": LogisticRegression(C=np.inf, solver="newton-cholesky", max_iter=200)}

    def names(self, fitted: CrossedRates) -> dict[str, str | None]:
        """Return which models were fitted."""
        expectation = fitted.robust.models["expectation"] if isinstance(fitted, RobustRates) else None
        return {"propensity": fitted.form, "expectation": expectation}
