"""Comparative subgroup counterfactuals: what helps the two groups of a subgroup, in words."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.markup import bold, piece
from causalaudit.recourse.notions.notion import Notion
from causalaudit.recourse.question.items import in_words


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """A subgroup under one notion, as in figures 2 to 7 of the paper: print it, or show it in a notebook.

    Attributes
    ----------
    predicate
        Feature → value.
    groups
        The two groups: the reference and the protected level.
    sizes, coverage
        Affected people of the subgroup, and their share of all affected people with the level.
    actions : pandas.DataFrame
        A row for each valid action, the cheapest first: `action` (what changes: feature → value), `cost`,
        `effectiveness0, effectiveness1` (shares of people to whom it gives recourse), `together0, together1` (to whom
        it or an action before it does).
    notion
        By which the groups are compared.
    score, against
        How unequal they are, and the level that is worse off (None: neither is).
    notes
        What is known about the score.
    """

    predicate: dict[str, Any]
    groups: tuple[Any, Any]
    sizes: tuple[int, int]
    coverage: tuple[float, float]
    actions: pd.DataFrame
    notion: Notion
    score: float
    against: Any
    notes: tuple[str, ...]

    def shown(self, group: int) -> pd.DataFrame:
        """Return the actions that count under the notion for one group (0 or 1).

        With a threshold, those that are effective enough (macro), or the cheapest ones that together are (micro); with
        a budget, those within it; else all.
        """
        table, notion = self.actions, self.notion
        if notion.metric == "effectiveness_within_budget":
            return table[table["cost"] <= notion.parameter]
        if not notion.has_threshold:
            return table
        column = "together" if notion.viewpoint == "micro" else "effectiveness"
        enough = table[f"{column}{group}"].to_numpy() >= notion.parameter - 1e-12
        if notion.viewpoint == "macro":
            return table[enough]
        return table.iloc[: int(np.argmax(enough)) + 1 if enough.any() else 0]

    @property
    def verdict(self) -> str:
        """Who is worse off, and by how much."""
        if self.against is None:
            return f"No bias due to {self.notion.title}. Unfairness score = 0."
        return f"Bias against {self.against!r} due to {self.notion.title}. Unfairness score = {_number(self.score)}."

    def _lines(self, group: int) -> list[str]:
        shown = self.shown(group)
        rows = zip(shown["action"], shown[f"effectiveness{group}"], shown[f"together{group}"], strict=True)
        micro = self.notion.viewpoint == "micro"
        return [
            f"Make {in_words(action)} with effectiveness {share:.2%}" + (f" (so far {total:.2%})" if micro else "")
            for action, share, total in rows
        ] or ["No recourses for this subgroup."]

    def __str__(self) -> str:
        lines = [f"If {in_words(self.predicate)}:"]
        for group, level in enumerate(self.groups):
            lines.append(f"    Protected Subgroup = {level!r}, {self.coverage[group]:.2%} covered")
            lines += [f"        {line}" for line in self._lines(group)]
        return "\n".join([*lines, f"    {self.verdict}", *(f"    {note}" for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """Return the comparison as a piece of HTML that needs nothing else."""
        cells = []
        for group, level in enumerate(self.groups):
            head = f"{escape(str(level))}: {self.sizes[group]:,} people, {self.coverage[group]:.2%} covered"
            lines = "".join(f"<li>{escape(line)}</li>" for line in self._lines(group))
            cells.append(f'<td style="vertical-align:top;text-align:left"><b>{head}</b><ol>{lines}</ol></td>')
        notes = "".join(f"<br>{escape(note)}" for note in self.notes)
        return piece(
            bold(f"If {in_words(self.predicate)}:"),
            f"<table><tr>{''.join(cells)}</tr></table>",
            f"<p>{escape(self.verdict)}{notes}</p>",
        )


def _number(value: float) -> str:
    return "inf" if np.isinf(value) else f"{value:.4g}"
