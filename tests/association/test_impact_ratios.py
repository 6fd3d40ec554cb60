"""Impact ratios: the examples of the rule (6 RCNY § 5-301), and what people may hand over."""

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.storage import same

# The tables of the rule. Those by sex and by intersection are about the same people, that by race is not: it has 13
# people more. Rates and ratios are as printed there; the first scoring rate is cut off, not rounded (18 of 28).
SEX = {"Male": (1390, 667, 0.48, 1.00), "Female": (1181, 555, 0.47, 0.979)}
RACE = {
    "Hispanic or Latino": (408, 204, 0.50, 0.97),
    "White": (797, 412, 0.52, 1.00),
    "Black or African American": (390, 170, 0.44, 0.84),
    "Native Hawaiian or Pacific Islander": (119, 52, 0.44, 0.85),
    "Asian": (616, 302, 0.49, 0.95),
    "Native American or Alaska Native": (41, 18, 0.44, 0.85),
    "Two or More Races": (213, 96, 0.45, 0.87),
}
CROSSED = {
    ("Male", "Hispanic or Latino"): (205, 90, 0.439, 0.841),
    ("Female", "Hispanic or Latino"): (190, 82, 0.432, 0.827),
    ("Male", "White"): (412, 215, 0.522, 1.000),
    ("Male", "Black or African American"): (226, 95, 0.420, 0.806),
    ("Male", "Native Hawaiian or Pacific Islander"): (87, 37, 0.425, 0.815),
    ("Male", "Asian"): (321, 167, 0.520, 0.997),
    ("Male", "Native American or Alaska Native"): (24, 11, 0.458, 0.878),
    ("Male", "Two or More Races"): (115, 52, 0.452, 0.866),
    ("Female", "White"): (385, 197, 0.512, 0.981),
    ("Female", "Black or African American"): (164, 75, 0.457, 0.876),
    ("Female", "Native Hawaiian or Pacific Islander"): (32, 15, 0.469, 0.898),
    ("Female", "Asian"): (295, 135, 0.458, 0.877),
    ("Female", "Native American or Alaska Native"): (17, 7, 0.412, 0.789),
    ("Female", "Two or More Races"): (98, 44, 0.449, 0.860),
}
SCORED = {"Male": (92, 50, 0.543, 1.00), "Female": (76, 34, 0.447, 0.82)}
SCORED_RACE = {
    "Hispanic or Latino": (28, 18, 0.642, 1.00),
    "White": (40, 15, 0.375, 0.58),
    "Black or African American": (32, 16, 0.500, 0.78),
    "Native Hawaiian or Pacific Islander": (8, 5, 0.625, 0.97),
    "Asian": (24, 10, 0.417, 0.65),
    "Native American or Alaska Native": (16, 10, 0.625, 0.97),
    "Two or More Races": (20, 10, 0.500, 0.78),
}


def people_of(counts, columns):
    """People with the counts of a table: its categories, and 1 for those selected."""
    rows = []
    for category, (number, selected, *_) in counts.items():
        levels = category if isinstance(category, tuple) else (category,)
        rows += [(*levels, int(place < selected)) for place in range(number)]
    return pd.DataFrame(rows, columns=[*columns, "selected"])


def compared(table, printed, rate_unit, ratio_unit):
    assert len(table) == len(printed)
    for category, found in zip(table["category"], table.itertuples(), strict=True):
        levels = tuple(category.values())
        number, selected, rate, ratio = printed[levels if len(levels) > 1 else levels[0]]
        assert (found.n, found.selected) == (number, selected)
        assert found.rate == pytest.approx(selected / number, rel=1e-12)
        assert abs(found.rate - rate) <= rate_unit, category
        assert abs(found.impact_ratio - ratio) <= ratio_unit, category
        assert found.ratio_low <= found.impact_ratio <= found.ratio_high
        assert found.rate_low <= found.rate <= found.rate_high


def test_selection_by_sex_and_intersection_as_the_rule_prints_them():
    result = ca.impact_ratios(people_of(CROSSED, ["sex", "race"]), "selected", ["sex", "race"], exclude_below=0)
    by = dict(tuple(result.table.groupby("by")))
    compared(by["sex"], SEX, 0.006, 0.0006)
    compared(by["sex × race"], CROSSED, 0.0006, 0.0016)
    assert by["sex × race"].loc[by["sex × race"]["reference"], "category"].tolist() == [
        {"sex": "Male", "race": "White"}
    ]


def test_selection_by_race_as_the_rule_prints_it():
    result = ca.impact_ratios(people_of(RACE, ["race"]), "selected", ["race"], exclude_below=0)
    compared(result.table, RACE, 0.006, 0.006)


@pytest.mark.parametrize(("printed", "column"), [(SCORED, "sex"), (SCORED_RACE, "race")])
def test_scoring_as_the_rule_prints_it(printed, column):
    people = people_of(printed, [column])
    scores = np.random.default_rng(0).uniform(0, 1, len(people)) + people["selected"]  # half of them are above 1
    result = ca.impact_ratios(people.assign(score=scores * 50), "score", [column], rate="scoring", exclude_below=0)
    compared(result.table, printed, 0.001, 0.006)


