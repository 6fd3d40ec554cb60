"""The answer of an audit of recourse."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.arguments import check_count, check_types
from causalaudit.arviz_versions import InferenceData, inference_data
from causalaudit.errors import DataError
from causalaudit.recourse.causal.draw_counts import RecourseByDraw
from causalaudit.recourse.causal.twins import TwinComparison
from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.notions.notion import TITLES, Notion, fair_below
from causalaudit.recourse.question.coding import Vocabulary
from causalaudit.recourse.question.items import in_words
from causalaudit.recourse.result.comparison import Comparison
from causalaudit.recourse.result.judgement import explain_intervals, judge, mean_gap
from causalaudit.results import VERDICT_COLUMNS, AuditResult
from causalaudit.storage import storable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@storable
@dataclass(frozen=True, repr=False, eq=False)
class RecourseResult(AuditResult):
    """How unequal recourse is for the two groups, in every subgroup and by every notion.

    Group 0 is the reference (a level, or "everyone else"), group 1 the protected level; of a bare column they are its
    first and its second level.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each notion and subgroup: `subgroup` (feature → value), `metric`, `parameter` (φ or the budget, else
        NaN), `viewpoint` (micro: people choose for themselves; macro: one action for all), `score`, `bias_against` (a
        group; None: neither), `rank` (dense, 1 the most unfair), `simultaneous_low, simultaneous_high` (NaN with too
        few draws, of which a warning tells), `credible_low, credible_high` (NaN without a posterior), `n0, n1`
        (affected people of the two groups). A subgroup says of a feature that it has a value or, with thresholds, that
        it is `AtLeast` or `AtMost` one.
    values : pandas.DataFrame
        Row by row of the table: `value0, value1` (what the score compares: shares, numbers of actions or costs).
    settings : dict
        What was asked for, with the budgets and the number of subgroups that were mined and searched.
    notions
        In the order of the table.
    vocabulary, candidates, affected
        What codes mean; the subgroups with their actions and counts; the affected people of the two groups.
    draws
        With a posterior: the counts in every draw.
    twins
        With a posterior: what asks the classifier about twins. It is not saved.

    Notes
    -----
    Simultaneous intervals are about how much worse off the group in `bias_against` is in the population that the people
    are a sample of, the mined subgroups and actions held fixed; a negative end means that it may be the other way
    round. They hold for all subgroups of the search at once, at the level `alpha`, and with a posterior join the
    uncertainty of its parameters. With a split the people are those who were not searched, and what was mined among
    others needs not be held fixed. See `intervals`.
    """

    KIND: ClassVar[str] = "recourse"
    VALUE: ClassVar[str] = "disadvantage"

    values: pd.DataFrame
    notions: tuple[Notion, ...]
    vocabulary: Vocabulary
    candidates: Candidates
    affected: tuple[int, int]
    draws: RecourseByDraw | None = None
    twins: TwinComparison | None = None

    @property
    def title(self) -> str:
        reference, level = self.groups
        number = f"{len(self.candidates):,} subgroups"
        return f"Recourse of {self.vocabulary.protected} = {level} against {reference}, {number}"

    @property
    def groups(self) -> tuple[Any, Any]:
        """The two groups that are compared: the reference, and the protected level."""
        return self.vocabulary.groups

    @cached_property
    def labels(self) -> list[str]:
        """The subgroups in words, in their order."""
        return [in_words(predicate) for predicate in self.table["subgroup"].iloc[: len(self.candidates)]]

    def by_notion(self) -> Iterator[pd.DataFrame]:
        """Yield the rows of each notion, subgroups always in the same order."""
        number = len(self.candidates)
        return (self.table.iloc[place * number : (place + 1) * number] for place in range(len(self.notions)))

    def summary(self) -> pd.DataFrame:
        """Return a row for each notion.

        Returns
        -------
        pandas.DataFrame
            `metric, parameter, viewpoint`; `unfair`: subgroups with a score; `simultaneous_above_0`: those whose
            simultaneous interval is above 0; for each group the unfair subgroups biased against it; `largest`: the
            largest score. With a posterior also `prob_first`: the probability that the first place is right.
        """
        rows = []
        for notion, part in zip(self.notions, self.by_notion(), strict=True):
            row = {"metric": notion.metric, "parameter": notion.parameter, "viewpoint": notion.viewpoint}
            row |= {"unfair": int((part["score"] > 0).sum())}
            row |= {"simultaneous_above_0": int((part["simultaneous_low"] > 0).sum())}
            row |= {f"against {level}": int((part["bias_against"] == level).sum()) for level in self.groups}
            row |= {"largest": float(part["score"].max())}
            if self.draws is not None:
                first = self.draws.probabilities(notion, 0.0)["prob_first"].to_numpy()
                row |= {"prob_first": float(first[(part["rank"] == 1).to_numpy()].max())}
            rows.append(row)
        return pd.DataFrame(rows)

    def top(
        self, metric: str, n: int = 10, *, parameter: float | None = None, viewpoint: str | None = None
    ) -> pd.DataFrame:
        """Return the most unfair subgroups by one notion.

        Parameters
        ----------
        metric
            The notion.
        n
            How many subgroups.
        parameter
            φ or the budget; default the first that was asked for.
        viewpoint
            "micro" or "macro"; default micro where there are both.

        Returns
        -------
        pandas.DataFrame
            Rows of the table by rank; of equal rank, those with more people first.
        """
        check_types(RecourseResult.top, locals())
        check_count("n", n)
        part = self.rows(self.notion(metric, parameter, viewpoint))
        people = part["n0"] + part["n1"]
        return part.iloc[np.lexsort([-people, part["rank"]])].head(n)

    def rows(self, notion: Notion) -> pd.DataFrame:
        """Return the rows of a notion."""
        start = self.notions.index(notion) * len(self.candidates)
        return self.table.iloc[start : start + len(self.candidates)]

    def notion(self, metric: str, parameter: float | None = None, viewpoint: str | None = None) -> Notion:
        """Return the notion that is named, or the first one."""
        check_types(RecourseResult.notion, locals())
        named = [notion for notion in self.notions if notion.metric == metric]
        if not named:
            asked = dict.fromkeys(notion.metric for notion in self.notions)
            more = " It needs no_recourse_cost." if metric == "mean_recourse" else ""
            raise DataError(f"There is no metric {metric!r}; there are {', '.join(map(repr, asked))}.{more}")
        for name, value in (("parameter", parameter), ("viewpoint", viewpoint)):
            left = [notion for notion in named if value is None or getattr(notion, name) == value]
            if not left:
                known = dict.fromkeys(getattr(notion, name) for notion in named)
                raise DataError(f"{metric!r} has no {name} {value!r}; there are {', '.join(map(repr, known))}.")
            named = left
        return named[0]

    def place(self, subgroup: Mapping[str, Any]) -> int:
        """Return the position of a subgroup, given as feature → value."""
        check_types(RecourseResult.place, locals())
        codes = self.vocabulary.codes(subgroup)
        found = np.flatnonzero((self.candidates.subgroups == codes).all(axis=1))
        if not len(found):
            raise DataError(
                f"{dict(subgroup)} is not among the {len(self.candidates):,} subgroups: it is too rare in one of the "
                "groups, or no action is valid for it."
            )
        return int(found[0])

    def explain(
        self,
        subgroup: Mapping[str, Any],
        metric: str | None = None,
        *,
        parameter: float | None = None,
        viewpoint: str | None = None,
    ) -> Comparison:
        """Compare what helps the two groups of a subgroup: a comparative subgroup counterfactual (CSC, section 3).

        Parameters
        ----------
        subgroup
            Feature → value, as in the table.
        metric, parameter, viewpoint
            The notion, as in `top`; default the one by which the subgroup ranks first, as in the paper.

        Returns
        -------
        Comparison
            With the text of figures 2 to 7, an HTML form, and the actions as a table.
        """
        check_types(RecourseResult.explain, locals())
        place = self.place(subgroup)
        if metric is None:
            rows = self.table.iloc[place :: len(self.candidates)]
            notion = self.notions[int(np.argmin(np.where(rows["score"] > 0, rows["rank"], np.inf)))]
        else:
            notion = self.notion(metric, parameter, viewpoint)
        row = self.rows(notion).iloc[place]
        sizes = self.candidates.sizes[:, place]
        return Comparison(
            row["subgroup"], self.groups, (int(sizes[0]), int(sizes[1])),
            (float(sizes[0] / self.affected[0]), float(sizes[1] / self.affected[1])), self.actions(subgroup), notion,
            float(row["score"]), row["bias_against"], tuple(self._notes(notion, row, place)),
        )  # fmt: skip

    def _notes(self, notion: Notion, row: "pd.Series[Any]", place: int) -> Iterator[str]:
        if not np.isnan(row["simultaneous_low"]):
            yield (
                f"{1 - self.settings['alpha']:.0%} interval, for all {len(self.candidates):,} subgroups at once: "
                f"{row['simultaneous_low']:.4g} to {row['simultaneous_high']:.4g}."
            )
        if not np.isnan(row["credible_low"]):
            ends = f"{row['credible_low']:.4g} to {row['credible_high']:.4g}"
            yield f"{self.settings['prob']:.0%} credible interval: {ends}."
        if notion.metric == "effectiveness_cost_tradeoff":
            bound = fair_below(self.candidates.sizes[:, [place]], self.settings["alpha"])[0]
            yield f"Fair with confidence {self.settings['alpha']:g}, this subgroup taken alone, below {bound:.4g}."

    def actions(self, subgroup: Mapping[str, Any]) -> pd.DataFrame:
        """Return the valid actions of a subgroup, the cheapest first.

        Returns
        -------
        pandas.DataFrame
            `action` (what changes: feature → value), `cost`, `flipped0, flipped1` (people to whom it gives recourse),
            `effectiveness0, effectiveness1` (their shares), `together0, together1` (shares to whom it or an action
            before it gives recourse).
        """
        check_types(RecourseResult.actions, locals())
        place = self.place(subgroup)
        pairs, before = self.candidates.pairs(place), self.candidates.subgroups[place]
        changes = [np.where(codes == before, -1, codes) for codes in self.candidates.actions[pairs]]
        table = pd.DataFrame({"action": [self.vocabulary.predicate(change) for change in changes]})
        table["cost"] = self.candidates.costs[pairs]
        flipped, reached = self.candidates.flipped[:, pairs], self.candidates.reached[:, pairs]
        sizes = self.candidates.sizes[:, place]
        for group in (0, 1):
            table[f"flipped{group}"] = flipped[group]
            table[f"effectiveness{group}"] = flipped[group] / sizes[group]
            table[f"together{group}"] = reached[group] / sizes[group]
        return table

    def probabilities(self, tolerance: float = 0.0) -> pd.DataFrame:
        """Return how sure the posterior is of each row of the table.

        Parameters
        ----------
        tolerance
            How much worse off a group may be, in the units of the score.

        Returns
        -------
        pandas.DataFrame
            Row by row of the table: `prob_against0, prob_against1`, of the reference and of the protected group being
            worse off by more than `tolerance`; `prob_unfair`, of that for the group in `bias_against` (the larger of
            the two where there is none); `prob_first`, of the subgroup having the largest score, others sharing it or
            not: how sure the ranking is of the first place.

        Notes
        -----
        They are about the people of the data, of whom it is uncertain how they would respond.
        """
        check_types(RecourseResult.probabilities, locals())
        if self.draws is None:
            raise DataError(_NO_POSTERIOR)
        parts = [self.draws.probabilities(notion, tolerance) for notion in self.notions]
        return pd.concat(parts, ignore_index=True)

    def individuals(self, tolerance: float = 0.0, progress: bool = True) -> pd.DataFrame:
        """Compare each affected person's recourse cost with that of their counterfactual twin.

        The twin is who the person would be with the other level of the protected column, with the same noise. The
        person chooses the cheapest of the actions of all subgroups that they are in which turns the prediction. So does
        the twin, from the actions of the subgroups that the twin is in, as if the twin were a real person: in every
        draw from what the twin has there, which may lead to the person's own values; the twin pays nothing if the
        prediction is favourable already. The classifier and the posterior are asked again, which are not saved: a
        result that was loaded refuses.

        Parameters
        ----------
        tolerance
            How much more a person may pay than the twin.
        progress
            Show a bar when it is long.

        Returns
        -------
        pandas.DataFrame
            A row for each affected person on whom an action was tried: the protected level, `cost` and `twin_cost`
            (medians over the draws; infinite: no recourse), `credible_low, credible_high` (of the person's cost less
            the twin's; infinity less infinity is 0), `prob_worse, prob_better` (of paying more, and less, by more than
            `tolerance`).

        References
        ----------
        von Kügelgen, Karimi, Bhatt, Valera, Weller and Schölkopf (2022), On the fairness of causal algorithmic
        recourse, section 3.2.
        """
        check_types(RecourseResult.individuals, locals())
        if self.twins is None:
            raise DataError(_NO_POSTERIOR)
        return self.twins(tolerance, progress)

    @property
    def intervals(self) -> pd.DataFrame:
        """What the intervals are, a row for each kind: `kind, level, type, scope, about, known`."""
        return explain_intervals(self)

    @property
    def verdicts(self) -> pd.DataFrame:
        """A row for each notion, subgroup and group that may be worse off.

        `value` is how much worse off that group is, negative if it is better off; it is flagged if the simultaneous
        interval in its direction lies above 0. With a posterior, `probability` is that of its being worse off among
        these people, and `structural` the variance of `value` over the draws (NaN where a cost is infinite in some);
        the variance of sampling is not separated. The trade-off has one row for both groups: its distance has no
        direction.
        """
        return judge(self)[list(VERDICT_COLUMNS)]

    def by_unit(self, beside: Sequence[AuditResult] = ()) -> pd.DataFrame:
        """Return the verdicts with `case` (worse off, however little) and `mean`; see `AuditResult.by_unit`."""
        return judge(self)

    @property
    def headline(self) -> "pd.Series[float]":
        """How much smaller the share with recourse (micro) is in the protected group, mean over subgroups, by draw.

        It is the value of equal effectiveness, which knows no costs, with its sign, weighted by the affected people of
        each subgroup: 0 if recourse is as easy for both groups wherever one looks. The largest gap would be a number of
        the same kind, but is that of a subgroup which was searched for, and is above 0 even if all is fair.
        """
        return mean_gap(self)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the most unfair subgroups by equal effectiveness, with their intervals."""
        from causalaudit.recourse.result.plots import plot_top_subgroups  # only those who draw pay for matplotlib

        return plot_top_subgroups(self, next(iter(TITLES)), ax=ax)

    def to_inference_data(self) -> InferenceData:
        """Return scores, intervals and values by notion and subgroup, as constant data.

        With a posterior also the `difference` between group 0 and group 1 in every draw.
        """
        labels = self.labels
        coords = {"notion": [notion.label for notion in self.notions], "subgroup": labels}
        shape = (len(self.notions), len(labels))
        columns = pd.concat(
            [self.table[["score", "rank", "simultaneous_low", "simultaneous_high"]], self.values], axis=1
        )
        arrays = {str(name): (("notion", "subgroup"), columns[name].to_numpy().reshape(shape)) for name in columns}
        constants = xr.Dataset(arrays, coords)
        if self.draws is None:
            return inference_data(constant_data=constants)
        draws = np.stack([self.draws.differences(notion) for notion in self.notions], axis=1)[None]
        apart = {"difference": (("chain", "draw", "notion", "subgroup"), draws)}
        posterior = xr.Dataset(apart, {"chain": [0], "draw": np.arange(draws.shape[1]), **coords})
        return inference_data(posterior=posterior, constant_data=constants)


_NO_POSTERIOR = "Probabilities need a posterior: without one, nobody responds, and nothing is uncertain."
