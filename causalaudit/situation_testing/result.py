"""The answer of a situation test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.arguments import check_share, check_types
from causalaudit.arviz_versions import InferenceData, inference_data
from causalaudit.errors import DataError
from causalaudit.results import AuditResult, IntervalKind, headline_of, interval_table, verdict_table
from causalaudit.situation_testing.discovery import UNCERTAINTIES, listed_error, prob_in_population
from causalaudit.situation_testing.evidence import SituationEvidence
from causalaudit.situation_testing.explanation import explain
from causalaudit.situation_testing.group_comparison import COUNTS, excluded_by_newcombe
from causalaudit.situation_testing.question import SituationQuestion
from causalaudit.situation_testing.summary import count_cases
from causalaudit.storage import storable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Complaint(NamedTuple):
    """The unit of a verdict: who complains, as a member of which group, of discrimination in which direction."""

    complainant: Any
    group: str
    direction: str

    def __str__(self) -> str:
        return f"{self.complainant} ({self.group}, {self.direction} discrimination)"


@storable
@dataclass(frozen=True, repr=False, eq=False)
class SituationTestingResult(AuditResult):
    """How people like each complainant fare, against people like her counterfactual.

    Attributes
    ----------
    table : pandas.DataFrame
        Indexed by `k` and `complainant`. `rejected`: whether the decision on the complainant herself is unfavourable.
        At the point counterfactual: `p_control, p_test` (shares of unfavourable decisions), `delta`, `wald_low,
        wald_high` (one-sided), `wald2_low, wald2_high` (two-sided), `newcombe_low, newcombe_high`, `beyond_tau` (the
        papers' case), `significant` (by Wald's one-sided bound),
        `significant_adjusted` (the same, adjusted over all complainants), where the decision on the counterfactual is
        known `cf_flip`, `distance_control, distance_test` (of the farthest member of each group), and
        `remoteness_control, remoteness_test` (the mean distance of its members from its centre, in units of the mean
        distance of two people). With draws:
        `delta_mean, structural_low, structural_high, prob_beyond_tau, population_low, population_high`, and
        `prob_cf_flip`. `prob_population`: the probability that the rejection rates inside the two neighbourhoods differ
        beyond tau, over the draws if there are any. With bounds: `coupling_low, coupling_high`, between which the
        probability of a delta beyond tau lies under any coupling of the worlds.
    settings : dict
        What was asked for.
    question : SituationQuestion
        The same, as it was read.
    evidence : SituationEvidence
        Both groups of every complainant, and the counts in them.
    draw_cases : numpy.ndarray or None
        The number of cases, by k and draw.

    Notes
    -----
    Three kinds of interval answer three questions; `intervals` lists them. *Wald* and *Newcombe* take the
    counterfactual as known, and the two groups as samples. *Structural* intervals are about delta among the people of
    these data, uncertain only in where the counterfactual lies. *Population* intervals are about the difference of
    rejection rates in the population inside the two neighbourhoods (out to the k+1-th neighbour). None estimates the
    rate exactly at the person.
    """

    question: SituationQuestion
    evidence: SituationEvidence
    draw_cases: np.ndarray | None = None
    KIND: ClassVar[str] = "situation testing"
    VALUE: ClassVar[str] = "delta"
    BOUNDED: ClassVar[str] = "probability"

    @property
    def title(self) -> str:
        method = "Situation testing" if self.evidence.counterfactual is None else "Counterfactual situation testing"
        return f"{method} of {self.question.groups.words}, {self.question.direction} discrimination"

    @property
    def counts(self) -> pd.DataFrame:
        """The sizes of both groups and the rejections in them, with the index of the table."""
        return self.evidence.counts

    def summary(self) -> pd.DataFrame:
        """Count the cases, as the tables of the papers do, a row for each `k`.

        Returns
        -------
        pandas.DataFrame
            `complainants, cases, significant_cases` and, where the decision on the counterfactual is known, `cf_cases,
            cf_significant_cases`, all as in the papers. Beside them `rejected_cases`, who were themselves rejected;
            `adjusted_cases`, still significant when corrected for the number of complainants (the counterfactual taken
            as known); `discoveries` and `posterior_discoveries`, the lists of `discoveries` at the rate `alpha` by its
            two corrections, which take all uncertainty that the test knows of. With draws the posterior number of
            cases: `expected_cases, expected_low, expected_high`, the interval having the probability `prob`.
        """
        return count_cases(self.table, self.draw_cases, self.question.prob, self.question.alpha)

    @property
    def intervals(self) -> pd.DataFrame:
        confidence, prob = 1 - self.question.alpha, self.question.prob
        samples = "the point counterfactual" if self.evidence.counterfactual is not None else "whom to compare with"
        known = f"{samples}, and that members of a group are decided alike and independently"
        rates = "the neighbourhood: the rates behind the decisions of the two groups"
        kinds = [
            IntervalKind("wald", confidence, "confidence", "one unit", rates, f"{known}; one-sided"),
            IntervalKind("wald2", confidence, "confidence", "one unit", rates, f"{known}; two-sided"),
            IntervalKind("newcombe", confidence, "confidence", "one unit", rates, f"{known}; two-sided"),
        ]
        if self.evidence.draws is not None:
            these = "these people: delta between the groups that they form"
            there = "the population: the rejection rates inside the two neighbourhoods"
            kinds += [
                IntervalKind("structural", prob, "credible", "one unit", these, "the decisions, and the program"),
                IntervalKind("population", prob, "credible", "one unit", there, "the program"),
            ]
        if self.evidence.bounds is not None:
            about = f"these people: the probability that {self.question.case}, under any coupling of the worlds"
            known = "the decisions, and the probabilities of the program, over whose draws it is averaged"
            kinds.append(IntervalKind("coupling", 1.0, self.evidence.bounds.kind, "one unit", about, known))
        return interval_table(kinds)

    @property
    def verdicts(self) -> pd.DataFrame:
        """A row for each complainant at the smallest k, the unit being a `Complaint`; see `AuditResult.verdicts`."""
        table, draws = self.at(), self.evidence.draws
        structural, sampling = (np.nan, np.nan) if draws is None else draws.variances(0)
        alpha, tau = self.question.alpha, self.question.tau
        return verdict_table(
            self.complaints(table.index),
            table["significant_adjusted"].to_numpy() & excluded_by_newcombe(table, self.question),
            rule=(
                f"{self.question.case} in Wald's one-sided test, adjusted over all complainants (false-discovery rate "
                f"{alpha:g}), and Newcombe's {1 - alpha:.0%} interval excludes {tau:g}; k = {self.size()}"
            ),
            probability=table.get("prob_beyond_tau", np.nan),
            value=table["delta"],
            structural=structural,
            sampling=sampling,
        )

    def by_unit(self, beside: Sequence[AuditResult] = ()) -> pd.DataFrame:
        """Return the verdicts with `case` (the papers' case) and `mean` (of delta); see `AuditResult.by_unit`."""
        table = self.at()
        mean = table.get("delta_mean", table["delta"]).to_numpy()
        bounds = {name: table[name].to_numpy() for name in ("coupling_low", "coupling_high") if name in table}
        return self.verdicts.assign(case=table["beyond_tau"].to_numpy(), mean=mean, **bounds)

    def complaints(self, complainants: "pd.Index[Any]") -> list[Complaint]:
        """Return the units of the verdicts on some complainants."""
        return [Complaint(who, self.question.groups.words, self.question.direction) for who in complainants.tolist()]

    @property
    def headline(self) -> "pd.Series[float]":
        cases = self.at()["beyond_tau"].sum() if self.draw_cases is None else self.draw_cases[0]
        return headline_of(cases, f"cases at k = {self.size()}")

    def at(self, k: int | None = None) -> pd.DataFrame:
        """Return the table at one k (default: the smallest), indexed by complainant."""
        return self.table.loc[[self.size(k)]].droplevel("k")

    def size(self, k: int | None = None) -> int:
        """Return `k` if it was asked for; the smallest if it is None."""
        check_types(SituationTestingResult.size, locals())
        if k is None:
            return self.question.sizes[0]
        if k not in self.question.sizes:
            raise DataError(f"k is {k!r}, but the test was made for {', '.join(map(str, self.question.sizes))}.")
        return k

    def explain(self, complainant: Any, k: int | None = None) -> pd.DataFrame:
        """Show a complainant and her counterfactual, and below them their groups, side by side.

        Parameters
        ----------
        complainant
            Her label in the index of the data.
        k
            The size of the groups; default the smallest that was asked for.

        Returns
        -------
        pandas.DataFrame
            Columns `control` and `test`, each with the person, the features, the decision (1 favourable, 0 not) and the
            distance from the centre; the first row, 0, is the centre itself, followed by the neighbours, nearest first.
            Without counterfactuals both centres are the complainant. Where a feature is called `person`, `decision` or
            `distance`, our column of that name ends in an underscore.
        """
        return explain(self.evidence, complainant, self.size(k))

    def false_discovery_rate(self, k: int | None = None, uncertainty: str = "both") -> float:
        """Return the posterior expected share of false ones among those with a delta beyond tau; NaN if there are none.

        Beyond tau, that is, at the point counterfactual. `uncertainty` is that of `discoveries`.
        """
        check_types(SituationTestingResult.false_discovery_rate, locals())
        return float(self._doubts(k, uncertainty)[self.at(k)["beyond_tau"].to_numpy()].mean())

    def discoveries(
        self,
        rate: float = 0.1,
        k: int | None = None,
        *,
        uncertainty: str = "both",
        correction: str = "benjamini-hochberg",
    ) -> pd.DataFrame:
        """Return the longest list of the least doubtful cases with a false-discovery rate of `rate`.

        Parameters
        ----------
        rate
            The expected share of false ones on the list.
        k
            The size of the groups; default the smallest that was asked for.
        uncertainty
            What makes a discovery doubtful. "both": where the counterfactual lies, and that the groups are samples; a
            false one is a complainant for whom the rejection rates inside the two neighbourhoods do not differ beyond
            tau (`prob_population`). "people": the same at the point counterfactual, and in a test without
            counterfactuals. "counterfactual": a false one has no delta beyond tau among the people of these data,
            however small the difference (`prob_beyond_tau`).
        correction
            "benjamini-hochberg": a doubt is taken for a p-value, and the rate holds also where nobody is treated
            differently. "posterior": the expected rate given the data, under priors by which rates never quite agree; a
            longer list, which where nobody is treated differently holds some people all the same.

        Returns
        -------
        pandas.DataFrame
            Rows of the table, least doubtful first, with `listed_error` (the rate of the shortest list that holds the
            person; people of equal doubt are on the same lists) and `uncertainty` (which it takes).
        """
        check_types(SituationTestingResult.discoveries, locals())
        check_share("rate", rate)
        doubts, table = self._doubts(k, uncertainty), self.at(k)
        errors = listed_error(doubts, table["beyond_tau"].to_numpy(), correction)
        order = np.argsort(doubts, kind="stable")
        listed = table.assign(listed_error=errors, uncertainty=uncertainty).iloc[order]
        return listed[listed["listed_error"] <= rate + 1e-12]

    def _doubts(self, k: int | None, uncertainty: str) -> np.ndarray:
        """Return the probability of each complainant to be a false discovery."""
        if uncertainty not in UNCERTAINTIES:
            known = ", ".join(map(repr, UNCERTAINTIES))
            raise DataError(f"uncertainty is {uncertainty!r}, but must be one of {known}.")
        if uncertainty == "people":
            counts = self.counts.loc[self.size(k)]
            return 1 - prob_in_population([counts[name].to_numpy() for name in COUNTS], self.question)
        if self.evidence.draws is None:
            raise DataError(
                "Probabilities need several counterfactual draws: give counterfactuals of a posterior, or ask with "
                "uncertainty='people'."
            )
        name = "prob_population" if uncertainty == "both" else "prob_beyond_tau"
        return 1 - self.at(k)[name].to_numpy()

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the cases against k if there are several, else complainants with their intervals."""
        from causalaudit.situation_testing.plots import plot_cases, plot_forest  # heavy: only those who draw pay

        return plot_cases(self, ax=ax) if len(self.question.sizes) > 1 else plot_forest(self, ax=ax)

    def to_inference_data(self) -> InferenceData:
        """Return delta at every draw, k and complainant, beside the table as constant data."""
        labels = self.evidence.complainants.to_numpy()
        coords = {"k": list(self.question.sizes), "complainant": labels}
        shape = (len(self.question.sizes), len(labels))
        constants = xr.Dataset(
            {
                name: (("k", "complainant"), self.table[name].to_numpy().reshape(shape))
                for name in ("p_control", "p_test", "delta", "beyond_tau", "significant", "significant_adjusted")
            },
            coords,
        )
        counts = self.evidence.draws
        if counts is None:
            return inference_data(constant_data=constants)
        delta = np.stack([counts.delta(place) for place in range(shape[0])], axis=1)
        draws = xr.Dataset(
            {"delta": (("chain", "draw", "k", "complainant"), delta[None])},
            {"chain": [0], "draw": np.arange(len(delta)), **coords},
        )
        return inference_data(posterior=draws, constant_data=constants)
