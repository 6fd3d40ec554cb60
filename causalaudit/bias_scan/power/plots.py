"""Plots of detection power: functions that take axes or make them, and return them."""

from typing import TYPE_CHECKING

from causalaudit.arguments import check_types
from causalaudit.errors import DataError
from causalaudit.figures import GREY, INK, MARKERS, PALETTE, as_written, own_axes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from causalaudit.bias_scan.power.evaluation import PowerResult

_COLOURS = (*PALETTE, GREY, INK)  # there are eight detectors in the figures of the paper
_MARKERS = (*MARKERS, "<", ">")
_DEFAULTS = {"mu_sep": 0.0, "mu_suf": 0.0, "delta": 0.0, "n_bias": 2, "p_bias": 0.5}
_DEFAULTS |= {"mu_sep_logit": 0.0, "mu_suf_logit": 0.0, "delta_logit": 0.0}
_DEFAULTS |= {"sigma_true": 0.6, "sigma_predict": 0.2}
_LABELS = {
    "mu_sep": "increase of predicted probabilities, μ_sep",
    "mu_suf": "decrease of true probabilities, μ_suf",
    "delta": "base-rate difference, δ",
    "mu_sep_logit": "increase of predicted log-odds, μ′_sep",
    "mu_suf_logit": "decrease of true log-odds, μ′_suf",
    "delta_logit": "base-rate difference in log-odds, δ′",
    "n_bias": "attributes that define the subgroup",
    "p_bias": "probability of a value to be included",
    "sigma_true": "spread of true log-odds, σ_true",
    "sigma_predict": "error of predicted log-odds, σ_predict",
}


def plot_power(power: "PowerResult", against: str = "mu_sep", ax: "Axes | None" = None, **fixed: float) -> "Axes":
    """Draw mean accuracy of each detector against a setting of the experiments, with intervals.

    Figures 1 to 3 of Boxer, McFowland and Neill (2024).

    Parameters
    ----------
    power
        What `evaluate_power` returned.
    against
        The setting on the axis.
    ax
        Where to draw.
    **fixed
        Values of other settings that vary, such as ``mu_sep=0.5`` when drawing against `n_bias`; by default no other
        signal, and the paper's size of the subgroup.

    Examples
    --------
    >>> import pandas as pd
    >>> from causalaudit.bias_scan import PowerResult
    >>> rows = [(d, m, "a scan", m) for d in (0, 1) for m in (0.0, 0.5)]
    >>> table = pd.DataFrame(rows, columns=["dataset", "mu_sep", "detector", "accuracy"])
    >>> power = PowerResult(table, {"datasets": 2, "alpha": 0.05})
    >>> plot_power(power, "mu_sep").get_ylabel()
    'accuracy (Jaccard), 95% band'
    """
    check_types(plot_power, locals())
    rows = _chosen(power, against, fixed)
    ax = own_axes(ax)
    for place, (name, line) in enumerate(rows.groupby("detector", sort=False)):
        colour, line = _COLOURS[place % len(_COLOURS)], line.sort_values(against)
        ax.plot(
            line[against], line["accuracy"], marker=_MARKERS[place % len(_MARKERS)], color=colour, label=str(name),
            markersize=4, linewidth=1.2,
        )  # fmt: skip
        ax.fill_between(line[against], line["wald_low"], line["wald_high"], color=colour, alpha=0.12, linewidth=0)
    level = 1 - power.settings["alpha"]
    ax.set(xlabel=_LABELS[against], ylabel=f"accuracy (Jaccard), {level:.0%} band", ylim=(0, 1.05))
    ax.legend(frameon=False, fontsize="small")
    return as_written(ax)


def _chosen(power: "PowerResult", against: str, fixed: dict[str, float]) -> "pd.DataFrame":
    """Return the mean accuracies at the fixed values of all other settings."""
    rows = power.summary()
    for name in (against, *fixed):
        if name not in _DEFAULTS or name not in rows:
            known = ", ".join(name for name in _DEFAULTS if name in rows)
            raise DataError(f"{name!r} is no setting of these experiments: {known}.")
    for name, default in _DEFAULTS.items():
        if name in rows and name != against and (name in fixed or len(rows[name].unique()) > 1):
            rows = rows[rows[name] == fixed.get(name, default)]
    if rows.empty:
        raise DataError(f"No experiment has {fixed or 'the default values'} beside {against!r}: give the values.")
    return rows
