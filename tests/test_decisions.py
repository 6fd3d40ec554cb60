"""Decisions are asked and read in one way."""

import numpy as np
import pandas as pd
import pytest

from causalaudit.decisions import ROWS, Asked, decide
from causalaudit.errors import DataError

PEOPLE = pd.DataFrame({"score": [0.25, 0.75, 1.0], "name": ["ada", "bea", "cyd"]})


def answering(*answers, dtype=None):
    return lambda people: np.array(answers, dtype=dtype)


@pytest.mark.parametrize(
    ("answers", "favourable", "expected"),
    [
        ([True, False, True], 1, [1, 0, 1]),
        ([True, False, True], False, [0, 1, 0]),
        ([0, 1, 2], 2, [0, 0, 1]),
        ([-1, 1, 1], 1, [0, 1, 1]),
        ([-1.0, 1.0, 1.0], 1, [0, 1, 1]),
        (["yes", "no", "yes"], "yes", [1, 0, 1]),
        ([0.0, 1.0, 1.0], 1, [0, 1, 1]),
        ([0.0, 1.0, 1.0], 0, [1, 0, 0]),
        ([0.25, 0.75, 1.0], 1, [0.25, 0.75, 1.0]),
        ([0.25, 0.75, 1.0], "yes", [0.25, 0.75, 1.0]),
        ([0.0, 1.0, 1.0], "yes", [0, 1, 1]),
    ],
)
def test_one_reading(answers, favourable, expected):
    assert decide(lambda people: np.array(answers), PEOPLE, favourable).tolist() == expected


def test_one_reading_of_columns_and_objects():
    assert decide("score", PEOPLE).tolist() == [0.25, 0.75, 1.0]
    assert decide("name", PEOPLE, "bea").tolist() == [0, 1, 0]
    assert decide(lambda people: pd.Series([0.5, 0.25, 1.0], dtype=object), PEOPLE).tolist() == [0.5, 0.25, 1.0]


def test_labels_only_shows_the_fix():
    with pytest.raises(
        DataError, match=r"probabilities, for example 0\.25.*decision=lambda people: rule\(people\) > 0\.5"
    ):
        Asked("score", labels_only=True)(PEOPLE)
    assert Asked(lambda people: people.score > 0.5, labels_only=True)(PEOPLE).tolist() == [0, 1, 1]


def test_neither_labels_nor_probabilities():
    with pytest.raises(DataError, match=r"returned 7\.5, which is neither a label nor a probability"):
        decide(answering(0.5, 7.5, 1.0), PEOPLE)


def test_a_reading_does_not_depend_on_the_batch():
    """A batch of zeros and ones after one of probabilities is read as probabilities too."""
    asked = Asked("score", favourable=0)
    assert asked(PEOPLE).tolist() == [0.25, 0.75, 1.0]
    assert asked(PEOPLE.iloc[2:]).tolist() == [1.0]


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (answering(1, 0), r"returned shape \(2,\) for 3 people; expected \(3,\)"),
        (answering(1.0, np.nan, 0.0), "missing for 1 of 3 people"),
        (answering(None, "a", "b", dtype=object), "missing for 1 of 3 people"),
        ("grade", "'grade' is not a column; there are score, name"),
        (7, "A decision is a column, a function of a table or a fitted classifier, but this is int"),
    ],
)
def test_bad_answers(decision, message):
    with pytest.raises(DataError, match=message):
        decide(decision, PEOPLE)


def test_alike_people_are_asked_about_once_and_batches_are_bounded():
    sizes = []

    def rule(people):
        sizes.append(len(people))
        return people.level == "b"

    rng = np.random.default_rng(0)
    many = pd.DataFrame({"level": rng.choice(["a", "b"], 300_000), "kind": rng.integers(3, size=300_000)})
    assert np.array_equal(decide(rule, many), (many.level == "b").to_numpy().astype(float))
    assert sizes == [6]
    sizes.clear()
    apart = pd.DataFrame({"level": "b", "number": rng.random(300_000)})
    assert decide(rule, apart).all()
    assert sum(sizes) == 300_000
    assert max(sizes) == ROWS
