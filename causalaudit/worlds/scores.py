"""The table of how well worlds predict, and the weights that follow from it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError
from causalaudit.inference import Posterior
from causalaudit.worlds.leave_one_out import LeaveOneOut
from causalaudit.worlds.scored_columns import ScoredColumns
from causalaudit.worlds.weighting import evidence_weights, stacking_weights

_COLUMNS = ("elpd", "se", "difference", "difference_se", "pareto_k", "stacking", "evidence")


def loo_table(
    posteriors: Mapping[str, Posterior], losses: Sequence[LeaveOneOut | None], no_evidence: str | None
) -> pd.DataFrame:
    """Return a row for each world: see `WorldsResult.loo`. What is not known is NaN."""
    table = pd.DataFrame(np.nan, index=pd.Index(list(posteriors), name="world"), columns=list(_COLUMNS))
    known = [loss for loss in losses if loss is not None]
    if known:
        elpd = np.column_stack([loss.elpd for loss in known])
        best = elpd[:, [int(elpd.sum(axis=0).argmax())]]
        table["elpd"], table["se"] = elpd.sum(axis=0), _error(elpd)
        table["difference"], table["difference_se"] = (elpd - best).sum(axis=0), _error(elpd - best)
        table["pareto_k"] = [loss.pareto_k for loss in known]
        table["stacking"] = stacking_weights(elpd)
    if no_evidence is None:
        table["evidence"] = evidence_weights(np.array([_log_evidence(one) for one in posteriors.values()]))
    return table


def _error(pointwise: np.ndarray) -> np.ndarray:
    """Return the standard errors of sums over people."""
    return np.sqrt(len(pointwise) * pointwise.var(axis=0))


def _log_evidence(posterior: Posterior) -> float:
    found = posterior.log_evidence
    assert found is not None, "asked for where it is not known"
    return found.value


def why_no_evidence(posteriors: Mapping[str, Posterior], scored: ScoredColumns | None) -> str | None:
    """Say why the evidence of worlds cannot be compared; None if it can."""
    modelled = {world: set(one.scm.columns) - set(one.scm.given) for world, one in posteriors.items()}
    first = next(iter(modelled))
    for world, columns in modelled.items():
        if columns != modelled[first]:
            name = sorted(columns ^ modelled[first])[0]
            return (
                f"the evidence is about different columns: {name!r} is modelled in one of {first!r} and {world!r} alone"
            )
    if scored is not None and scored.rounded:
        return f"{sorted(scored.rounded)[0]!r} is a count in one world and continuous in another"
    for world, posterior in posteriors.items():
        if posterior.log_evidence is None:
            return (
                f"the evidence of {world!r} is not known: its method does not estimate it, or it is not to be trusted"
            )
    return None


def chosen_weights(weights: str | Mapping[str, float], loo: pd.DataFrame, no_evidence: str | None) -> np.ndarray:
    """Return the weights that were asked for, which add up to one.

    Raises
    ------
    DataError
        If evidence is asked for where it cannot be compared.
    """
    if weights == "evidence" and no_evidence is not None:
        raise DataError(f'weights="evidence" cannot be had: {no_evidence}. Use "stacking", "equal" or a mapping.')
    if isinstance(weights, str) and weights != "equal":
        numbers: Any = loo[weights].to_numpy()
    elif isinstance(weights, Mapping):
        numbers = np.array([weights[world] for world in loo.index], dtype=float)
    else:
        numbers = np.ones(len(loo))
    return np.asarray(numbers / numbers.sum())
