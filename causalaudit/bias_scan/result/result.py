"""The answer of a bias scan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from causalaudit.arguments import check_types
from causalaudit.arviz_versions import InferenceData, inference_data
from causalaudit.bias_scan.evidence.disparity import compare, disparity_draws, disparity_variances
from causalaudit.bias_scan.evidence.expected_people import ExpectedPeople
from causalaudit.bias_scan.evidence.lattice import Lattice
from causalaudit.bias_scan.question.scan_question import ScanQuestion
from causalaudit.bias_scan.result.plots import plot_disparity
from causalaudit.bias_scan.result.words import HONEST, NAMED, NOT_CORRECTED, in_words, interval_words
from causalaudit.results import AuditResult, IntervalKind, headline_of, interval_table, verdict_table
from causalaudit.storage import storable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COMPARED = ["disparity", "disparity_mean", "credible_low", "credible_high"]


@storable
@dataclass(frozen=True, repr=False, eq=False)
class BiasScanResult(AuditResult):
    """The subgroup of the protected class with the largest deviation, against the same subgroup of everyone else.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each of the best subgroups: `rank, subgroup, score, llr, parameter, metric, observed, n, comparison,
        n_comparison, expected, disparity` and, with draws, `disparity_mean, credible_low, credible_high`: see
        `intervals`. `observed` and `comparison` are the mean event of the protected people of the subgroup and of those
        with the same values whom they are compared with, `n` and `n_comparison` their numbers (Table 3 of the paper);
        `expected` is what the models expect of the protected people, corrected by how others of the subgroup deviate
        from it (doubly robust), `disparity` the difference `observed − expected`. With `split`, these are of the people
        who were not searched.
    p_value : float or None
        Of the best subgroup, the search included; None without null draws.
    certified : bool
        Whether all subgroups were scored, so that no other has a higher score.
    calibration : pandas.DataFrame
        Calibration curves of the propensity and the outcome model; empty in a counterfactual scan.
    question : ScanQuestion
        What was asked, and all people.
    measured : ExpectedPeople
        Those on whom disparities are measured, and what is expected of them.
    null_scores : numpy.ndarray or None
        The highest scores of the tables drawn under the null hypothesis.
    inclusion : pandas.DataFrame or None
        With draws: `feature, value, share` of the posterior draws (the first 400) whose best subgroup holds the value.
        A stability, not a probability of bias.
    settings : dict
        What was asked for; `scanned_by` says how each feature was scanned, `left_out` how many people have neither the
        protected level nor the reference.
    """

    p_value: float | None
    certified: bool
    calibration: pd.DataFrame
    question: ScanQuestion
    measured: ExpectedPeople
    null_scores: np.ndarray | None = None
    inclusion: pd.DataFrame | None = None
    KIND: ClassVar[str] = "bias scan"
    VALUE: ClassVar[str] = "disparity"

    @property
    def title(self) -> str:
        kind = "Counterfactual bias scan" if self.measured.counterfactual else "Bias scan"
        out = f" ({self.question.left_out:,} others left out)" if self.question.left_out else ""
        return f"{kind} for {self.question.groups.words}{out}: {self._looked_for}"

    @property
    def _looked_for(self) -> str:
        scan, asked = self.question.criterion, self.settings["criterion"]
        what = f"{scan.criterion} of {scan.of}s" if asked == scan.criterion else asked
        given = "" if scan.given is None or what == asked else f", given {scan.given}"
        return f"{what}{given}, {self.settings['direction']} deviations"

    @property
    def empty(self) -> str:
        names = ", ".join(feature.name for feature in self.question.features)
        subgroups = f"{Lattice(self.question.sizes).number:,} subgroups by {names}"
        searched = f"All {subgroups} were scored" if self.certified else f"Among {subgroups} it was climbed"
        return (
            f"No subgroup has a positive score. {searched}: {self._looked_for}, with a penalty of "
            f"{self.settings['penalty']:g} for each value that a subgroup lists."
        )

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
            credible_low, credible_high, interval`. The interval is honest if the subgroup was chosen without looking at
            these data.
        """
        check_types(BiasScanResult.disparity, locals())
        row = compare(self.measured, self.question.masks(subgroup), self.settings["prob"], self.settings["seed"])
        if "credible_low" in row:
            row["interval"] = interval_words(self.settings["prob"], NAMED)
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
    def search_words(self) -> str:
        """Whether the intervals of the table are corrected for the search, in words."""
        return NOT_CORRECTED if self.settings["split"] is None else HONEST

    @property
    def intervals(self) -> pd.DataFrame:
        """What the intervals are, a row for each kind: `kind, level, type, scope, about, known`."""
        if self.measured.draws is None:
            return interval_table([])
        known = "the causal model of the counterfactuals, with its couplings"
        if not self.measured.counterfactual:
            given = ", taken as they were fitted" if self.measured.rows is None else ""
            known = f"the models{given}: one of the two, of the event and of who is protected, is right"
        about = f"the disparity of the subgroup in the population, {self.search_words}"
        return interval_table([IntervalKind("credible", self.settings["prob"], "credible", "one unit", about, known)])

    @property
    def verdicts(self) -> pd.DataFrame:
        """A row for each of the best subgroups: `unit, flagged, probability, value, structural, sampling, rule`.

        `value` is the disparity, `structural` its variance from the side of the expectation, `sampling` that from the
        side of the protected people. The probability that the disparity is on the side looked for is given with `split`
        alone: of people who were searched it would be flattered.
        """
        flagged, rule = self._flagged()
        return self._judged(self.subgroups, flagged, rule, self.table["disparity"])

    def by_unit(self, beside: Sequence[AuditResult] = ()) -> pd.DataFrame:
        """Return verdicts on all subgroups that this or another scan of the same question found.

        Each is flagged by the interval of its own disparity here, since the test of a search is about what that search
        found. `case` says whether the disparity is on the side looked for, `mean` is its posterior mean. See
        `AuditResult.by_unit`.
        """
        check_types(BiasScanResult.by_unit, locals())
        found = [
            subgroup for scan in (*beside, self) if isinstance(scan, BiasScanResult) for subgroup in scan.subgroups
        ]
        subgroups = list({in_words(subgroup): subgroup for subgroup in found}.values())
        rows = pd.DataFrame([self.disparity(subgroup) for subgroup in subgroups], columns=_COMPARED)
        disparity = rows["disparity"].to_numpy(dtype=float)
        flagged, rule = self._by_interval(rows)
        case = disparity > 0 if self.question.positive else disparity < 0
        mean = rows["disparity_mean"].astype(float).fillna(rows["disparity"].astype(float)).to_numpy()
        return self._judged(subgroups, flagged, rule, disparity).assign(case=case, mean=mean)

    def _judged(
        self, subgroups: Sequence[Mapping[str, Any]], flagged: np.ndarray, rule: str, value: Any
    ) -> pd.DataFrame:
        masks = [self.question.masks(subgroup) for subgroup in subgroups]
        variances = np.array([disparity_variances(self.measured, one) for one in masks]).reshape(-1, 2)
        return verdict_table(
            [self._unit(subgroup) for subgroup in subgroups],
            flagged,
            rule=rule,
            probability=[self._probability(one) for one in masks] if self._honest else np.nan,
            value=np.asarray(value, dtype=float),
            structural=variances[:, 0],
            sampling=variances[:, 1],
        )

    @property
    def _honest(self) -> bool:
        return self.measured.draws is not None and self.settings["split"] is not None

    def _unit(self, subgroup: Mapping[str, Any]) -> str:
        side = "higher" if self.question.positive else "lower"
        metric = self.question.criterion.metric
        return f"{self.question.groups.words}, {in_words(subgroup)}: {metric} {side} than expected"

    def _probability(self, masks: tuple[np.ndarray, ...]) -> float:
        draws = disparity_draws(self.measured, masks, self.settings["seed"])
        if draws is None or np.isnan(draws).any():
            return np.nan
        return float(((draws > 0) if self.question.positive else (draws < 0)).mean())

    def _flagged(self) -> tuple[np.ndarray, str]:
        """Return who is flagged, and by which rule: a test or an honest interval, never a score."""
        best = np.arange(len(self.table)) == 0
        if self.p_value is not None:
            alpha, null = self.settings["alpha"], self.settings["null"]
            rule = f"the best subgroup, if its p-value ({null} null, the search included) is at most {alpha:g}"
            return best & (self.p_value <= alpha), f"{rule}; the others are not tested"
        if self._honest:
            return self._by_interval(self.table)
        advice = "split=" if self.measured.counterfactual else "permutations=, or split= with draws="
        return best & False, f"none: a score is no test, and the search is not accounted for without {advice}"

    def _by_interval(self, rows: pd.DataFrame) -> tuple[np.ndarray, str]:
        """Return which subgroups have an interval beyond 0 on the side looked for, and the rule in words."""
        if self.measured.draws is None:
            return np.zeros(len(rows), dtype=bool), "none: without draws= there is no interval"
        side, end = ("above", "credible_low") if self.question.positive else ("below", "credible_high")
        beyond = (rows[end] > 0 if self.question.positive else rows[end] < 0).to_numpy(dtype=bool)
        words = interval_words(self.settings["prob"], self.search_words)
        return beyond, f"its interval ({words}; each subgroup by itself) is {side} 0"

    @property
    def headline(self) -> "pd.Series[float]":
        """The disparity of the best subgroup, by draw; 0 if no subgroup has a positive score.

        A single entry without draws. NaN if nobody of the subgroup is among the people on whom it is measured.
        """
        number = 1 if self.measured.draws is None else self.measured.draws.number
        values: Any = np.zeros(number)
        if self.subgroup is not None:
            values = disparity_draws(self.measured, self.question.masks(self.subgroup), self.settings["seed"])
            values = self.table["disparity"].iloc[:1] if values is None else values
        return headline_of(values, "disparity of the best subgroup")

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the subgroups and their counterparts, with intervals if there are draws."""
        return plot_disparity(self, ax=ax)

    def to_inference_data(self) -> InferenceData:
        """Return the draws of the disparity of each subgroup, and the null scores as constant data."""
        import xarray as xr

        constants: dict[str, Any] = {
            name: ("rank", self.table[name].to_numpy(dtype=float)) for name in ("score", "observed", "comparison")
        }
        if self.null_scores is not None:
            constants["null_scores"] = ("null_draw", self.null_scores)
        coords: dict[str, Any] = {"rank": self.table["rank"].to_numpy()}
        groups = {"constant_data": xr.Dataset(constants, coords)}
        masks = [self.question.masks(subgroup) for subgroup in self.subgroups]
        draws = [disparity_draws(self.measured, one, self.settings["seed"]) for one in masks]
        kept = [draw for draw in draws if draw is not None]
        if kept:
            values = np.stack(kept, axis=-1)[None]
            coords |= {"chain": [0], "draw": np.arange(values.shape[1])}
            groups["posterior"] = xr.Dataset({"disparity": (("chain", "draw", "rank"), values)}, coords)
        return inference_data(**groups)
