"""The answer of a comparison of worlds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from causalaudit.arguments import check_name
from causalaudit.errors import DataError
from causalaudit.markup import bold, paragraph, piece, table
from causalaudit.results import IntervalKind, SavedResult, interval_table
from causalaudit.storage import storable
from causalaudit.worlds.statement import state

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CAUTION = "elpd and weights rank how worlds predict what was observed, not which of them is causally true."


@storable
@dataclass(frozen=True, repr=False, eq=False)
class WorldsResult(SavedResult):
    """What an audit says in several worlds. Results compare by identity.

    Attributes
    ----------
    loo : pandas.DataFrame
        Indexed by world, how well it predicts people who are left out (PSIS-LOO): `elpd` (summed over people), `se`,
        `difference` from the best (at most 0) and `difference_se`, `pareto_k` (the greatest; above 0.7 the elpd is not
        to be trusted), and the weights `stacking` and `evidence` (NaN where they are not defined: `settings` says why).
        It ranks how worlds fit; two worlds with the same fit may disagree about every counterfactual.
    table : pandas.DataFrame
        A row for each unit: `unit`, the same in `words`; in each world ``verdict_<world>`` ("flagged", "not flagged" or
        "not examined"), ``case_<world>`` (the value, untested, is beyond what the audit accepts),
        ``probability_<world>`` and ``value_<world>`` and, where audits were asked for bounds,
        ``coupling_low_<world>, coupling_high_<world>``: between what `settings["bounded"]` lies there under any
        coupling; `worlds_examined, worlds_flagged, worlds_cases`, and `agreement` ("all", "some" or "none" of the
        worlds that examined the unit flag it). Averaged by the weights of the worlds that examined it, each with its
        least and greatest value in a world: `probability, probability_min, probability_max` and `mean, mean_min,
        mean_max` (the posterior mean of the value). Then the `variance` of the value over worlds, draws and samples,
        and the shares of it: `between` worlds, `structural` (over draws) and `sampling` (within them), which add up to
        one, NaN where a part is not known by itself; `mostly` says which is the greatest, or "certain" where the
        variance is 0, or "unknown".
    headline : pandas.DataFrame
        Indexed by world: its `weight`, the `value` of the audit's number (the mean over draws; of counts the median),
        `credible_low, credible_high` (NaN where the answer is a single number) and the number of `draws`.
    draws : pandas.DataFrame
        The same by draw: `world, draw, value`.
    rules : dict
        When a unit is flagged, by world.
    settings : dict
        What was asked for: `weights`, `prob`, `headline`, `value` and `bounded` (their names), `scored` columns, those
        `rounded`; `not_scored` and `no_evidence` say why there is no elpd or evidence, if there is none.
    """

    loo: pd.DataFrame
    table: pd.DataFrame
    headline: pd.DataFrame
    draws: pd.DataFrame
    rules: dict[str, str]
    settings: dict[str, Any]
    KIND: ClassVar[str] = "worlds"

    @property
    def worlds(self) -> list[str]:
        """The names of the worlds."""
        return list(self.headline.index)

    @property
    def title(self) -> str:
        """What was compared, in a line."""
        how = self.settings["weights"] if isinstance(self.settings["weights"], str) else "given"
        return f"{self.settings['headline']} in {len(self.worlds)} worlds, {how} weights"

    @property
    def agreement(self) -> pd.DataFrame:
        """How many units are `flagged`, and how many are a `case`, in all, some and none of the worlds."""
        counts = {
            name: np.where(number == 0, "none", np.where(number == self.table["worlds_examined"], "all", "some"))
            for name, number in (("flagged", self.table["worlds_flagged"]), ("case", self.table["worlds_cases"]))
        }
        order = ["all", "some", "none"]
        return pd.DataFrame(
            {name: [int((found == one).sum()) for one in order] for name, found in counts.items()}, order
        )

    @property
    def average(self) -> "pd.Series[float]":
        """The audit's number averaged by the weights, with its least and greatest value in a world."""
        values, weights = self.headline["value"], self.headline["weight"]
        mean = float((values * weights)[weights > 0].sum(skipna=False))
        return pd.Series({"value": mean, "min": values.min(), "max": values.max()}, name=self.settings["headline"])

    @property
    def intervals(self) -> pd.DataFrame:
        """What the intervals are: `kind, level, type, scope, about, known`."""
        about, known = "the audit's number", "that the world is the right one, and what the audit takes as known there"
        return interval_table([IntervalKind("credible", self.settings["prob"], "credible", "one unit", about, known)])

    def summary(self) -> pd.DataFrame:
        """Return a row for each world: its fit, weight, and the audit's number."""
        return self.loo[["elpd", "difference", "difference_se"]].join(self.headline.drop(columns="draws"))

    def statement(self, unit: Any) -> str:
        """Say in a sentence what the worlds find of a unit.

        Parameters
        ----------
        unit
            As in the column `unit` of the table, or its `words`; of a situation test also the complainant's label.

        Returns
        -------
        str
            In which worlds it is flagged, with what probability, between which bounds, and what would overturn that.
        """
        return state(self, self.table.iloc[self._row_of(unit)])

    def _row_of(self, unit: Any) -> int:
        """Return the row of a unit, by itself, by its words, or by the first part of it."""
        unit = check_name("unit", unit, of="a unit")
        units = self.table["unit"].tolist()
        for names in (
            units,
            self.table["words"].tolist(),
            [one[0] if isinstance(one, tuple) else None for one in units],
        ):
            found = [at for at, name in enumerate(names) if name is not None and bool(name == unit)]
            if len(found) == 1:
                return found[0]
        some = ", ".join(repr(words) for words in self.table["words"][:3])
        raise DataError(f"{unit!r} is not a unit of this comparison; there are {len(units)}, such as {some or 'none'}.")

    def __repr__(self) -> str:
        return f"{self.title}\n{self.summary().to_string()}\n{self.agreement.to_string()}\n{_CAUTION}"

    def _repr_html_(self) -> str:
        return piece(bold(self.title), table(self.summary()), table(self.agreement), paragraph(_CAUTION))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the verdicts, units by worlds."""
        from causalaudit.worlds.plots import plot_verdict_map  # heavy: only those who draw pay for matplotlib

        return plot_verdict_map(self, ax=ax)
