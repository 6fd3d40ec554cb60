"""Plots of bias scans: functions that take axes or make them, and return them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

if TYPE_CHECKING:
    from causalaudit.bias_scan.result import BiasScanResult

_OTHERS, _OURS, _EXPECTED = "#7f7f7f", "#c44e52", "#4c72b0"


def plot_disparity(results: "BiasScanResult | Mapping[str, BiasScanResult]", ax: Axes | None = None) -> Axes:
    """Draw the best subgroups of one or more scans: expected against observed."""
    ax = plt.gca() if ax is None else ax
    return ax
