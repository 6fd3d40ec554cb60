"""Plots of bias scans: functions that take axes or make them, and return them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_types
from causalaudit.bias_scan.result.words import interval_words
from causalaudit.errors import DataError
from causalaudit.figures import BLUE, GREY, RED, as_written, mark_outside, own_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from causalaudit.bias_scan.result.result import BiasScanResult

_OTHERS, _OURS, _EXPECTED = GREY, RED, BLUE
_LINE = 46  # characters of a label, after which it goes on in the next line


def plot_disparity(results: "BiasScanResult | Mapping[str, BiasScanResult]", ax: "Axes | None" = None) -> "Axes":
    """Draw the best subgroups of one or more scans: observed minus expected, with intervals if there are draws.

    Parameters
    ----------
    results
        A result, of which all subgroups are drawn, or several with their names, of which the best is drawn.
    ax
        Where to draw.

    Examples
    --------
    >>> import numpy as np, pandas as pd, causalaudit as ca
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({name: rng.choice(list("ab"), 500) for name in ("group", "sex", "region")})
    >>> people["y"], people["flagged"] = rng.integers(0, 2, 500), rng.integers(0, 2, 500)
    >>> result = ca.scan_bias(people, {"group": "a"}, "y", recommendation="flagged", penalty=0.1, top=3)
    >>> len(ca.plots.plot_disparity(result).get_yticks())
    3
    """
    check_types(plot_disparity, locals())
    named = dict(results) if isinstance(results, Mapping) else {"": results}
    parts = [_labelled(name, result, several=len(named) > 1) for name, result in named.items()]
    rows = pd.concat(parts, ignore_index=True)
    ax = own_axes(ax)
    places = np.arange(len(rows))
    ax.axvline(0, color=_OTHERS, linewidth=0.8, linestyle=":")
    if "credible_low" in rows:
        for kind, style in zip(rows["interval"].dropna().unique(), ("-", "--", ":"), strict=False):
            own = (rows["interval"] == kind).to_numpy()
            ends = rows.loc[own, ["credible_low", "credible_high"]].to_numpy(float).T
            ax.hlines(places[own], *ends, color=_OURS, linewidth=1.6, linestyle=style, label=_wrapped(kind))
    ax.plot(rows["disparity"], places, "o", color=_OURS, markeredgecolor="white", markersize=6.5)
    if "disparity_low" in rows:
        low, high = rows["disparity_low"].astype(float), rows["disparity_high"].astype(float)
        mark_outside(ax, rows["disparity"], places, (rows["disparity"] < low) | (rows["disparity"] > high), _OURS)
    ax.set_yticks(places, rows["label"])
    ax.set(ylim=(len(rows) - 0.4, -0.6), xlabel="disparity: observed − expected")
    if "credible_low" in rows and len(rows):
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    if not len(rows):
        ax.text(0.5, 0.5, "no subgroup has a positive score", transform=ax.transAxes, ha="center", va="center")
    return as_written(ax)


def _labelled(name: str, result: "BiasScanResult", several: bool) -> pd.DataFrame:
    table = result.table.iloc[:1] if several else result.table
    words = result.summary()["subgroup"].iloc[: len(table)]
    sizes = [f"n = {n}" for n in table["n"]]
    head = f"{_wrapped(str(name))}:\n" if name else ""
    label = [head + _wrapped(f"{one} ({size})") for one, size in zip(words, sizes, strict=True)]
    interval = interval_words(result.settings["prob"], result.search_words) if "credible_low" in table else None
    return table.assign(label=label, interval=interval)


def _wrapped(text: str) -> str:
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + len(word) >= _LINE:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


def plot_null(result: "BiasScanResult", ax: "Axes | None" = None) -> "Axes":
    """Draw the highest scores of the tables drawn under the null hypothesis, and the score of the data.

    Examples
    --------
    >>> import numpy as np, pandas as pd, causalaudit as ca
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({name: rng.choice(list("ab"), 500) for name in ("group", "sex", "region")})
    >>> people["y"], people["flagged"] = rng.integers(0, 2, 500), rng.integers(0, 2, 500)
    >>> result = ca.scan_bias(people, {"group": "a"}, "y", recommendation="flagged", permutations=50)
    >>> ca.plots.plot_null(result).get_ylabel()
    'null draws'
    """
    check_types(plot_null, locals())
    if result.null_scores is None:
        raise DataError("There are no null draws to show: scan with permutations above 0.")
    ax = own_axes(ax)
    ax.hist(result.null_scores, bins=30, color=_OTHERS, alpha=0.6, label=f"{len(result.null_scores)} null draws")
    level = float(np.quantile(result.null_scores, 1 - result.settings["alpha"]))
    ax.axvline(
        level, color=_OTHERS, linewidth=1, linestyle="--", label=f"their {1 - result.settings['alpha']:.0%} quantile"
    )
    ax.axvline(result.score, color=_OURS, linewidth=1.8, label=f"these data, p = {result.p_value:.3g}")
    ax.set(xlabel=f"highest score F ({result.settings['null']} null)", ylabel="null draws")
    ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return as_written(ax)


def plot_calibration(result: "BiasScanResult", ax: "Axes | None" = None) -> "Axes":
    """Draw the calibration curves of the propensity and the outcome model (figures 9 to 12 of the paper).

    Bars are two standard errors of the observed frequencies.

    Examples
    --------
    >>> import numpy as np, pandas as pd, causalaudit as ca
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({name: rng.choice(list("ab"), 500) for name in ("group", "sex", "region")})
    >>> people["y"], people["flagged"] = rng.integers(0, 2, 500), rng.integers(0, 2, 500)
    >>> result = ca.scan_bias(people, {"group": "a"}, "y", recommendation="flagged")
    >>> ca.plots.plot_calibration(result).get_ylabel()
    'observed frequency'
    """
    check_types(plot_calibration, locals())
    if not len(result.calibration):
        raise DataError("A counterfactual scan has no models whose calibration could be drawn.")
    ax = own_axes(ax)
    ax.plot([0, 1], [0, 1], color=_OTHERS, linewidth=0.8, linestyle=":")
    looks: dict[str, Any] = {"propensity": (_EXPECTED, "o", "P(A | X)"), "outcome": (_OURS, "s", "E[I | C, X]")}
    for model, (colour, marker, formula) in looks.items():
        rows = result.calibration[result.calibration["model"] == model]
        ax.errorbar(
            rows["predicted"], rows["observed"], yerr=2 * rows["error"], color=colour, marker=marker, markersize=5,
            linewidth=1.2, capsize=2, label=f"{model} model, {formula}",
        )  # fmt: skip
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="predicted probability", ylabel="observed frequency", aspect="equal")
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    return as_written(ax)
