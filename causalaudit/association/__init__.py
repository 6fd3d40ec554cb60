"""Association tables: selection or scoring rates and impact ratios, as New York City's Local Law 144 defines them.

They describe who is selected. Why, they do not say: that takes a causal model.

References
----------
Rules of the City of New York, title 6, § 5-300 (definitions) and § 5-301 (bias audit): "the rule" in this folder.
"""

from causalaudit.association.ask import impact_ratios
from causalaudit.association.result import ImpactRatiosResult

__all__ = ["ImpactRatiosResult", "impact_ratios"]
