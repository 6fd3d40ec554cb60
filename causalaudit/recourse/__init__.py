"""Fairness of recourse for subgroups: how hard it is for two groups to turn an unfavourable decision."""

from causalaudit.recourse.audit import audit_recourse
from causalaudit.recourse.comparison import Comparison
from causalaudit.recourse.rankings import aggregated_rankings, rank_agreement, ranking_analysis
from causalaudit.recourse.result import RecourseResult

__all__ = [
    "Comparison",
    "RecourseResult",
    "aggregated_rankings",
    "audit_recourse",
    "rank_agreement",
    "ranking_analysis",
]
