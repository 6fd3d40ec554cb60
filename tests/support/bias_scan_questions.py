"""Questions of a bias scan and their evidence, person by person, for tests."""

import numpy as np

from causalaudit.bias_scan.expectations import LogisticModels
from causalaudit.bias_scan.question import ask

SCANS = {
    "separation of predictions": {"prediction": "p"},
    "separation of recommendations": {"recommendation": "flagged"},
    "sufficiency of predictions": {"prediction": "p", "criterion": "sufficiency"},
    "sufficiency of recommendations": {"recommendation": "flagged", "criterion": "sufficiency"},
}
PROTECTED = {"group": "b"}
FEATURES = ["x1", "x2"]


def question_of(people, direction="positive", features=None, bins=None, given=None, **scan):
    options = {"prediction": None, "recommendation": None, "criterion": "separation"} | scan
    return ask(people, PROTECTED, "y", given=given, direction=direction, features=features, bins=bins, **options)


def evidence_of(people, **options):
    question = question_of(people, **options)
    strata = question.strata()
    protected = strata.protected_counts(question.protected)[None]
    chance = LogisticModels().expect(strata, protected).chance
    return question, strata, question.evidence(strata, protected, chance), chance[0]


def person_by_person(question, strata, chance):
    """Event and expectation of each protected person who is scanned, and her place in the data."""
    people = np.flatnonzero(question.protected & question.inside)
    place = np.searchsorted(strata.kept, strata.stratum_of[strata.record_of[people]])
    return people, question.event[people], chance[place]
