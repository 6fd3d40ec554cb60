"""What people would have been: abduction, action and prediction over all draws."""

from causalaudit.counterfactuals.ask import counterfactuals
from causalaudit.counterfactuals.draws import CounterfactualDraws
from causalaudit.counterfactuals.population import population

__all__ = ["CounterfactualDraws", "counterfactuals", "population"]
