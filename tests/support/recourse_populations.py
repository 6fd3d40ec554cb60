"""Populations in which the effectiveness of every action is known, samples of them, and what every notion says."""

from dataclasses import dataclass

import numpy as np

from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.intervals import by_notion

PHI, BUDGET, NO_RECOURSE = 0.5, 2.0, 30.0
VALUES = (
    "effectiveness macro",
    "effectiveness micro",
    "budget macro",
    "budget micro",
    "choice",
    "cost macro",
    "cost micro",
    "conditional mean",
    "mean",
)
NOTIONS = (*VALUES, "trade-off macro", "trade-off micro")


@dataclass(frozen=True)
class Population:
    """The effectiveness of actions (last axis, costs rising) in two groups, in one subgroup or in many.

    Nested: who is helped by an action is helped by all that are as effective. Otherwise actions help independently.
    """

    first: np.ndarray
    second: np.ndarray
    cost: np.ndarray
    sizes: tuple[int, int]
    nested: bool = True

    def groups(self):
        return zip((self.first, self.second), self.sizes, strict=True)

    def reach(self, effectiveness):
        """The shares who are helped by an action or by one before it."""
        if self.nested:
            return np.maximum.accumulate(effectiveness, axis=-1)
        return 1 - np.cumprod(1 - effectiveness, axis=-1)

    def differences(self):
        return compare(*(values(group, self.reach(group), self.cost) for group in (self.first, self.second)), self.cost)

    def sample(self, rng, repeats):
        """Counts in `repeats` samples, one after the other, as subgroups."""
        drawn = [self._draw(rng, group, size, repeats) for group, size in self.groups()]
        flipped, reached = (np.stack([part[place].ravel() for part in drawn]) for place in (0, 1))
        return counted(flipped, reached, self.sizes, self.cost)

    def _draw(self, rng, group, size, repeats):
        if self.nested and (np.diff(group) >= 0).all():
            edges = np.zeros((*group.shape[:-1], 1))
            cells = np.diff(np.concatenate([edges, group, edges + 1], axis=-1), axis=-1)
            counts = rng.multinomial(size, np.broadcast_to(cells, (repeats, *cells.shape))).cumsum(-1)[..., :-1]
            return counts, counts
        helped = rng.random((repeats, size, 1 if self.nested else group.shape[-1])) < group
        return helped.sum(axis=1), np.logical_or.accumulate(helped, axis=2).sum(axis=1)


def counted(flipped, reached, sizes, cost):
    """Candidates with these counts (2 × pairs), all subgroups having the same sizes and costs."""
    flipped, reached = np.asarray(flipped), np.asarray(reached)
    number = flipped.shape[1] // len(cost)
    nothing = np.full((number, 1), -1)
    return Candidates(
        subgroups=nothing,
        sizes=np.repeat(np.array(sizes)[:, None], number, axis=1),
        start=np.arange(number + 1) * len(cost),
        actions=np.repeat(nothing, len(cost), axis=0),
        costs=np.tile(np.asarray(cost, dtype=float), number),
        flipped=flipped,
        reached=reached,
    )


def values(effectiveness, reach, cost):
    """What each notion says of a group, straight from its definition."""
    new = np.diff(reach, axis=-1, prepend=np.zeros((*reach.shape[:-1], 1)))
    total, paid, allowed = reach[..., -1], (new * cost).sum(-1), cost <= BUDGET
    works, quantile = effectiveness >= PHI - 1e-12, reach >= PHI - 1e-12
    return {
        "effectiveness macro": effectiveness.max(-1),
        "effectiveness micro": total,
        "budget macro": np.where(allowed, effectiveness, 0).max(-1),
        "budget micro": np.where(allowed, reach, 0).max(-1),
        "choice": works.sum(-1).astype(float),
        "cost macro": np.where(works, cost, np.inf).min(-1),
        "cost micro": np.where(quantile, cost, np.inf).min(-1),
        "conditional mean": np.where(total > 0, paid / np.where(total > 0, total, 1), np.inf),
        "mean": paid + (1 - total) * NO_RECOURSE,
        "trade-off macro": np.maximum.accumulate(effectiveness, axis=-1),
        "trade-off micro": reach,
    }


def compare(first, second, cost):
    """The first value less the second; distances for the trade-offs."""
    last = np.append(cost[1:] != cost[:-1], True)
    result = {}
    for name in NOTIONS:
        one, two = first[name], second[name]
        if name.startswith("trade-off"):
            result[name] = np.where(last, np.abs(one - two), 0).max(-1)
        else:
            both = np.isinf(one) & np.isinf(two)
            result[name] = np.where(both, 0.0, one - np.where(both, 0.0, two))
    return result


def observed(candidates, cost):
    """The differences in samples of populations with these costs."""
    shares = [
        [counts[group].reshape(-1, len(cost)) / candidates.sizes[group][:, None] for counts in each]
        for group, each in enumerate([(candidates.flipped, candidates.reached)] * 2)
    ]
    return compare(*(values(effectiveness, reach, cost) for effectiveness, reach in shares), cost)


def all_intervals(candidates, cost, alpha):
    """The intervals of every notion."""
    limits = by_notion.effectiveness_limits(candidates, alpha)
    distance = observed(candidates, cost)["trade-off micro"]
    return {
        "effectiveness macro": by_notion.macro_effectiveness(candidates, limits),
        "effectiveness micro": by_notion.micro_effectiveness(candidates, alpha),
        "budget macro": by_notion.macro_effectiveness(candidates, limits, BUDGET),
        "budget micro": by_notion.micro_effectiveness(candidates, alpha, BUDGET),
        "choice": by_notion.macro_choice(candidates, limits, PHI),
        "cost macro": by_notion.macro_cost(candidates, limits, PHI),
        "cost micro": by_notion.micro_cost(candidates, PHI, alpha),
        "conditional mean": by_notion.mean_cost(candidates, alpha),
        "mean": by_notion.mean_cost(candidates, alpha, NO_RECOURSE),
        "trade-off macro": by_notion.macro_tradeoff(candidates, limits),
        "trade-off micro": by_notion.micro_tradeoff(distance, candidates.sizes, alpha),
    }


def inside(ends, value):
    low, high = ends
    return (low <= value + 1e-9) & (value <= high + 1e-9)