def test_small_categories_are_shown_though_excluded():
    result = ca.impact_ratios(people_of(RACE, ["race"]), "selected", ["race"])
    row = result.table[result.table["excluded"]]
    assert row["category"].tolist() == [{"race": "Native American or Alaska Native"}]  # 41 of 2,584 are 1.6 %
    assert row["n"].item() == 41
    assert row["rate"].item() == 18 / 41
    assert result.summary().loc["race", "excluded"] == 1
    people = pd.DataFrame({"race": ["a"] * 99 + ["b"], "selected": [1, 0] * 49 + [0, 1]})
    found = ca.impact_ratios(people, "selected", ["race"])
    assert found.table["reference"].tolist() == [True, False]  # b has the greatest rate, but no one is compared with b
    assert found.table["impact_ratio"].tolist() == [1.0, 1 / (49 / 99)]
    assert not found.verdicts["flagged"].any()


def test_people_of_unknown_category_are_counted_where_they_are_left_out():
    people = people_of(CROSSED, ["sex", "race"])
    unknown = pd.DataFrame({"sex": ["Male", None, None], "race": [None, "Asian", None], "selected": [1, 1, 0]})
    result = ca.impact_ratios(pd.concat([people, unknown], ignore_index=True), "selected", ["sex", "race"])
    assert result.settings["unknown"] == {"sex": 2, "race": 2, "sex × race": 3}
    assert result.table.loc[result.table["by"] == "sex × race", "n"].sum() == len(people)
    assert "sex × race: 3 of 2,574" in result.unknown_words


def test_categories_are_flagged_by_their_interval_and_not_by_their_ratio():
    few = pd.DataFrame({"sex": ["f"] * 10 + ["m"] * 10, "hired": [1] * 4 + [0] * 6 + [1] * 6 + [0] * 4})
    many = pd.concat([few] * 50, ignore_index=True)
    one, other = (ca.impact_ratios(people, "hired", ["sex"]) for people in (few, many))
    assert one.headline.item() == other.headline.item() == pytest.approx(2 / 3)
    assert not one.verdicts["flagged"].any()
    assert other.verdicts["flagged"].tolist() == [True, False]
    assert one.by_unit()["case"].tolist() == [True, False]
    assert "smallest impact ratio is 0.67" in other.words
    assert "1 of 2 categories" in other.words


def test_nobody_selected_leaves_ratios_unknown():
    people = pd.DataFrame({"sex": ["f", "m"] * 5, "hired": [0] * 10})
    result = ca.impact_ratios(people, "hired", ["sex"])
    assert result.table["impact_ratio"].isna().all()
    assert result.table[["ratio_low", "ratio_high"]].to_numpy().tolist() == [[0, 1], [0, 1]]
    assert "No impact ratio is known" in result.words
    assert np.isnan(result.headline.item())
    assert not result.verdicts["flagged"].any()


def test_levels_keep_their_order_and_may_be_numbers():
    people = pd.DataFrame(
        {"age": pd.Categorical(["old", "young"] * 10, ["young", "old"]), "g": [1, 2] * 10, "y": [1, 0] * 10}
    )
    table = ca.impact_ratios(people, "y", ["age", "g"]).table
    assert table["category"].tolist()[:4] == [{"age": "young"}, {"age": "old"}, {"g": 1}, {"g": 2}]
    assert len(table) == 6  # combinations that nobody has are no categories


def test_a_result_is_kept_shown_and_drawn(tmp_path):
    result = ca.impact_ratios(people_of(CROSSED, ["sex", "race"]), "selected", ["sex", "race"])
    result.save(tmp_path / "ratios.nc")
    assert same(ca.load(tmp_path / "ratios.nc"), result)
    assert result.title in repr(result)
    labels = [text.get_text() for text in result.plot().get_yticklabels()]
    assert labels == result.categories
    assert list(result.intervals["kind"]) == ["rate", "ratio"]
    assert "impact_ratio" in result.to_inference_data()["constant_data"]


def test_of_many_categories_those_with_the_smallest_ratios_are_drawn():
    groups = np.arange(70)
    people = pd.DataFrame(
        {"group": np.repeat(groups, 10), "hired": (np.arange(700) % 10 < groups.repeat(10) % 9).astype(int)}
    )
    result = ca.impact_ratios(people, "hired", ["group"], exclude_below=0)
    ax = result.plot()
    drawn = {text.get_text() for text in ax.get_yticklabels()}
    least = result.table["impact_ratio"].nsmallest(50)
    assert len(drawn) == 60
    assert {result.categories[place] for place in least.index} <= drawn
    assert ax.get_ylabel() == "60 of 70 categories, those with the smallest ratios"


PEOPLE = pd.DataFrame({"sex": ["f", "m"] * 5, "one": "x", "hired": [0, 1] * 5, "chance": [0.25, 0.5] * 5, "word": "a"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": "sex"}, "must be a list of columns"),
        ({"columns": []}, "list at least one column"),
        ({"columns": ["sxe"]}, "did you mean 'sex'"),
        ({"columns": ["one"]}, "compares at least two"),
        ({"decision": "hird"}, "is not a column"),
        ({"decision": "chance"}, "labels are needed"),
        ({"decision": "word", "rate": "scoring"}, "a finite number for each person"),
        ({"rate": "score"}, "must be 'selection' or 'scoring'"),
        ({"exclude_below": 2}, "exclude_below is 2"),
        ({"exclude_below": -0.1}, "exclude_below is -0.1"),
        ({"threshold": 0}, "threshold is 0"),
        ({"alpha": 5}, "alpha is 5"),
    ],
)
def test_what_cannot_be_answered_is_refused(arguments, message):
    asked = {"decision": "hired", "columns": ["sex"], **arguments}
    with pytest.raises(DataError, match=message):
        ca.impact_ratios(PEOPLE, asked.pop("decision"), asked.pop("columns"), **asked)
