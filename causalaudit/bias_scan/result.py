"""The answer of a bias scan."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from causalaudit.bias_scan.disparity import Disparity
from causalaudit.bias_scan.plots import plot_disparity
from causalaudit.bias_scan.question import Question
from causalaudit.results import AuditResult

NOT_CORRECTED = "not corrected for the search"
HONEST = "on people who were not searched"
NAMED = "in a subgroup that was named beforehand"


@dataclass(frozen=True, repr=False, eq=False)
class BiasScanResult(AuditResult):
    """The subgroup of the protected class with the largest deviation, against the same subgroup of everyone else.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each of the best subgroups: `rank, subgroup, score, llr, parameter, metric, observed, n, comparison,
        n_comparison, expected, disparity` and, with draws, `disparity_mean, disparity_low, disparity_high, interval`.
        `observed` and `comparison` are the mean event of the protected people of the subgroup and of everyone else with
        the same values, `n` and `n_comparison` their numbers (Table 3 of the paper); `expected` is what the models
        expect of the protected people, `disparity` the difference `observed − expected`. With `split`, these are of the
        people who were not searched.
    p_value : float or None
        Of the best subgroup, the search included; None without null draws.
    certified : bool
        Whether all subgroups were scored, so that no other has a higher score.
    null_scores : numpy.ndarray or None
        The highest scores of the tables drawn under the null hypothesis.
    calibration : pandas.DataFrame
        Calibration curves of the propensity and the outcome model; empty in a counterfactual scan.
    inclusion : pandas.DataFrame or None
        With draws: `feature, value, share` of the posterior draws whose best subgroup holds the value. A stability, not
        a probability of bias.
    settings : dict
        What was asked for.
    """

    p_value: float | None
    certified: bool
    calibration: pd.DataFrame
    question: Question
    disparities: Disparity
    null_scores: np.ndarray | None = None
    inclusion: pd.DataFrame | None = None

    @property
    def title(self) -> str:
        ((column, level),) = self.settings["protected"].items()
        scan = self.question.criterion
        what = f"{scan.criterion} of {scan.of}s" if self.settings["criterion"] == scan.criterion else None
        what = what or str(self.settings["criterion"])
        given = "" if scan.given is None or what == self.settings["criterion"] else f", given {scan.given}"
        kind = "Counterfactual bias scan" if self.disparities.counterfactual else "Bias scan"
        return f"{kind} for {column} = {level}: {what}{given}, {self.settings['direction']} deviations"

    @property
    def score(self) -> float:
        """The penalised score F of the best subgroup; 0 if none is positive."""
        return self._of_best("score", 0.0)

    @property
    def llr(self) -> float:
        """The log-likelihood ratio of the best subgroup, without the penalty."""
        return self._of_best("llr", 0.0)

    @property
    def subgroup(self) -> dict[str, list[Any]] | None:
        """The best subgroup: feature → values; ``{}`` is the whole protected class, None no subgroup at all."""
        return self._of_best("subgroup", None)

    @property
    def subgroups(self) -> list[dict[str, list[Any]]]:
        """The best subgroups, best first."""
        return list(self.table["subgroup"])

    @property
    def parameter(self) -> float | None:
        """What attains the score: the factor q of the odds, or the shift μ of the log-odds (Table 2 of the paper)."""
        return self._of_best("parameter", None)

    @property
    def observed(self) -> float | None:
        """The mean event of the protected people of the best subgroup."""
        return self._of_best("observed", None)

    @property
    def comparison(self) -> float | None:
        """The mean event of everyone else with the same values."""
        return self._of_best("comparison", None)

    @property
    def n(self) -> int | None:
        """The number of protected people of the best subgroup."""
        return self._of_best("n", None)

    @property
    def n_comparison(self) -> int | None:
        """The number of other people with the same values."""
        return self._of_best("n_comparison", None)

    def _of_best(self, column: str, default: Any) -> Any:
        if not len(self.table):
            return default
        value = self.table[column].iloc[0]
        return value.item() if isinstance(value, np.generic) else value

    @property
    def members(self) -> "pd.Index[Any]":
        """The protected people of the best subgroup (those with the value that was filtered on); empty without one."""
        return self.people(self.subgroup) if self.subgroup is not None else self.question.index[:0]

    def people(self, subgroup: Mapping[str, Any]) -> "pd.Index[Any]":
        """Return the protected people of any subgroup."""
        question = self.question
        return question.index[question.members(question.masks(subgroup)) & question.protected & question.inside]

    def disparity(self, subgroup: Mapping[str, Any]) -> "pd.Series[Any]":
        """Compare a subgroup that was named before the scan with its counterpart and its expectation.

        Parameters
        ----------
        subgroup
            Feature → values; features left out have all their values.

        Returns
        -------
        pandas.Series
            `metric, observed, n, comparison, n_comparison, expected, disparity` and, with draws, `disparity_mean,
            disparity_low, disparity_high, interval`. The interval is honest if the subgroup was chosen without
            looking at these data.
        """
        row = self.disparities.row(self.question.masks(subgroup))
        if "disparity_low" in row:
            row["interval"] = interval_name(self.settings["prob"], NAMED)
        return pd.Series(row)

    def summary(self) -> pd.DataFrame:
        """Return the best subgroups in words, beside their counterparts, as Table 3 of the paper does."""
        shown = self.table.drop(columns=["llr", "parameter"])
        shown["subgroup"] = [in_words(subgroup) for subgroup in self.table["subgroup"]]
        shown = shown.set_index("rank")
        if self.p_value is not None:
            shown.insert(2, "p_value", [self.p_value, *[np.nan] * (len(shown) - 1)][: len(shown)])
        return shown

    @property
    def verdicts(self) -> pd.DataFrame:
        flagged = len(self.table) > 0 and (self.p_value is None or self.p_value <= self.settings["alpha"])
        units = [in_words(subgroup) for subgroup in self.table["subgroup"].iloc[:1]]
        return pd.DataFrame({"unit": units, "flagged": [flagged] * len(units), "probability": np.nan})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the subgroups and their counterparts, with intervals if there are draws."""
        return plot_disparity(self, ax=ax)

    def to_inference_data(self) -> az.InferenceData:
        """Return the draws of the disparity of each subgroup, and the null scores as constant data."""
        constants: dict[str, Any] = {
            name: ("rank", self.table[name].to_numpy(dtype=float)) for name in ("score", "observed", "comparison")
        }
        if self.null_scores is not None:
            constants["null_scores"] = ("null_draw", self.null_scores)
        coords: dict[str, Any] = {"rank": self.table["rank"].to_numpy()}
        groups = {"constant_data": xr.Dataset(constants, coords)}
        draws = [self.disparities.draws(self.question.masks(subgroup)) for subgroup in self.subgroups]
        kept = [draw for draw in draws if draw is not None]
        if kept:
            values = np.stack(kept, axis=-1)[None]
            coords |= {"chain": [0], "draw": np.arange(values.shape[1])}
            groups["posterior"] = xr.Dataset({"disparity": (("chain", "draw", "rank"), values)}, coords)
        return az.InferenceData(**groups)  # type: ignore[arg-type]


def interval_name(prob: float, how: str) -> str:
    """Say what an interval is."""
    return f"{prob:.0%} credible, {how}"


def in_words(subgroup: Mapping[str, Any]) -> str:
    """Describe a subgroup in a line."""
    if not subgroup:
        return "all protected people"
    return " & ".join(f"{name}: {' or '.join(map(str, values))}" for name, values in subgroup.items())
