"""Situation tests, as one writes them from the pseudo-code; and the bank that is audited."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st


def bank(people):
    return people.salary + 5 * people.balance > 225_000


def naive(data, rejected, protected, features, goals, k):
    """Algorithm 1 in a plain loop, with the distances of equations 3 to 5; ties go to the earlier row."""
    ranges = {name: data[name].max() - data[name].min() for name in features if data[name].dtype.kind == "f"}
    ours, theirs = data.index[protected], data.index[~protected]
    deltas = {}
    for person in ours:
        counts = []
        for centre, group in ((data.loc[person], ours.drop(person)), (goals.loc[person], theirs)):
            total = sum(
                (data.loc[group, name] - centre[name]).abs() / ranges[name]
                if name in ranges
                else (data.loc[group, name] != centre[name]).astype(float)
                for name in features
            )
            nearest = (total / len(features)).round(12).sort_values(kind="stable").index[:k]
            counts.append(int(rejected[nearest].sum()))
        deltas[person] = (counts[0] - counts[1]) / k
    return pd.Series(deltas)


@st.composite
def mixed_people(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n = draw(st.integers(140, 260))
    steps = draw(st.sampled_from([2, 5, 1000]))  # few steps: many ties
    people = pd.DataFrame(
        {
            "x": rng.integers(0, steps, n) / steps * draw(st.sampled_from([1.0, 1e-3, 1e5])),
            "z": rng.integers(0, steps, n) / 7,
            "c": rng.choice(list("abc")[: draw(st.integers(1, 3))], n),
        }
    )
    people["sex"] = np.where(np.arange(n) % 2 == 0, "F", "M")
    people["y"] = (rng.random(n) < 0.6).astype(int)
    return people, rng
