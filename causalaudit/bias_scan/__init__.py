"""Conditional bias scan: the subgroup of a protected class that a classifier treats most differently.

The way of a scan: `question` (what is asked, people counted) → `evidence` (expectations, scores, search, null tables,
disparities) → `result`. `scan` is its front door; `power` evaluates scans on people with a known bias.

References
----------
Boxer, McFowland and Neill (2024), Auditing predictive models for intersectional biases: "the paper" in this folder.
"""

from causalaudit.bias_scan.power.evaluation import PowerResult, evaluate_power, experiments
from causalaudit.bias_scan.question.criteria import COMMON_NAMES, Criterion
from causalaudit.bias_scan.result.result import BiasScanResult
from causalaudit.bias_scan.result.several_scans import bonferroni
from causalaudit.bias_scan.scan import scan_bias

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
