"""People whose treatment is fair, or biased against one subgroup, by known equations."""

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit

import causalaudit as ca

LETTERS = np.array(list("abcdefgh"))


class Disparities:
    """The mean gap of any subgroup of the group "b" in a population, from sums over its cells."""

    def __init__(self, people, gap):
        features = [name for name in people if name.startswith("x")]
        ours = people[features].assign(gap=gap, number=1)[people["group"] == "b"]
        self.cells = ours.groupby(features, as_index=False).sum()

    def of(self, subgroup):
        held = [self.cells[name].isin(values) for name, values in subgroup.items()]
        inside = self.cells[np.logical_and.reduce([np.ones(len(self.cells), dtype=bool), *held])]
        return inside["gap"].sum() / inside["number"].sum()


def people_of(n, seed, sizes=(2, 3), strength=1.0, effect=0.0, base=-0.3, number=False):
    """Draw people: features x1, x2, …; `group` depends on them with the given strength.

    The log-odds `eta` of being flagged depend on the features and on y, and are raised by `effect` in the group "b" if
    x1 is "a". The prediction p is a noisy version of the same.
    """
    rng = np.random.default_rng([seed, 99])
    codes = [rng.integers(0, size, n) for size in sizes]
    slopes = (0.8, -0.6, 0.3, 0.2, -0.1, 0.1)
    lean = sum(slope * (code - (size - 1) / 2) for slope, code, size in zip(slopes, codes, sizes, strict=False))
    table = pd.DataFrame({f"x{at + 1}": LETTERS[code] for at, code in enumerate(codes)})
    age = rng.uniform(18, 70, n)
    if number:
        table["age"] = age
    ours = rng.random(n) < expit(strength * lean)
    table["group"] = np.where(ours, "b", "w")
    table["y"] = (rng.random(n) < expit(0.7 * lean)).astype(int)
    eta = base + 0.8 * lean + 0.7 * table["y"] + number * (age - 44) / 40 + effect * (ours & (codes[0] == 0))
    table["flagged"] = (rng.random(n) < expit(eta)).astype(int)
    table["p"] = expit(eta + rng.normal(0, 0.5, n)).round(3).clip(0.001, 0.999)
    table["eta"] = eta
    return table


def fair(n, seed, **options):
    return people_of(n, seed, **options).drop(columns="eta")


def biased(n, seed, effect=1.5, **options):
    return people_of(n, seed, effect=effect, **options).drop(columns="eta")


def spread_out(n, seed, shift=0.0, spread=1.0, base=2.0):
    """Draw people whose predictions are spread out; their log-odds are shifted in the group "b" if x1 is "a"."""
    people = people_of(n, seed, base=base)
    hit = (people["group"] == "b") & (people["x1"] == "a")
    noise = np.random.default_rng([seed, 7]).normal(0, spread, n)
    return people.assign(p=expit(people["eta"] + noise + shift * hit).clip(0.001, 0.999)).drop(columns="eta")


def crossed_people(n, seed, kind="pair"):
    """Draw fair people whose status and treatment depend on features by their parity alone.

    "pair": of two features with levels; "numbers": the signs of two numbers; "triple": of three features.
    """
    rng = np.random.default_rng([seed, 11])
    codes = rng.integers(0, 2, (3, n))
    numbers = rng.normal(size=(2, n))
    odd = {"pair": codes[0] ^ codes[1], "triple": codes[0] ^ codes[1] ^ codes[2], "numbers": numbers.prod(axis=0) > 0}
    side = 2.0 * odd[kind] - 1
    columns = {f"x{at + 1}": LETTERS[code] for at, code in enumerate(codes)}
    columns |= {"x1": numbers[0], "x2": numbers[1]} if kind == "numbers" else {}
    table = pd.DataFrame(columns)
    table["group"] = np.where(rng.random(n) < expit(0.7 * side), "b", "w")
    table["y"] = rng.integers(0, 2, n)
    table["flagged"] = (rng.random(n) < expit(0.7 * side - 0.3)).astype(int)
    table["p"] = expit(0.7 * side - 0.3 + rng.normal(0, 0.7, n))
    return table


RESIDUALS = {
    "normal": lambda rng, n: rng.normal(0, 1.2, n),
    "stepped": lambda rng, n: rng.choice([-2.0, 0.0, 0.5, 3.0], n, p=[0.3, 0.3, 0.3, 0.1]),
    "skewed": lambda rng, n: 2.0 * rng.exponential(1.0, n) - 2.0,
}


def predicted(n, seed, residuals, effect=0.0):
    """Draw people whose predictions have log-odds with residuals of some shape.

    `p0` is what the prediction would be without the effect on the group "b" where x1 is "a".
    """
    people = people_of(n, seed, effect=effect)
    rest = RESIDUALS[residuals](np.random.default_rng([seed, 8]), n)
    hit = (people["group"] == "b") & (people["x1"] == "a")
    with_, without = (expit(people["eta"] + rest - taken * hit) for taken in (0.0, effect))
    return people.assign(p=with_, p0=without).drop(columns="eta")


def counterfactual_predictions(people, draws, seed, effect=None):
    """Return what the predictions of the group "b" would be, had they been of "w": draws × people.

    The log-odds are additive in the features, y and the effect of the group where x1 is "a", whose posterior is that of
    a linear regression, unless it is known; everybody keeps the residual.
    """
    odds = np.log(people["p"] / (1 - people["p"])).to_numpy()
    hit = ((people["group"] == "b") & (people["x1"] == "a")).to_numpy()
    if effect is not None:
        return np.tile(expit(odds - effect * hit), (draws, 1))
    dummies = pd.get_dummies(people[["x1", "x2"]], drop_first=True).to_numpy(dtype=float)
    rows = np.column_stack([hit, np.ones(len(people)), dummies, people["y"]])
    inverse = np.linalg.inv(rows.T @ rows)
    found = inverse @ rows.T @ odds
    spread = np.sqrt(((odds - rows @ found) ** 2).mean() * inverse[0, 0])
    drawn = np.random.default_rng([seed, 9]).normal(found[0], spread, (draws, 1))
    return expit(odds - drawn * hit)


def counterfactual_flags(people, draws, seed):
    """Return who of the group "b" would be flagged, had they been of "w", with monotone noise: draws × people.

    The rates of each combination of group, features and y have their posteriors with Jeffreys' priors.
    """
    rng = np.random.default_rng([seed, 10])
    cell = people.groupby(["x1", "x2", "y"]).ngroup().to_numpy()
    flagged = people["flagged"].to_numpy()
    rates = []
    for group in "bw":
        own = (people["group"] == group).to_numpy()
        events, number = np.bincount(cell[own], flagged[own], cell.max() + 1), np.bincount(cell[own])
        rates.append(rng.beta(events + 0.5, number - events + 0.5, (draws, len(events)))[:, cell])
    with_, without = rates
    kept = np.where(flagged == 1, without / with_, (without - with_) / (1 - with_))
    return (rng.random(kept.shape) < kept).astype(float)


def worlds_of(people, column, values):
    """Counterfactuals of a column under another group, draw by draw."""
    coordinates = {"draw": np.arange(len(values)), "individual": people.index.to_numpy()}
    dataset = xr.Dataset({column: (("draw", "individual"), values)}, coords=coordinates)
    return ca.CounterfactualDraws(dataset, people, {"group": "w"}, people)
