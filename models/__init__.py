"""Ready-made structural causal models, one file each, with their equations and noise assumptions."""

from causalaudit.models import adult, compas, german_credit, law_school, loan, mediation, standard_prediction

__all__ = ["adult", "compas", "german_credit", "law_school", "loan", "mediation", "standard_prediction"]
