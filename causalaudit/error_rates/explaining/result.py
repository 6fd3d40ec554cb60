"""The answers to why error rates are unequal: from a posterior, or from data and a diagram."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.arviz_versions import InferenceData, inference_data
from causalaudit.error_rates.explaining.coupling_bounds import SHARP, TermBounds
from causalaudit.error_rates.explaining.plots import plot_contributions
from causalaudit.error_rates.explaining.terms import TERMS, term_values
from causalaudit.errors import DataError
from causalaudit.intervals import hdi
from causalaudit.results import AuditResult, IntervalKind, headline_of, interval_table, verdict_table
from causalaudit.storage import storable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_QUESTION = ("protected", "baseline", "contrast", "outcome", "y", "yhat")
# Below this a difference of rates is rounding, not a sign.
_ROUNDING = 1e-12


@dataclass(frozen=True, repr=False, eq=False)
class _Answer(AuditResult):
    """What both kinds of answers share.

    Attributes
    ----------
    measures : pandas.DataFrame
        The raw transition measures with their direction: `measure`, `from`, `to`, `given` (the level that the people
        have whom it is about, None if not only one).
    rates : pandas.DataFrame
        The nested counterfactual rates N(xd, xi | x, y) behind everything: `read` (xd, the level that the classifier
        reads), `made_by` (xi, the level that makes the other features), `given` (x).
    """

    measures: pd.DataFrame
    rates: pd.DataFrame
    VALUE: ClassVar[str] = "difference of rates"

    @property
    def title(self) -> str:
        s = self.settings
        rate = f"P({s['yhat']} | {s['outcome']} = {s['y']})"
        return f"{rate} of {s['protected']} = {s['contrast']} minus {s['baseline']}, by {s['method']}"

    def summary(self) -> pd.DataFrame:
        """Return the first decomposition (Theorem 2), a row for each term."""
        return self.table[self.table["decomposition"] == 1].drop(columns="decomposition").set_index("term")

    def beside(self, other: "_Answer") -> pd.DataFrame:
        """Put two answers to the same question into one table.

        Parameters
        ----------
        other
            Another answer: of another population or method, or from another source.

        Returns
        -------
        pandas.DataFrame
            `decomposition`, `term`; then mean and interval of both, named by their method: ``mean_simulate``,
            ``low_simulate``, ``high_simulate``, ``mean_ipw``, ...; and the `difference` of the means, other minus this.
        """
        if not isinstance(other, _Answer):
            raise DataError(f"beside takes another answer about error rates, but was given {type(other).__name__}.")
        for name in _QUESTION:
            if self.settings[name] != other.settings[name]:
                raise DataError(
                    f"The two answers are to different questions: {name} is {self.settings[name]!r} here and "
                    f"{other.settings[name]!r} there."
                )
        names = [self.settings["method"], other.settings["method"]]
        if names[0] == names[1]:
            names = [f"{name}_{place}" for place, name in enumerate(names, start=1)]
        table = self.table[["decomposition", "term"]].copy()
        for name, answer in zip(names, (self, other), strict=True):
            low, high = answer.ends
            table[f"mean_{name}"], table[f"low_{name}"], table[f"high_{name}"] = answer.table["mean"], low, high
        return table.assign(difference=other.table["mean"] - self.table["mean"])

    @property
    @abstractmethod
    def _interval(self) -> IntervalKind:
        """What the intervals of all tables are."""

    @property
    def intervals(self) -> pd.DataFrame:
        """What the intervals are: `kind, level, type, scope, about, known`."""
        return interval_table([self._interval])

    @property
    def ends(self) -> tuple["pd.Series[Any]", "pd.Series[Any]"]:
        """The ends of the intervals of the table."""
        kind = self._interval.kind
        return self.table[f"{kind}_low"], self.table[f"{kind}_high"]

    def _directed(self, values: Any, reverse: Any) -> np.ndarray:
        """Return numbers of the first decomposition for both directions of each term, one after the other."""
        first = (self.table["decomposition"] == 1).to_numpy()
        return np.stack([np.asarray(column, dtype=float)[first] for column in (values, reverse)], axis=1).ravel()

    def _verdicts(self, probability: Any, structural: Any, sampling: Any) -> pd.DataFrame:
        kind, (low, high), mean = self._interval, self.ends, self.table["mean"]
        one, other = self.settings["contrast"], self.settings["baseline"]
        units = [f"{term}: {a} above {b}" for term in TERMS for a, b in ((one, other), (other, one))]
        return verdict_table(
            units,
            self._directed(low, -high) > _ROUNDING,
            rule=f"its {kind.level:.0%} {kind.type} interval ({kind.kind}) lies on the side of the group that is named "
            "first: the term, as this group minus the other, is above 0",
            probability=probability,
            value=self._directed(mean, -mean),
            structural=self._directed(structural, structural),
            sampling=self._directed(sampling, sampling),
        )

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the direct, indirect and spurious contributions with their intervals (first decomposition)."""
        return plot_contributions(self, ax=ax)


