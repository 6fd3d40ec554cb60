"""All plots under one name: functions that take axes or open a figure of their own, and return the axes."""

from causalaudit.association.plots import plot_impact_ratios
from causalaudit.bias_scan.power.plots import plot_power
from causalaudit.bias_scan.result.plots import plot_calibration, plot_disparity, plot_null
from causalaudit.counterfactuals.plots import plot_effects, plot_worlds
from causalaudit.error_rates.explaining.plots import plot_conditional_diagram, plot_contributions
from causalaudit.error_rates.learning.plots import plot_frontier
from causalaudit.inference.posterior.plots import plot_predictive
from causalaudit.recourse.result.plots import plot_effectiveness_cost, plot_rank_agreement, plot_top_subgroups
from causalaudit.scm.plots import plot_diagram
from causalaudit.situation_testing.plots import plot_cases, plot_distributions, plot_forest, plot_groups
from causalaudit.worlds.plots import plot_headlines, plot_sweep, plot_variance_shares, plot_verdict_map

__all__ = [
    "plot_calibration",
    "plot_cases",
    "plot_conditional_diagram",
    "plot_contributions",
    "plot_diagram",
    "plot_disparity",
    "plot_distributions",
    "plot_effectiveness_cost",
    "plot_effects",
    "plot_forest",
    "plot_frontier",
    "plot_groups",
    "plot_headlines",
    "plot_impact_ratios",
    "plot_null",
    "plot_power",
    "plot_predictive",
    "plot_rank_agreement",
    "plot_sweep",
    "plot_top_subgroups",
    "plot_variance_shares",
    "plot_verdict_map",
    "plot_worlds",
]
