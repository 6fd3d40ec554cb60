"""The answer: rates and impact ratios of categories."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from causalaudit.arviz_versions import InferenceData, inference_data
from causalaudit.results import AuditResult, IntervalKind, headline_of, interval_table, verdict_table
from causalaudit.storage import storable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@storable
@dataclass(frozen=True, repr=False, eq=False)
class ImpactRatiosResult(AuditResult):
    """Rates and impact ratios of the categories of people.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each category: `by` (the column, or the columns that are crossed), `category` (column → level), `n`
        people, their `share` of those of known category, `selected` (how many are selected, or have a score above the
        median), `rate` with `rate_low, rate_high`, `impact_ratio` with `ratio_low, ratio_high` (NaN where nobody is
        selected), whether it is the `reference` (the greatest rate; several if they are equal), and whether it is
        `excluded` because it is too small: then its ratio is information only, and may exceed 1.
    settings : dict
        What was asked for; `people`, and how many of them are of `unknown` category, by column.
    """

    KIND: ClassVar[str] = "impact ratios"
    VALUE: ClassVar[str] = "impact ratio"

    @property
    def title(self) -> str:
        return f"Impact ratios of {self.settings['rate']} rates by {', '.join(map(str, self.settings['columns']))}"

    @property
    def categories(self) -> list[str]:
        """The categories in words."""
        return [
            f"{by}: {', '.join(str(level) for level in category.values())}"
            for by, category in zip(self.table["by"], self.table["category"], strict=True)
        ]

    @property
    def unknown_words(self) -> str:
        """How many people are left out because their category is unknown."""
        counts = self.settings["unknown"].items()
        return ", ".join(f"{by}: {count:,} of {self.settings['people']:,}" for by, count in counts)

    @property
    def words(self) -> str:
        """The answer in two sentences."""
        judged = self._judged & self.table["impact_ratio"].notna().to_numpy()
        number, confidence = int(self.verdicts["flagged"].sum()), 1 - self.settings["alpha"]
        if not judged.any():
            return "No impact ratio is known: nobody was selected, or all categories are too small."
        least = int(self.table["impact_ratio"].where(judged).argmin())
        row = self.table.iloc[least]
        return (
            f"the smallest impact ratio is {row['impact_ratio']:.2f} ({confidence:.0%} confidence interval from "
            f"{row['ratio_low']:.2f} to {row['ratio_high']:.2f}), of {self.categories[least]}. "
            f"{number} of {int(self._judged.sum())} categories are flagged; one is, if all of its interval is below "
            f"{self.settings['threshold']:g}."
        )

    def summary(self) -> pd.DataFrame:
        """Return a row for each column, and for the intersection.

        Returns
        -------
        pandas.DataFrame
            Indexed by `by`: the numbers of `categories`, of those that are `excluded`, and of people of `unknown`
            category; the category of `reference`; the category with the `smallest` ratio, that `impact_ratio` with its
            interval; and how many are `flagged`.
        """
        names, flagged = np.array(self.categories, dtype=object), self.verdicts["flagged"].to_numpy()
        rows = {}
        for by, part in self.table.groupby("by", sort=False):
            at, own = part.index.to_numpy(), part[~part["excluded"] & part["impact_ratio"].notna()]
            least = None if own.empty else int(own["impact_ratio"].argmin())
            rows[by] = {
                "categories": len(part), "excluded": int(part["excluded"].sum()),
                "unknown": self.settings["unknown"][by], "reference": "; ".join(names[at[part["reference"]]]),
                "smallest": None if least is None else names[own.index.to_numpy()[least]],
                **{name: np.nan if least is None else own[name].iloc[least]
                   for name in ("impact_ratio", "ratio_low", "ratio_high")},
                "flagged": int(flagged[at].sum()),
            }  # fmt: skip
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("by")

    @property
    def intervals(self) -> pd.DataFrame:
        confidence, scoring = 1 - self.settings["alpha"], self.settings["rate"] == "scoring"
        about, known = "the population that the people are a sample of", "that people are independent of one another"
        known += ", and the median score" if scoring else ""
        ratio = f"{known}; which category has the greatest rate is not taken as known"
        return interval_table(
            [
                IntervalKind("rate", confidence, "confidence", "one unit", f"{about}: the rate", known),
                IntervalKind("ratio", confidence, "confidence", "one unit", f"{about}: the impact ratio", ratio),
            ]
        )

    @property
    def _judged(self) -> np.ndarray:
        return ~self.table["excluded"].to_numpy(dtype=bool)

    @property
    def verdicts(self) -> pd.DataFrame:
        """A row for each category; see `AuditResult.verdicts`."""
        s = self.settings
        rule = (
            f"the {1 - s['alpha']:.0%} interval of its impact ratio, each category by itself, lies below "
            f"{s['threshold']:g}; categories with less than {s['exclude_below']:.0%} of the people are not judged"
        )
        low = (self.table["ratio_high"] < s["threshold"]).to_numpy()
        return verdict_table(self.categories, low & self._judged, rule=rule, value=self.table["impact_ratio"])

    def by_unit(self, beside: Any = ()) -> pd.DataFrame:
        """Return the verdicts with `case` (the ratio, untested, is below the threshold) and `mean` (the ratio)."""
        verdicts = self.verdicts
        case = (verdicts["value"] < self.settings["threshold"]).to_numpy() & self._judged
        return verdicts.assign(case=case, mean=verdicts["value"])

    @property
    def headline(self) -> "pd.Series[float]":
        """The smallest impact ratio of the categories that are judged; NaN where none is known."""
        return headline_of(self.table["impact_ratio"][self._judged].min(), "smallest impact ratio")

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the impact ratio of each category with its interval."""
        from causalaudit.association.plots import plot_impact_ratios  # heavy: only those who draw pay for matplotlib

        return plot_impact_ratios(self, ax=ax)

    def to_inference_data(self) -> InferenceData:
        """Return rates and ratios as constant data: there are no draws."""
        import xarray as xr

        names = ("n", "selected", "rate", "rate_low", "rate_high", "impact_ratio", "ratio_low", "ratio_high")
        variables: dict[str, Any] = {name: ("category", self.table[name].to_numpy()) for name in names}
        return inference_data(constant_data=xr.Dataset(variables, {"category": self.categories}))
