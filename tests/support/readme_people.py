"""People, classifiers and answers that the README's blocks on recourse speak of: its reader brings their own."""

import numpy as np
import pandas as pd

import causalaudit as ca

FEATURES = ["age", "education-num", "occupation", "race", "capital-gain"]


def bank_of_before():
    """The decision that the section on situation testing defines."""
    return {"bank": lambda people: people.salary + 5 * people.balance > 225_000}


def people_with_recourse(n=1_500):
    """A table like Adult, and a classifier that asks more of women."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "sex": rng.choice(["Female", "Male"], n),
            "age": rng.choice([25, 45, 65], n),
            "education-num": rng.choice([9, 10, 13], n),
            "occupation": rng.choice(["Sales", "Craft", "Unknown"], n),
            "race": rng.choice(["White", "Other"], n),
            "capital-gain": rng.choice([0, 5_000], n, p=[0.8, 0.2]),
        }
    )

    def classifier(table):
        points = (table["education-num"] > 9).astype(int) + (table["capital-gain"] > 0) + (table["age"] > 30)
        return (points - (table["sex"] == "Female") >= 1).astype(int)

    return {"people": people, "classifier": classifier, "features": FEATURES}


def binned_people(n=600):
    """Applicants whose hours are binned, a posterior of a program of the numbers, and a rule that reads the bins."""
    import pyro
    import pyro.distributions as dist

    def hours(n):
        base = pyro.sample("base", dist.Normal(40.0, 10.0))
        gap = pyro.sample("gap", dist.Normal(0.0, 10.0))
        with pyro.plate("individuals", n):
            sex = pyro.sample("sex", dist.Bernoulli(0.5))
            pyro.sample("hours-per-week", dist.Normal(base + gap * sex, 5.0))

    rng = np.random.default_rng(0)
    sex = rng.choice(["Male", "Female"], n)
    people = pd.DataFrame({"sex": sex, "hours-per-week": 45 - 4 * (sex == "Female") + 5 * rng.normal(size=n)})
    posterior = ca.fit(ca.SCM(hours, levels={"sex": ["Male", "Female"]}), people, draws=50, chains=2, progress=False)
    binned = people.assign(**{"hours-per-week": np.where(people["hours-per-week"] > 45, "long", "full")})

    def classifier(table):
        return (table["hours-per-week"] == "long").astype(int)

    return {"binned": binned, "classifier": classifier, "features": ["hours-per-week"], "posterior": posterior}
