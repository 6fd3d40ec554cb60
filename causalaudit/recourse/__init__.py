"""Fairness of recourse for subgroups: how hard it is for two groups to turn an unfavourable decision.

The way of the data: `question` (people as codes, what changes cost) → `evidence` (subgroups, actions, whom they help;
with a posterior, `causal`) → `notions` and `intervals` (what is compared, and how sure it is) → `result`. `audit` walks
it, `attributes` once for each of several protected attributes.
"""

from causalaudit.recourse.attributes import audit_attributes
from causalaudit.recourse.audit import audit_recourse
from causalaudit.recourse.question.actions import Actions
from causalaudit.recourse.question.items import AtLeast, AtMost
from causalaudit.recourse.result.comparison import Comparison
from causalaudit.recourse.result.rankings import aggregated_rankings, rank_agreement, ranking_analysis
from causalaudit.recourse.result.result import RecourseResult

__all__ = [
    "Actions",
    "AtLeast",
    "AtMost",
    "Comparison",
    "RecourseResult",
    "aggregated_rankings",
    "audit_attributes",
    "audit_recourse",
    "rank_agreement",
    "ranking_analysis",
]
