"""What a classifier says about people of a program: the table it is shown, asked once for people who are alike."""

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from causalaudit.counterfactuals import Tabled
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.people import distinct_on_grid
from causalaudit.progress import pieces

_ROWS = 2**18  # people of one table
_FEW = 2**10  # people, up to whom it is not worth while to look for equal ones


def follows_outcome(question: RateQuestion, graph: "nx.DiGraph[Any]") -> bool:
    """Return whether a feature descends from the outcome, so that do(Y = y) matters."""
    return not set(question.features).isdisjoint(nx.descendants(graph, question.outcome))


def label_rates(
    question: RateQuestion, people: Tabled, values: Mapping[str, np.ndarray], shape: tuple[int, ...]
) -> np.ndarray:
    """Return P(ŷ) of people with given features (numbers or codes), by level that the classifier reads as theirs.

    The classifier is shown some 262,000 people at a time; where there are few combinations of features, these alone.
    """
    rows = int(np.prod(shape))
    flat = {name: np.broadcast_to(numbers, shape).reshape(rows) for name, numbers in values.items()}
    distinct = distinct_on_grid(list(flat.values())) if flat and rows > _FEW else None
    if distinct is None:
        return np.stack([_ask(question, people, flat, place, rows).reshape(shape) for place in (0, 1)])
    few = {name: numbers[distinct.first] for name, numbers in flat.items()}
    answers = [_ask(question, people, few, place, len(distinct)) for place in (0, 1)]
    return np.stack([answer[distinct.inverse].reshape(shape) for answer in answers])


def _ask(question: RateQuestion, people: Tabled, values: Mapping[str, np.ndarray], place: int, rows: int) -> np.ndarray:
    """Ask about people who all seem to have the baseline (place 0) or the contrast level."""
    answers = []
    for part in pieces(rows, budget=_ROWS):
        shown = {name: numbers[part] for name, numbers in values.items()}
        if question.protected in question.rate.features:
            level = people.number(question.protected, question.levels[place])
            shown[question.protected] = np.full(part.stop - part.start, level)
        answers.append(question.rate(people.table({name: shown[name] for name in question.rate.features})))
    return np.concatenate(answers)
