"""The answer of a situation test."""

from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.errors import DataError
from causalaudit.intervals import shortest_run
from causalaudit.results import AuditResult
from causalaudit.situation_testing.explanation import explain
from causalaudit.situation_testing.plots import plot_cases, plot_forest
from causalaudit.situation_testing.posterior import DrawCounts
from causalaudit.situation_testing.question import Question
from causalaudit.situation_testing.search import Search


@dataclass(frozen=True, repr=False, eq=False)
class SituationTestingResult(AuditResult):
    """Who was discriminated, by situation testing.

    Attributes
    ----------
    table : pandas.DataFrame
        Indexed by `k` and `complainant`. At the point counterfactual: `p_control, p_test` (shares of unfavourable
        decisions), `delta`, `ci_low, ci_high` (one-sided Wald), `ci2_low, ci2_high` (two-sided), `newcombe_low,
        newcombe_high`, `discriminated, significant`, and, where the decision on the counterfactual is known, `cf_flip`.
        With draws: `delta_mean, structural_low, structural_high, prob_discriminated`, `hdi_low, hdi_high`, and
        `prob_cf_flip`.
    counts : pandas.DataFrame
        The sizes of both groups and the rejections in them, with the same index.
    settings : dict
        What was asked for.

    Notes
    -----
    Three kinds of interval answer three questions. *Wald* and *Newcombe* take the counterfactual as known, and the two
    groups as samples. *Structural* intervals are about delta among the people of these data, uncertain only in where
    the counterfactual lies. *hdi* is about the difference of rejection rates in the population inside the two
    neighbourhoods (out to the k+1-th neighbour). None estimates the rate exactly at the person.
    """

    counts: pd.DataFrame
    question: Question
    search: Search
    draw_counts: DrawCounts | None = None
    draw_cases: np.ndarray | None = None

    @property
    def title(self) -> str:
        method = "Situation testing" if self.counterfactuals is None else "Counterfactual situation testing"
        ((column, level),) = self.settings["protected"].items()
        return f"{method} of {column} = {level}, {self.settings['direction']} discrimination"

    @property
    def counterfactuals(self) -> CounterfactualDraws | None:
        """The counterfactuals, if there were any."""
        return None if self.search.centres is None else self.search.centres.worlds

    def summary(self) -> pd.DataFrame:
        """Count the cases, as the tables of the papers do, a row for each `k`.

        Returns
        -------
        pandas.DataFrame
            `complainants, cases, significant_cases`; `cf_cases, cf_significant_cases` where the decision on the
            counterfactual is known; with draws the posterior number of cases: `expected_cases, expected_low,
            expected_high`, the interval having the probability `prob`.
        """
        rows = self.table.groupby(level="k")
        columns = {
            "complainants": rows.size(),
            "cases": rows["discriminated"].sum(),
            "significant_cases": rows["significant"].sum(),
        }
        if "cf_flip" in self.table:
            columns["cf_cases"] = rows["cf_flip"].sum()
            both = self.table["cf_flip"] & self.table["significant"]
            columns["cf_significant_cases"] = both.groupby(level="k").sum()
        summary = pd.DataFrame(columns)
        if self.draw_cases is not None:
            ends = shortest_run(self.draw_cases.T, self.question.prob)
            summary["expected_cases"] = self.draw_cases.mean(axis=1)
            summary["expected_low"], summary["expected_high"] = ends
        return summary

    def at(self, k: int | None = None) -> pd.DataFrame:
        """Return the table at one k (default: the smallest), indexed by complainant."""
        return self.table.loc[[self.size(k)]].droplevel("k")

    def size(self, k: int | None = None) -> int:
        """Return `k` if it was asked for; the smallest if it is None."""
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
            Without counterfactuals both centres are the complainant.
        """
        return explain(self.search, complainant, self.size(k))

    def false_discovery_rate(self, k: int | None = None) -> float:
        """Return the posterior expected share of people among the flagged who are no cases.

        Flagged is who is discriminated at the point counterfactual; NaN if nobody is.
        """
        table = self._with_draws(k)
        return float(1 - table.loc[table["discriminated"], "prob_discriminated"].mean())

    def discoveries(self, rate: float = 0.1, k: int | None = None) -> pd.DataFrame:
        """Return the longest list of most probable cases with a posterior expected false-discovery rate of `rate`.

        People with the same probability are all on the list, or none of them.

        Returns
        -------
        pandas.DataFrame
            Rows of the table, most probable first.
        """
        if not 0 < rate < 1:
            raise DataError(f"rate is {rate!r}, but must be a number between 0 and 1.")
        table = self._with_draws(k).sort_values("prob_discriminated", ascending=False, kind="stable")
        chance = table["prob_discriminated"].to_numpy()
        false = np.cumsum(1 - chance) / np.arange(1, len(chance) + 1)
        last = np.append(np.diff(chance) != 0, True)
        ends = np.flatnonzero(last & (false <= rate + 1e-12))
        return table.iloc[: ends[-1] + 1 if len(ends) else 0]

    def _with_draws(self, k: int | None) -> pd.DataFrame:
        if self.draw_counts is None:
            raise DataError("Probabilities need several counterfactual draws: give counterfactuals of a posterior.")
        return self.at(k)

    @property
    def verdicts(self) -> pd.DataFrame:
        table = self.at()
        known = "prob_discriminated" in table
        return pd.DataFrame(
            {
                "unit": table.index,
                "flagged": table["discriminated"].to_numpy(),
                "probability": table["prob_discriminated"].to_numpy() if known else np.nan,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the cases against k if there are several, else complainants with their intervals."""
        return plot_cases(self, ax=ax) if len(self.question.sizes) > 1 else plot_forest(self, ax=ax)

    def to_inference_data(self) -> az.InferenceData:
        """Return delta at every draw, k and complainant, beside the table as constant data."""
        labels = self.search.complainants.to_numpy()
        coords = {"k": list(self.question.sizes), "complainant": labels}
        shape = (len(self.question.sizes), len(labels))
        constants = xr.Dataset(
            {
                str(name): (("k", "complainant"), self.table[name].to_numpy().reshape(shape))
                for name in ("p_control", "p_test", "delta", "discriminated", "significant")
            },
            coords,
        )
        if self.draw_counts is None:
            return az.InferenceData(constant_data=constants)
        delta = np.stack([self.draw_counts.delta(place) for place in range(shape[0])], axis=1)
        draws = xr.Dataset(
            {"delta": (("chain", "draw", "k", "complainant"), delta[None])},
            {"chain": [0], "draw": np.arange(len(delta)), **coords},
        )
        return az.InferenceData(posterior=draws, constant_data=constants)
