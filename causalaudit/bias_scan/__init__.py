"""Conditional bias scan: the subgroup of a protected class that a classifier treats most differently."""

from causalaudit.bias_scan.criteria import COMMON_NAMES, Criterion
from causalaudit.bias_scan.evaluation import PowerResult, evaluate_power, experiments
from causalaudit.bias_scan.result import BiasScanResult
from causalaudit.bias_scan.scan import scan_bias
from causalaudit.bias_scan.significance import bonferroni

__all__ = [
    "COMMON_NAMES",
    "BiasScanResult",
    "Criterion",
    "PowerResult",
    "bonferroni",
    "evaluate_power",
    "experiments",
    "scan_bias",
]
