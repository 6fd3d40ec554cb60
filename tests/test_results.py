"""What all results share."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from causalaudit.results import VERDICT_COLUMNS, AuditResult, IntervalKind, headline_of, interval_table, verdict_table
from causalaudit.storage import read_artefact, same, storable


@storable
@dataclass(frozen=True, repr=False, eq=False)
class Counted(AuditResult):
    KIND = "counted"

    draws: np.ndarray

    @property
    def title(self):
        return "Counted <people>"

    @property
    def empty(self):
        return "Nobody was counted among 3 people."

    def summary(self):
        return self.table

    @property
    def intervals(self):
        return interval_table([IntervalKind("wald", 0.95, "confidence", "one unit", "the population", "nothing")])

    @property
    def verdicts(self):
        return verdict_table(["a", "b"], [True, False], rule="above 0")

    @property
    def headline(self):
        return headline_of(self.draws, "people")

    def plot(self, ax=None):
        raise NotImplementedError

    def to_inference_data(self):
        raise NotImplementedError


@pytest.fixture
def result():
    return Counted(pd.DataFrame({"n": [3]}), {"alpha": 0.05}, np.arange(4))


def test_results_compare_by_identity(result):
    other = Counted(result.table, result.settings, result.draws)
    assert result == result
    assert result != other
    assert len({result, other}) == 2


def test_results_are_kept(result, tmp_path):
    result.save(tmp_path / "counted.nc")
    artefact = read_artefact(tmp_path / "counted.nc")
    assert artefact.kind == "counted"
    assert same(Counted.from_artefact(artefact), result)


def test_shown_as_people_look(result):
    assert repr(result).startswith("Counted <people>\n")
    assert "<b>Counted &lt;people&gt;</b>" in result._repr_html_()
    empty = Counted(result.table.iloc[:0], {}, result.draws)
    assert repr(empty) == "Counted <people>\nNobody was counted among 3 people."
    assert "Nobody was counted" in empty._repr_html_()


def test_verdicts_have_the_same_columns(result):
    assert tuple(result.verdicts.columns) == VERDICT_COLUMNS
    assert result.verdicts["flagged"].dtype == bool
    assert verdict_table([], [], rule="never").empty


def test_a_headline_has_an_entry_for_each_draw(result):
    assert result.headline.index.name == "draw"
    assert headline_of(3, "people").tolist() == [3.0]
