"""Tables of people: who is protected, features, levels, what is discrete, distinct rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from causalaudit.arguments import check_draws, check_seed, check_share
from causalaudit.errors import DataError
from causalaudit.people import (
    check_features,
    codes_of,
    distinct_rows,
    kinds_of,
    levels_of,
    pick_column,
    read_protected,
    why_discrete,
)

PEOPLE = pd.DataFrame(
    {
        "sex": ["m", "f", "m", "f"],
        "race": ["White", "Black", "Asian", "White"],
        "self": [1, 2, 3, 4],
        "score": [0.5, np.nan, 1.0, 2.0],
    }
)


class TestProtected:
    def test_one_level_is_against_everyone_else(self):
        groups = read_protected(PEOPLE, {"race": "Black"})
        assert (groups.level, groups.reference) == ("Black", None)
        assert groups.protected(PEOPLE).tolist() == [False, True, False, False]
        assert groups.compared(PEOPLE).tolist() == [True, False, True, True]
        assert groups.setting == {"race": "Black"}
        assert groups.words == "race = Black against everyone else"

    def test_of_two_levels_the_other_is_the_reference(self):
        groups = read_protected(PEOPLE, {"sex": "f"})
        assert (groups.level, groups.reference) == ("f", "m")

    def test_the_protected_level_comes_first(self):
        groups = read_protected(PEOPLE, {"race": ("Black", "White")})
        assert groups.protected(PEOPLE).tolist() == [False, True, False, False]
        assert groups.compared(PEOPLE).tolist() == [True, False, False, True]
        assert groups.setting == {"race": ["Black", "White"]}

    def test_a_bare_column_has_its_second_level_as_the_contrast(self):
        groups = read_protected(PEOPLE, "sex", bare=True)
        assert (groups.reference, groups.level) == ("f", "m")
        declared = read_protected(PEOPLE, "sex", bare=True, levels=["m", "f"])
        assert (declared.reference, declared.level) == ("m", "f")
        categories = PEOPLE.assign(sex=pd.Categorical(PEOPLE.sex, ["m", "f"]))
        assert read_protected(categories, "sex", bare=True).level == "f"

    def test_numbers_are_levels_too(self):
        people = pd.DataFrame({"old": np.array([0, 1, 1])})
        groups = read_protected(people, {"old": np.int64(1)})
        assert type(groups.level) is int
        assert groups.protected(people).tolist() == [False, True, True]

    @pytest.mark.parametrize(
        ("protected", "options", "message"),
        [
            ("sex", {}, r"bare column 'sex', but must say which level.*its levels are 'f', 'm'"),
            ("nobody", {}, r"bare column 'nobody'"),
            ("race", {"bare": True}, r"has 3 levels \('Asian', 'Black', 'White'\), but two are compared: name them"),
            (["sex"], {}, r"\['sex'\], but must be \{column: level\}"),
            ({"sex": "f", "race": "Black"}, {}, r"but must be \{column: level\}"),
            ({}, {}, r"\{\}, but must be \{column: level\}"),
            ({"gender": "f"}, {}, r"protected column 'gender' is not in data"),
            ({"sex": "x"}, {}, r"Nobody in data has 'sex' equal to 'x'; its levels are 'f', 'm'"),
            ({"race": ("Black", "Green")}, {}, r"equal to 'Green'"),
            ({"race": ("Black", "Black")}, {}, r"must name one level, or it and one other"),
            ({"race": ("Black", "White", "Asian")}, {}, r"must name one level, or it and one other"),
            ({"score": 1.0}, {}, r"protected column 'score' is missing for 1 of 4 people"),
            ({"race": "Black"}, {"one_reference": True}, r"2 other levels \('Asian', 'White'\).*name it, as in"),
        ],
    )
    def test_bad_questions(self, protected, options, message):
        with pytest.raises(DataError, match=message):
            read_protected(PEOPLE, protected, **options)

    def test_everyone_is_protected(self):
        with pytest.raises(DataError, match="Everyone in data has 'sex' equal to 'f'"):
            read_protected(PEOPLE[PEOPLE.sex == "f"], {"sex": "f"})


class TestColumns:
    def test_features(self):
        assert check_features(PEOPLE, ("self", "sex")) == ["self", "sex"]
        assert check_features(["a", "b"], ["b"]) == ["b"]

    @pytest.mark.parametrize(
        ("features", "message"),
        [
            ("sex", r"features is the text 'sex', but must be a list of columns: \['sex'\]"),
            (3, "features is 3, but must be a list"),
            ({"sex": 1}, "but must be a list"),
            ([], "features is empty"),
            (["sex", "sex"], "'sex' is given twice"),
            (["sexx"], "'sexx' is not in data: did you mean 'sex'"),
            (["race"], "'race' is the protected column, so it cannot be a feature too"),
            (["score"], "feature 'score' is missing for 1 of 4 people. Drop or impute"),
        ],
    )
    def test_bad_features(self, features, message):
        with pytest.raises(DataError, match=message):
            check_features(PEOPLE, features, {"race": "protected column"})

    def test_a_column_that_is_there_twice(self):
        twice = pd.concat([PEOPLE, PEOPLE[["sex"]]], axis=1)
        with pytest.raises(DataError, match="'sex' is in data twice"):
            pick_column(twice, "sex", "feature")


class TestNumbers:
    @pytest.mark.parametrize("value", [0, 1, 1.5, -0.1, np.nan, True, None, "0.5", np.inf])
    def test_bad_shares(self, value):
        with pytest.raises(DataError, match=r"alpha is .*, but must be a number between 0 and 1\."):
            check_share("alpha", value)

    def test_shares(self):
        assert check_share("prob", np.float32(0.5)) == 0.5
        assert check_share("phi", 1, one=True) == 1.0

    @pytest.mark.parametrize("seed", [-1, 0.5, "0", None, True])
    def test_bad_seeds(self, seed):
        with pytest.raises(DataError, match=r"seed is .*whole number of at least 0"):
            check_seed(seed)

    def test_seeds_and_draws(self):
        assert check_seed(np.int64(3)) == 3
        assert check_draws(None) is None
        assert check_draws(7) == 7

    @pytest.mark.parametrize("draws", [0, -1, 1.5, "all", True])
    def test_bad_draws(self, draws):
        with pytest.raises(DataError, match=r"draws is .*whole number of at least 1"):
            check_draws(draws)


class TestDiscrete:
    def test_few_numbers_are_discrete_whole_or_not(self):
        assert why_discrete(pd.Series([0.5, 1.5, 2.5, 3.5])) == "few values"
        assert why_discrete(pd.Series(np.arange(10))) == "few values"
        assert why_discrete(pd.Series(np.arange(11))) is None

    def test_levels_and_declarations(self):
        assert why_discrete(pd.Series(["a"] * 20)) == "levels"
        assert why_discrete(pd.Series([True, False])) == "levels"
        assert why_discrete(pd.Series(pd.Categorical(range(50)))) == "levels"
        assert why_discrete(pd.Series(range(50), name="age"), ["age"]) == "declared"

    def test_kinds_are_said(self):
        people = pd.DataFrame({"age": range(30), "sex": ["f", "m"] * 15, "years": range(30)})
        kinds = kinds_of(people, ["age", "sex", "years"], ["years"])
        assert kinds == {"age": "continuous", "sex": "discrete (levels)", "years": "discrete (declared)"}
        with pytest.raises(DataError, match="discrete names 'job', which is not among"):
            kinds_of(people, ["age"], ["job"])


class TestLevels:
    def test_order(self):
        assert levels_of(pd.Series(["b", "a", "b"])) == ["a", "b"]
        assert levels_of(pd.Series([1, "x", 0], dtype=object)) == [0, 1, "x"]
        assert levels_of(pd.Series(pd.Categorical(["hi", "lo"], ["lo", "hi", "none"]))) == ["lo", "hi"]

    def test_codes(self):
        assert codes_of(pd.Series(["b", "a", "z"]), ["a", "b"]).tolist() == [1, 0, -1]


@given(arrays(np.int64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.integers(-2, 2)))
def test_distinct_rows_are_those_of_numpy(rows):
    found = distinct_rows(list(rows.T))
    expected, first, inverse, counts = np.unique(
        rows, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    assert np.array_equal(rows[found.first], expected)
    assert np.array_equal(found.first, first)
    assert np.array_equal(found.inverse, inverse.reshape(-1))
    assert np.array_equal(found.counts, counts)
    assert len(found) == len(expected)


def test_distinct_rows_of_columns_with_many_values():
    rng = np.random.default_rng(0)
    columns = [rng.permutation(5_000) for _ in range(6)]  # 5,000⁶ combinations are more than a key can number
    found = distinct_rows([np.concatenate([column, column]) for column in columns])
    assert len(found) == 5_000
    assert (found.counts == 2).all()
    assert np.array_equal(columns[0][found.first], np.arange(5_000))


def test_a_column_may_be_named_by_a_number():
    people = pd.DataFrame({7: ["f", "m"]})
    assert read_protected(people, {7: "f"}).protected(people).tolist() == [True, False]
