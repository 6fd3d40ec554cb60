"""Who is named by counterfactual situation testing, and by the methods that the papers compare it with or wish to.

On generated loan data it is known what every woman would have had as a man, and so who was rejected and would have been
approved. Each method names women; figures say how many of those are such women, and how many of these it names.
"""

import numpy as np
import pandas as pd

import causalaudit as ca
from benchmarks.peers.causal_situation_testing import causal_situation_testing
from benchmarks.peers.fliptest import flip_test
from benchmarks.report import Figure, Report
from benchmarks.situation_testing import FEATURES, K, bank

PEOPLE = 3_000
DRAWS = 500


def named(people: pd.DataFrame) -> dict[str, "pd.Index[int]"]:
    """Return whom each method names: cases who were themselves rejected."""
    women = (people["gender"] == "female").to_numpy()
    values, approved = people[FEATURES].to_numpy(), people["approved"].to_numpy()
    asked = {"features": FEATURES, "k": K, "progress": False}
    standard = ca.situation_testing(people, bank, {"gender": "female"}, **asked).at()
    posterior = ca.fit(ca.models.loan.linear(), people, seed=0, progress=False)
    worlds = ca.counterfactuals(posterior, {"gender": "male"}, rows=women, draws=DRAWS, seed=0, progress=False)
    ours = ca.situation_testing(people, bank, {"gender": "female"}, counterfactuals=worlds, **asked)
    table = ours.at()
    delta = pd.Series(causal_situation_testing(people, approved, women, FEATURES, K), people.index[women])
    rejected = table["rejected"]
    return {
        "situation testing": table.index[standard["beyond_tau"] & rejected],
        "causal situation testing": table.index[(delta > 0) & rejected],
        "FlipTest, negative flip set": people.index[flip_test(values, approved, women)["negative"]],
        "counterfactual situation testing": table.index[table["beyond_tau"] & rejected],
        "the same, discoveries at .05": ours.discoveries(0.05).query("rejected").index,
        "counterfactual decision": table.index[table["cf_flip"]],
    }


def run() -> Report:
    """Compare all with the truth."""
    people = ca.datasets.make_loan(PEOPLE, seed=0)
    women = people[people["gender"] == "female"]
    true = women.index[(women["approved"] == 0) & (women["approved_if_male"] == 1)]
    figures = []
    for name, found in named(people).items():
        right = len(np.intersect1d(found, true))
        figures += [Figure(f"{name}: named", len(found)), Figure(f"{name}: of the true ones", right / len(true))]
        if len(found):
            figures.append(Figure(f"{name}: of these rightly", right / len(found)))
    notes = [
        f"{len(true)} of {len(women)} women (make_loan, {len(people):,} people, k = {K}) were rejected and would have "
        "been approved as men. Named are rejected women only. Standard and causal situation testing compare women with "
        "men of the same salary and balance, whom this bank treats alike: they answer another question, and so does "
        "FlipTest, which maps the group of women onto that of men: it does as well as ours here, where nothing but "
        "gender makes the groups differ, and cannot tell what else would. Ours is given the diagram; its program "
        "gives every woman the same penalty, where each has her own.",
    ]
    return Report(figures, notes)