@storable
@dataclass(frozen=True, repr=False, eq=False)
class ErrorRateResult(_Answer):
    """Why error rates are unequal, from a posterior.

    Attributes
    ----------
    table : pandas.DataFrame
        `decomposition` (1 to 4, in the order of Theorem 7; the first is Theorem 2), `term` (`total, direct, indirect,
        spurious`, which are additive: the last three sum to the first), `mean, sd, credible_low, credible_high,
        prob_positive`, and `observed_total`: the total that the people of the data have, the same in every row.
    measures, rates : pandas.DataFrame
        The raw transition measures with their direction (`total, direct, indirect, spurious, ett, nde, nie`), and the
        nested rates, with the same columns of numbers.
    draws : numpy.ndarray
        The nested rates by draw, xd, xi and x (baseline, contrast, everybody).
    bounds : TermBounds or None
        With bounds: the least and the greatest value of each term under any coupling, `low` and `high`, draws × rows of
        the table. Their means over draws are `coupling_low, coupling_high` of the table, whose column `coupling_bounds`
        says "sharp" where couplings attain both ends, else "outer" and why.
    observed : pandas.DataFrame
        The error rates of both groups and the total (`rate`), as the `people` of the data have them (`observed`) and as
        the program gives them (`program`, its posterior mean); the `difference`, the `sd` that it would have if the
        program were right, a two-sided `p_value` (Bonferroni for the three), and whether it is `refuted` (at 5 %).
    monte_carlo : pandas.DataFrame or None
        For simulated people: the Monte-Carlo `error` of each term at a single draw, and its `share` of the variance
        before it is taken out. The error of a mean is smaller by the square root of the number of draws.
    """

    draws: np.ndarray
    observed: pd.DataFrame
    monte_carlo: pd.DataFrame | None = None
    bounds: TermBounds | None = None
    KIND: ClassVar[str] = "error rates"
    BOUNDED: ClassVar[str] = "difference of rates"

    @property
    def _interval(self) -> IntervalKind:
        known = "the program, the coupling of its noise, and the classifier"
        drawn = self.settings["method"] in ("standardise", "bootstrap")
        about = "the population that the people are a sample of" if drawn else "the population of the program"
        return IntervalKind("credible", self.settings["prob"], "credible", "one unit", about, known)

    @property
    def intervals(self) -> pd.DataFrame:
        """What the intervals are: `kind, level, type, scope, about, known`."""
        kinds = [self._interval]
        if self.bounds is not None:
            drawn = self.settings["method"] in ("standardise", "bootstrap")
            whose = "these people" if drawn else "the population of the program"
            about = f"{whose}: the posterior mean of the term under any coupling of the worlds"
            known = "the probabilities of the program at each draw, and the classifier"
            sharp = all(kind == SHARP for kind in self.bounds.kinds)
            kinds.append(IntervalKind("coupling", 1.0, "sharp" if sharp else "outer", "one unit", about, known))
        return interval_table(kinds)

    def by_unit(self, beside: Sequence[AuditResult] = ()) -> pd.DataFrame:
        """Return the verdicts for a comparison, with bounds if they were asked for; see `AuditResult.by_unit`."""
        units = super().by_unit(beside)
        if self.bounds is None:
            return units
        low, high = self.table["coupling_low"], self.table["coupling_high"]
        return units.assign(coupling_low=self._directed(low, -high), coupling_high=self._directed(high, -low))

    @property
    def verdicts(self) -> pd.DataFrame:
        """Both directions of each term of the first decomposition, each flagged by its interval.

        `structural` is the variance over draws; `sampling` the Monte-Carlo variance within draws, 0 where people are
        enumerated. Of the people of the data (standardise, bootstrap) the two cannot be told apart: all is in the
        first.
        """
        values = term_values(self.draws)
        probability = self._directed((values > _ROUNDING).mean(axis=0), (values < -_ROUNDING).mean(axis=0))
        within = np.full(len(self.table), 0.0 if self.settings["method"] == "exact" else np.nan)
        sampling = within if self.monte_carlo is None else self.monte_carlo["error"] ** 2
        number = len(values)
        structural = self.table["sd"] ** 2 * (number - min(1, number - 1)) / number  # variances of a population add up
        return self._verdicts(probability, structural, sampling)

    @property
    def headline(self) -> "pd.Series[float]":
        """The total at each draw: the error rate of the contrast level minus that of the baseline."""
        return headline_of(term_values(self.draws)[:, 0], "total")

    def to_inference_data(self) -> InferenceData:
        """Return the nested rates and the additive terms at every draw."""
        s = self.settings
        levels = [str(s["baseline"]), str(s["contrast"])]
        terms = term_values(self.draws).reshape(1, len(self.draws), -1, len(TERMS))
        variables = {
            "rate": (("chain", "draw", "read", "made_by", "given"), self.draws[None]),
            "contribution": (("chain", "draw", "decomposition", "term"), terms),
        }
        coords = {
            "chain": [0],
            "draw": np.arange(len(self.draws)),
            "read": levels,
            "made_by": levels,
            "given": [*levels, "everybody"],
            "decomposition": [1, 2, 3, 4],
            "term": list(TERMS),
        }
        return inference_data(posterior=xr.Dataset(variables, coords))


