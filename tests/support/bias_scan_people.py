"""People whose treatment is fair, or biased against one subgroup, by known equations."""

import numpy as np
import pandas as pd
from scipy.special import expit

LETTERS = np.array(list("abcdefgh"))


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
