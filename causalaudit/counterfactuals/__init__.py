"""What people would have been: abduction, action and prediction over all draws."""

from causalaudit.counterfactuals.ask import check_posterior, counterfactuals
from causalaudit.counterfactuals.bounded import AnyCoupling
from causalaudit.counterfactuals.coupling_bounds import CouplingBounds
from causalaudit.counterfactuals.draws import CounterfactualDraws
from causalaudit.counterfactuals.enumerated import EnumeratedPeople, EnumeratedWorlds
from causalaudit.counterfactuals.group_bounds import GroupBounds, bound_group
from causalaudit.counterfactuals.observed import ObservedPeople
from causalaudit.counterfactuals.on_disk import open_draws
from causalaudit.counterfactuals.population import influence_through_parameters, population
from causalaudit.counterfactuals.reweighted import ReweightedPeople
from causalaudit.counterfactuals.simulated import SimulatedPeople, SimulatedWorld, World
from causalaudit.counterfactuals.tabled import Tabled

__all__ = [
    "AnyCoupling",
    "CounterfactualDraws",
    "CouplingBounds",
    "EnumeratedPeople",
    "EnumeratedWorlds",
    "GroupBounds",
    "ObservedPeople",
    "ReweightedPeople",
    "SimulatedPeople",
    "SimulatedWorld",
    "Tabled",
    "World",
    "bound_group",
    "check_posterior",
    "counterfactuals",
    "influence_through_parameters",
    "open_draws",
    "population",
]
