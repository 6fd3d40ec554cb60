"""What the tests of reports hand over: an audit, a posterior and worlds with names that want to be code."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch

import causalaudit as ca

HOSTILE = [
    "<script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=2">',
    "';window.hacked=3;//",
    "]]><svg onload=window.hacked=4>",
    "$\\frac{1}{2$ $x$",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.hacked=5",
    '=HYPERLINK("http://example.com")',
    "+1+1",
    "@SUM(A1)",
    "مرحبا \u202e هذا",
    "👩🏽‍⚖️ judge",
    "x" * 300,
    "--> <!-- </style></title></textarea></svg>",
    "tab\tand\nline\r",
    "\x00\x08\ufffe",
    "a|b`c`*d*_e_[f](javascript:alert(1))",
    "&lt;b&gt; &amp;",
]
# The names of sites have no slash.
SEX, WAGE = '<b onclick="window.hacked=6">sex', "=wage & <img src=x onerror=window.hacked=7>"


def hostile_people(number=60):
    """People whose columns and levels are hostile."""
    rng = np.random.default_rng(0)
    groups = np.arange(number) % len(HOSTILE)
    sex = rng.integers(0, 2, number)
    wage = 20 + 2.0 * sex + rng.normal(0, 3, number)
    return pd.DataFrame(
        {
            SEX: [HOSTILE[1 + one] for one in sex],
            HOSTILE[0]: [HOSTILE[group] for group in groups],
            WAGE: wage,
            "hired": (wage + rng.normal(0, 2, number) > 21).astype(int),
        },
        index=[f"{HOSTILE[group]} {place}" for place, group in enumerate(groups)],
    )


def hostile_program(n):
    # </script><script>window.hacked=8</script> ]]> --> {{ 7 * 7 }}
    gap = pyro.sample("<i>gap", dist.Normal(0.0, 5.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample(SEX, dist.Bernoulli(torch.tensor(0.5)))
        pyro.sample(WAGE, dist.Normal(20.0 + gap * sex, 3.0))


def hostile_posterior(people):
    scm = ca.SCM(hostile_program, levels={SEX: HOSTILE[1:3]}, name="</title><script>window.hacked=9</script>")
    return ca.fit(scm, people, draws=50, chains=2, seed=0, progress=False)


def situation_test(people):
    return ca.situation_testing(people, "hired", {SEX: HOSTILE[1]}, features=[WAGE], k=5)


CONTEXT = {
    "question": HOSTILE[:3],
    "identity": {"system": HOSTILE[0], "version": HOSTILE[9], "auditor": HOSTILE[3], HOSTILE[1]: HOSTILE[4]},
    "data": {"origin": HOSTILE[13], "window": ["2025-01-01", HOSTILE[2]], "excluded": {HOSTILE[6]: 3}},
    "governance": {"contest": HOSTILE[16]},
}
