"""The pictures of the documentation: one of each plot, on generated data.

``python -m docs.figures FOLDER`` writes them; `tests/test_pictures.py` compares them with what is stored.
"""

import argparse
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

import causalaudit as ca
from causalaudit.bias_scan import PowerResult

FIGURES: dict[str, Callable[[], Any]] = {}  # what makes the axes of each


def picture(make: Callable[[], Any]) -> Callable[[], Any]:
    """Keep a function that returns axes under its own name."""
    FIGURES[make.__name__] = make
    return make


def bank(people: pd.DataFrame) -> "pd.Series[bool]":
    """The decision that is audited."""
    return people["salary"] + 5 * people["balance"] > 225_000


@cache
def applicants() -> pd.DataFrame:
    """Invented applicants for a loan."""
    return ca.datasets.make_loan(500, seed=0)


@cache
def posterior() -> Any:
    """A posterior of the loan program."""
    return ca.fit(ca.models.loan.linear(), applicants(), draws=250, seed=0, progress=False)


@cache
def draws() -> Any:
    """The women as men, draw by draw."""
    women = applicants()["gender"] == "female"
    return ca.counterfactuals(posterior(), {"gender": "male"}, rows=women, draws=100, seed=0, progress=False)


def audit(posterior: Any, k: Any = 15) -> Any:
    """Situation testing, given a posterior."""
    women = applicants()["gender"] == "female"
    worlds = ca.counterfactuals(posterior, {"gender": "male"}, rows=women, draws=100, seed=0, progress=False)
    return ca.situation_testing(
        applicants(), bank, {"gender": "female"}, features=["salary", "balance"], counterfactuals=worlds, k=k,
        progress=False,
    )  # fmt: skip


@cache
def tested() -> Any:
    """The women's situation tests, at several k."""
    return audit(posterior(), k=[5, 10, 15, 20, 30])


@cache
def worlds() -> Any:
    """The same audit in two worlds."""
    cut = ca.models.loan.linear().without(("gender", "balance"))
    other = ca.fit(cut, applicants(), draws=250, seed=0, progress=False)
    return ca.compare_worlds({"whole": posterior(), "no gender → balance": other}, audit, progress=False)


@cache
def scanned() -> Any:
    """A scan of invented people; women in the south are flagged more often."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({name: rng.choice(list("ab"), 800) for name in ("group", "sex", "region")})
    people["y"] = rng.integers(0, 2, 800)
    worse = (people.group == "a") & (people.region == "b")
    people["flagged"] = (rng.random(800) < 0.3 + 0.3 * worse).astype(int)
    return ca.scan_bias(
        people, {"group": "a"}, "y", recommendation="flagged", permutations=99, top=3, progress=False
    )  # fmt: skip


@cache
def recourse() -> Any:
    """Recourse of the applicants, in two bands each."""
    people = ca.datasets.make_loan(2_000, seed=0)
    people = people.assign(rich=people.salary > 100_000, saves=people.balance > 20_000)

    def rule(table: pd.DataFrame) -> "pd.Series[int]":
        return (table.rich.astype(int) + table.saves > (table.gender == "female")).astype(int)

    return ca.audit_recourse(people, rule, "gender", ["rich", "saves"], progress=False)


@cache
def explained() -> Any:
    """Error rates of a rule, over a finite program."""
    scm = ca.models.standard_prediction.scm_b()
    people = scm.prior_predictive(400, draws=1).isel(draw=0).to_dataframe()[["Z", "X", "W", "Y", "D"]]
    return ca.decompose_error_rates(
        ca.fit(scm, people, draws=200, progress=False), lambda people: people.W + people.D + people.X >= 2, "X",
        outcome="Y", population="exact", progress=False,
    )  # fmt: skip


@picture
def diagram() -> Any:
    return ca.plots.plot_diagram(ca.models.law_school.level_2().graph)


@picture
def large_diagram() -> Any:
    return ca.plots.plot_diagram(ca.models.adult.census().graph)


@picture
def conditional_diagram() -> Any:
    graph = ca.diagram([("X", "W"), ("X", "Y"), ("Z", "W"), ("Z", "Y"), ("W", "Y")], bidirected=[("X", "Z")])
    return ca.plots.plot_conditional_diagram(graph, ["X", "W", "Z"], "X", outcome="Y")


@picture
def predictive() -> Any:
    return ca.plots.plot_predictive(posterior(), "salary", by="gender", draws=50)


@picture
def worlds_of_salary() -> Any:
    return ca.plots.plot_worlds(draws(), "salary")


@picture
def effects() -> Any:
    women = draws().factual
    shift = {
        f"mean shift of {name}, $": draws().dataset[name].to_numpy().mean(1) - women[name].mean()
        for name in ("salary", "balance")
    }
    return ca.plots.plot_effects(shift)


@picture
def cases() -> Any:
    return ca.plots.plot_cases({"CST": tested()})


@picture
def forest() -> Any:
    return ca.plots.plot_forest(tested(), tested().at(15).index[:12], k=15)


@picture
def groups() -> Any:
    return ca.plots.plot_groups(tested(), tested().at(15).index[:5], "salary", k=15)


@picture
def distributions() -> Any:
    return ca.plots.plot_distributions(tested(), "salary")


@picture
def contributions() -> Any:
    return ca.plots.plot_contributions({"rule": explained()})


@picture
def frontier() -> Any:
    table = pd.DataFrame({"eps": [0.0, 0.02, 0.05, 0.1], "accuracy": [0.61, 0.66, 0.7, 0.71]})
    return ca.plots.plot_frontier({"total": table, "direct": table.assign(accuracy=table.accuracy + 0.01)})


@picture
def top_subgroups() -> Any:
    return ca.plots.plot_top_subgroups(recourse(), "equal_effectiveness", n=4)


@picture
def effectiveness_cost() -> Any:
    return ca.plots.plot_effectiveness_cost(recourse(), {"rich": False, "saves": False})


@picture
def rank_agreement() -> Any:
    return ca.plots.plot_rank_agreement(recourse())


@picture
def disparity() -> Any:
    return ca.plots.plot_disparity(scanned())


@picture
def null() -> Any:
    return ca.plots.plot_null(scanned())


@picture
def calibration_of_expectations() -> Any:
    return ca.plots.plot_calibration(scanned())


@picture
def power() -> Any:
    rows = [(d, m, name, min(1.0, m * gain)) for d in (0, 1) for m in (0.0, 0.25, 0.5) for name, gain in GAINS.items()]
    table = pd.DataFrame(rows, columns=["dataset", "mu_sep", "detector", "accuracy"])
    return ca.plots.plot_power(PowerResult(table, {"datasets": 2, "alpha": 0.05}), "mu_sep")


GAINS = {"scan": 1.8, "another detector": 0.9}


@picture
def impact_ratios() -> Any:
    return ca.plots.plot_impact_ratios(ca.impact_ratios(applicants(), "approved", ["gender"], favourable=True))


@picture
def verdict_map() -> Any:
    return ca.plots.plot_verdict_map(worlds(), units=list(worlds().table.unit[:20]))


@picture
def headlines() -> Any:
    return ca.plots.plot_headlines(worlds())


@picture
def variance_shares() -> Any:
    return ca.plots.plot_variance_shares(worlds())


@picture
def sweep() -> Any:
    swept = ca.coupling_sensitivity(posterior(), audit, ["salary"], [1.0, 0.9, 0.5, 0.0], threshold=20)
    return ca.plots.plot_sweep(swept)


def main() -> None:
    """Write all of them."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the documentation.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for name, make in FIGURES.items():
        make().figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close("all")


if __name__ == "__main__":
    main()
