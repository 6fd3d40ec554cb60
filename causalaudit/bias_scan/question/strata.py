"""People counted once: by cell of the scan, covariates of the models, conditioning variable and event."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from causalaudit.bias_scan.question.features import ScannedFeature
from causalaudit.people import distinct_rows
from causalaudit.storage import storable


@storable
@dataclass(frozen=True, eq=False)
class Strata:
    """A table of people, as counts.

    People with the same cell of the scan, covariates and conditioning value are a *stratum*: they share one
    expectation. Those of a stratum with the same event are a *record*: nothing tells them apart but their status. All
    are sorted by cell, covariates, condition and event, so that sums over the finer are sums over runs.

    Attributes
    ----------
    cells : numpy.ndarray
        Cells × features: the codes of the values.
    design : numpy.ndarray
        Distinct covariates × columns of the models.
    codes : numpy.ndarray
        Distinct covariates × covariates: the positions of their values or bins.
    condition : numpy.ndarray or None
        What enters the outcome model of each stratum beside the covariates.
    kept : numpy.ndarray
        The strata whose conditioning variable has the value asked for.
    event, count : numpy.ndarray
        Of each record: its event, and how many people it holds.
    record_of : numpy.ndarray
        The record of each person.
    """

    cells: np.ndarray
    cell_of_covariates: np.ndarray
    design: np.ndarray
    codes: np.ndarray
    covariates_of: np.ndarray
    condition: np.ndarray | None
    condition_value: np.ndarray
    kept: np.ndarray
    stratum_of: np.ndarray
    event: np.ndarray
    count: np.ndarray
    record_of: np.ndarray

    @cached_property
    def _record_runs(self) -> np.ndarray:
        return np.flatnonzero(np.diff(self.stratum_of, prepend=-1))

    @cached_property
    def _stratum_runs(self) -> np.ndarray:
        return np.flatnonzero(np.diff(self.covariates_of, prepend=-1))

    @property
    def cell(self) -> np.ndarray:
        """The cell of each kept stratum."""
        return self.cell_of_covariates[self.covariates_of[self.kept]]

    @property
    def outcome_design(self) -> np.ndarray:
        """Kept strata × columns of the outcome model: the covariates and, unless filtered on, the condition."""
        rows = self.design[self.covariates_of[self.kept]]
        return rows if self.condition is None else np.column_stack([rows, self.condition[self.kept]])

    @property
    def status_condition(self) -> np.ndarray | None:
        """What enters the model of the status beside the covariates; None if it has one value alone."""
        if len(np.unique(self.condition_value)) < 2:
            return None
        return self.condition_value if self.condition is None else self.condition

    def by_all_strata(self, records: np.ndarray) -> np.ndarray:
        """Sum over the records of each stratum, filtered on or not (last axis)."""
        return np.add.reduceat(records, self._record_runs, axis=-1)

    def by_stratum(self, records: np.ndarray) -> np.ndarray:
        """Sum over the records of each kept stratum (last axis)."""
        return self.by_all_strata(records)[..., self.kept]

    def by_covariates(self, records: np.ndarray) -> np.ndarray:
        """Sum over the records of each distinct row of covariates (last axis)."""
        return np.add.reduceat(self.by_all_strata(records), self._stratum_runs, axis=-1)

    def protected_counts(self, protected: np.ndarray) -> np.ndarray:
        """Return how many people of each record are protected."""
        return np.bincount(self.record_of[protected], minlength=len(self.count)).astype(float)


def count_people(
    features: list[ScannedFeature],
    adjusted: list[ScannedFeature],
    condition: np.ndarray,
    event: np.ndarray,
    given: float | None,
    transformed: np.ndarray,
) -> Strata:
    """Count people.

    Parameters
    ----------
    features, adjusted
        What is scanned, and what is adjusted for.
    condition, event
        The conditioning variable and the event of each person.
    given
        The value of the condition to keep; None: keep all, and let `transformed` enter the outcome model.
    transformed
        The condition as it enters the outcome model.
    """
    cell = distinct_rows([feature.codes for feature in features])
    covariates = distinct_rows([cell.inverse, *(feature.model_codes for feature in adjusted)])
    stratum = distinct_rows([covariates.inverse, condition])
    record = distinct_rows([stratum.inverse, event])
    design = [feature.model_rows[feature.model_codes[covariates.first]] for feature in adjusted]
    values = condition[stratum.first]
    return Strata(
        cells=np.column_stack([feature.codes[cell.first] for feature in features]),
        cell_of_covariates=cell.inverse[covariates.first],
        design=np.concatenate(design, axis=1),
        codes=np.column_stack([feature.codes[covariates.first] for feature in adjusted]),
        covariates_of=covariates.inverse[stratum.first],
        condition=transformed[stratum.first] if given is None else None,
        condition_value=values,
        kept=np.arange(len(values)) if given is None else np.flatnonzero(values == given),
        stratum_of=stratum.inverse[record.first],
        event=event[record.first],
        count=record.counts.astype(float),
        record_of=record.inverse,
    )
