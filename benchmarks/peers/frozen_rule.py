"""A logistic rule as coefficients, which both sides of the recourse benchmark ask; needs numpy and pandas alone."""

from typing import Any

import numpy as np
import pandas as pd


class Logistic:
    """Predicts 1 where the intercept and the effects of all values sum to more than 0.

    `model` has an `intercept`, `categorical` (feature → value → effect) and `numeric` (feature → slope).
    """

    def __init__(self, model: dict[str, Any]) -> None:
        self.model = model

    def predict(self, people: pd.DataFrame) -> np.ndarray:
        score = np.full(len(people), self.model["intercept"])
        for column, effects in self.model["categorical"].items():
            score += people[column].map(effects).to_numpy(dtype=float)
        for column, slope in self.model["numeric"].items():
            score += slope * people[column].to_numpy(dtype=float)
        return (score > 0).astype(int)