@storable
@dataclass(frozen=True, repr=False, eq=False)
class ErrorRateEstimate(_Answer):
    """Why error rates are unequal, from data and a diagram.

    Attributes
    ----------
    table : pandas.DataFrame
        `decomposition`, `term` (additive, as in `ErrorRateResult`), `mean` (the estimate), `sd` (its standard error),
        `wald_low, wald_high` or `bootstrap_low, bootstrap_high`, and `identified`: where that is False the diagram does
        not identify the term, and the numbers are NaN.
    measures, rates : pandas.DataFrame
        The raw transition measures with their direction, and the nested rates, with the same columns of numbers.
    explaining_set : frozenset or None
        What was adjusted for; None if nothing explains, so that only some terms are identified.
    weights : pandas.DataFrame
        What the weights are like: for those who have the level `of` and stand for those with the level
        `standing_for`: `people`, `effective_people`, `largest_weight` (mean 1), `smallest_propensity`. No rows where
        nobody stands for anybody: nothing that the classifier reads descends from the protected attribute or the
        outcome (no model is used, `settings["propensity"]` is None), or nothing explains (`explaining_set` is None).
    balance : pandas.DataFrame
        How far the covariates of the two levels are apart, before and after weighting: `of, standing_for, covariate,
        before, after, chance, poor`. No rows where there are none of `weights`.
    trimmed : int
        How many people were left out because one of the two levels is too rare among people like them.
    draws : numpy.ndarray or None
        With bootstrap intervals: the nested rates by draw, xd, xi and x.
    """

    explaining_set: frozenset[str] | None
    weights: pd.DataFrame
    balance: pd.DataFrame
    trimmed: int = 0
    draws: np.ndarray | None = None
    KIND: ClassVar[str] = "error rate estimate"

    @property
    def _interval(self) -> IntervalKind:
        known = f"the diagram and the classifier{self._models}" + (", and who was left out" if self.trimmed else "")
        about = "the population that the people are a sample of"
        return IntervalKind(
            self.settings["interval"], 1 - self.settings["alpha"], "confidence", "one unit", about, known
        )

    @property
    def _models(self) -> str:
        """What is taken as known of the models of the propensity and of the expectation."""
        method, form = self.settings["method"], self.settings["propensity"]
        if form in (None, "saturated"):
            return ""
        if method == "doubly_robust":
            return ", and that the product of the errors of the two models is small (either may be wrong)"
        return f", and that the {form} regression of the {'level' if method == 'ipw' else 'answers'} is right"

    @property
    def verdicts(self) -> pd.DataFrame:
        """Both directions of each term of the first decomposition, each flagged by its interval.

        A term that the diagram does not identify is never flagged. `sampling` is the squared standard error; there are
        no draws of a posterior, so that `probability` and `structural` are NaN.
        """
        return self._verdicts(np.nan, np.full(len(self.table), np.nan), self.table["sd"] ** 2)

    @property
    def headline(self) -> "pd.Series[float]":
        """The total: the estimate or, with bootstrap intervals, at each set of weights."""
        values = self.table["mean"][0] if self.draws is None else term_values(self.draws)[:, 0]
        return headline_of(values, "total")

    def to_inference_data(self) -> InferenceData:
        """Return the estimates as constant data and, with bootstrap intervals, the nested rates at every draw."""
        shape, dims, low = (4, len(TERMS)), ("decomposition", "term"), f"{self.settings['interval']}_low"
        constants = xr.Dataset(
            {
                name: (dims, self.table[name].to_numpy().reshape(shape))
                for name in ("mean", "sd", low, low[:-3] + "high")
            },
            {"decomposition": [1, 2, 3, 4], "term": list(TERMS)},
        )
        if self.draws is None:
            return inference_data(constant_data=constants)
        levels = [str(self.settings["baseline"]), str(self.settings["contrast"])]
        names = ("chain", "draw", "read", "made_by", "given")
        coords = {"chain": [0], "draw": np.arange(len(self.draws)), **dict.fromkeys(names[2:], levels)}
        return inference_data(
            posterior=xr.Dataset({"rate": (names, self.draws[None])}, coords), constant_data=constants
        )


def summarise(values: np.ndarray, prob: float) -> pd.DataFrame:
    """Return mean, standard deviation, highest-density interval and P(> 0) of draws (first axis), a row each."""
    low, high = hdi(values, prob)
    return pd.DataFrame(
        {
            "mean": values.mean(axis=0),
            "sd": values.std(axis=0, ddof=min(1, len(values) - 1)),
            "credible_low": low,
            "credible_high": high,
            "prob_positive": (values > _ROUNDING).mean(axis=0),
        }
    )
