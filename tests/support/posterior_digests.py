"""Digests of posteriors, and a program that loads saved ones in a process of its own and prints theirs."""

import hashlib
import json
import sys
from pathlib import Path

import causalaudit as ca
from causalaudit.models import adult, compas, german_credit, law_school, loan, mediation, standard_prediction
from causalaudit.storage import pack

MODELS = {
    "loan.linear": loan.linear,
    "law_school.level_2": law_school.level_2,
    "law_school.level_3": law_school.level_3,
    "law_school.level_3_interaction": law_school.level_3_interaction,
    "law_school.intersectional": law_school.intersectional,
    "standard_prediction.xor": standard_prediction.xor,
    "standard_prediction.xor_exogenous": standard_prediction.xor_exogenous,
    "standard_prediction.plain_bernoulli": standard_prediction.plain_bernoulli,
    "standard_prediction.scm_b": standard_prediction.scm_b,
    "mediation.true_process": mediation.true_process,
    "mediation.linear": mediation.linear,
    "compas.figure_1": compas.figure_1,
    "german_credit.applications": german_credit.applications,
    "adult.census": adult.census,
}
# Its latent is a count without end, which cannot be summed out: it is simulated from, never fitted.
NEVER_FITTED = {"loan.true_process"}


def digest(posterior: ca.Posterior) -> str:
    """Return the digest of every bit and type of a posterior: draws, densities, statistics, data and settings."""
    groups = {name: posterior.idata[name] for name in sorted(posterior.idata.groups())}
    skeleton, arrays = pack({"groups": groups, "data": posterior.data, "settings": posterior.settings})
    found = hashlib.sha256(json.dumps(skeleton).encode())
    for name in sorted(map(str, arrays)):
        found.update(arrays[name].to_numpy().tobytes())
    return found.hexdigest()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    found = {path.stem: digest(ca.Posterior.load(path, MODELS[path.stem]())) for path in folder.glob("*.nc")}
    print(json.dumps(found))
