"""How people bear on a disparity through the models that were fitted to them.

The disparity D(S) = E[I − m | A = 1, S] − E_w[I − m | A = 0, S] depends on the coefficients β of the model m of the
event and γ of the weights w = P(A = 1 | X) / P(A = 0 | X). One more person moves γ by H⁻¹ times her score, and β by her
own score and by what the weights of the others change. If both models are right that is nothing to first order in large
samples; in small ones, or if only one of them is right, it is not.
"""

from dataclasses import dataclass

import numpy as np

from causalaudit.adjustment import odds, standardising_penalty, with_intercept
from causalaudit.bias_scan.question.strata import Strata
from causalaudit.storage import storable

_FREE = 1e-9  # in place of a penalty of the intercept


@storable
@dataclass(frozen=True, eq=False)
class FittedRows:
    """What the default models saw: distinct covariates × columns for A, kept strata × columns for the event."""

    covariates: np.ndarray
    outcome: np.ndarray

    def influence(
        self, strata: Strata, protected: np.ndarray, propensity: np.ndarray, chance: np.ndarray, held: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what one more person of each record adds to the disparity through the models: protected, and other.

        Parameters
        ----------
        strata
            The people.
        protected
            How many of each record are protected.
        propensity, chance
            P(A = 1 | X) of the distinct covariates, and the expectation of the kept strata.
        held
            Which kept strata the subgroup holds.
        """
        status, event = with_intercept(self.covariates), with_intercept(self.outcome)
        others, place = strata.count - protected, strata.covariates_of[strata.kept]
        weight, slope = odds(propensity)[place], chance * (1 - chance)
        ours, size = strata.by_stratum(protected), strata.by_stratum(others)
        gap = strata.by_stratum(others * strata.event) - size * chance
        mass = held * size * weight
        total = max(float(mass.sum()), np.finfo(float).tiny)
        by_event = ((mass / total - held * ours / max(float(held @ ours), 1.0)) * slope) @ event
        penalty = standardising_penalty(self.outcome, size[None], strata.condition is not None)[0]
        through_event = _solve(event, size * weight * slope, penalty, by_event)
        rest = held * weight * gap - mass * ((held * weight) @ gap) / total
        moved = weight * gap * (event @ through_event) - rest / total
        everyone = strata.by_covariates(strata.count)
        through_status = status @ _solve(
            status,
            everyone * propensity * (1 - propensity),
            np.ones(self.covariates.shape[1]),
            moved @ status[place],
        )
        return self._by_record(strata, propensity, chance, through_status, weight * (event @ through_event))

    @staticmethod
    def _by_record(
        strata: Strata,
        propensity: np.ndarray,
        chance: np.ndarray,
        through_status: np.ndarray,
        through_event: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        covariates = strata.covariates_of[strata.stratum_of]
        expected, bearing = (np.zeros(len(strata.condition_value)) for _ in range(2))
        expected[strata.kept], bearing[strata.kept] = chance, through_event
        score = bearing[strata.stratum_of] * (strata.event - expected[strata.stratum_of])
        ours = ((1 - propensity) * through_status)[covariates]
        return ours, score - (propensity * through_status)[covariates]


def _solve(rows: np.ndarray, curvature: np.ndarray, penalty: np.ndarray, slope: np.ndarray) -> np.ndarray:
    information = (rows * curvature[:, None]).T @ rows + np.diag(np.append(_FREE, penalty))
    return np.asarray(np.linalg.solve(information, slope))
