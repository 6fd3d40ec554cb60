"""A tiny audit, in files: what the tests of configurations, runs and the command line share."""

import numpy as np
import pandas as pd

MODEL = """
import pyro
import pyro.distributions as dist


def wages(n):
    gap = pyro.sample("gap", dist.Normal(0.0, 5.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("wage", dist.Normal(20.0 + gap * sex, 4.0))


def hired(people):
    return (people["wage"] > 20).astype(int)
"""

CONFIGURATION = """model = "model.py:wages"
[levels]
sex = ["m", "f"]
[data]
path = "people.csv"
index = "person"
[decision]
rule = "model.py:hired"
favourable = 1
[fit]
method = "laplace"
draws = 25
[[intervention]]
name = "as men"
do = { sex = "m" }
rows = { sex = "f" }
draws = 20
[[audit]]
kind = "situation_testing"
name = "women"
protected = { sex = "f" }
features = ["wage"]
counterfactuals = "as men"
k = 3
[[world]]
name = "no gap"
without = [["sex", "wage"]]
[comparison]
weights = "equal"
"""


def people(n=40):
    """Invented people, of whom women earn less."""
    rng = np.random.default_rng(0)
    sex = np.array(["m", "f"])[np.arange(n) % 2]
    wage = 20 + rng.normal(size=n) * 4 - 3 * (sex == "f")
    return pd.DataFrame({"person": [f"p{i}" for i in range(n)], "sex": sex, "wage": wage.round(1)})


def write_audit(folder, text=CONFIGURATION, model=MODEL, table=None):
    """Write the three files of the audit, and return the configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.py").write_text(model, encoding="utf-8")
    (people() if table is None else table).to_csv(folder / "people.csv", index=False)
    path = folder / "audit.toml"
    path.write_text(text, encoding="utf-8")
    return path
