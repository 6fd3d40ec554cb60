"""Ready-made structural causal models, one file each, with their equations and noise assumptions."""

from causalaudit.models import law_school, loan, standard_prediction

__all__ = ["law_school", "loan", "standard_prediction"]
