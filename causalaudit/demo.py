"""A tour on generated data: fit, ask a counterfactual question, look at the answer. Run by ``make demo``."""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from causalaudit import datasets, models, plots
from causalaudit.counterfactuals import CounterfactualDraws, counterfactuals
from causalaudit.decisions import decide, decide_draws
from causalaudit.inference import fit
from causalaudit.intervals import hdi

_PROB = 0.9


def bank(people: pd.DataFrame) -> "pd.Series[bool]":
    """Accept whoever has enough: the rule of Alvarez and Ruggieri (2025), section 5.2."""
    return people["salary"] + 5 * people["balance"] > 225_000


def answers(worlds: CounterfactualDraws) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return the posterior draws of three answers, and their true values, which generated data can tell."""
    women = worlds.factual
    rejected = decide(bank, women) == 0
    draws, truth = {}, {}
    for name in ("salary", "balance"):
        shift = worlds.dataset[name].to_numpy() - women[name].to_numpy()
        draws[f"mean shift of {name}, $1,000"] = shift.mean(axis=1) / 1000
        truth[f"mean shift of {name}, $1,000"] = float((women[f"{name}_if_male"] - women[name]).mean()) / 1000
    share = "rejected women accepted as men, share"
    draws[share] = decide_draws(bank, worlds)[:, rejected].mean(axis=1)
    truth[share] = float(women.loc[rejected, "approved_if_male"].mean())
    return draws, truth


def report(draws: dict[str, np.ndarray], truth: dict[str, float]) -> Table:
    """Arrange the answers as a table."""
    table = Table(title="Had the women who applied been men: do(gender := male)")
    for heading in ("", "posterior mean", f"{_PROB:.0%} HDI", "truth"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, values in draws.items():
        low, high = hdi(values, _PROB)
        table.add_row(name, f"{values.mean():.3f}", f"[{low:.3f}, {high:.3f}]", f"{truth[name]:.3f}")
    return table


def draw_plots(worlds: CounterfactualDraws, draws: dict[str, np.ndarray], out: Path) -> list[Path]:
    """Write the two pictures of the tour."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    out.mkdir(parents=True, exist_ok=True)
    paths = [out / "worlds.png", out / "effects.png"]
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for variable, ax in zip(("salary", "balance"), axes, strict=True):
        plots.plot_worlds(worlds, variable, _PROB, ax)
        ax.set_xlabel(f"{variable} of the women who applied ($)")
    figure.savefig(paths[0], dpi=150)
    figure, axes = plt.subplots(len(draws), 1, figsize=(8, 3.6), layout="constrained")
    for (name, values), ax in zip(draws.items(), axes, strict=True):
        plots.plot_effects({name: values}, _PROB, ax)
        ax.set_xlabel(ax.get_xlabel() if ax is axes[-1] else "")
    figure.savefig(paths[1], dpi=150)
    plt.close("all")
    return paths


def main() -> None:
    """Run the tour."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the plots")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    console = Console()

    applicants = datasets.make_loan(5000, seed=arguments.seed)
    scm = models.loan.linear()
    console.print(scm)
    posterior = fit(scm, applicants, seed=arguments.seed)
    console.print(posterior, f"\n{posterior.diagnostics(by='gender')}\n")
    console.print(posterior.summary(_PROB).round(3).to_string(), "\n")
    women = applicants["gender"] == "female"
    worlds = counterfactuals(posterior, do={"gender": "male"}, rows=women, draws=500, seed=arguments.seed)
    draws, truth = answers(worlds)
    console.print(report(draws, truth))
    console.print(
        "The intervals are about this program, which gives every woman the same penalty; in truth each has her own.\n"
        "Averages survive that, statements about single people do not (see the documentation of models.loan)."
    )
    for path in draw_plots(worlds, draws, arguments.out):
        console.print(f"wrote {path}")


if __name__ == "__main__":
    main()
