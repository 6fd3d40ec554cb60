"""Questions of a bias scan and their evidence, person by person, for tests."""

import numpy as np

from causalaudit.bias_scan.evidence.expectations import LogisticModels
from causalaudit.bias_scan.evidence.scores import dispersion_of
from causalaudit.bias_scan.evidence.scores import evidence_of as evidence_of_people
from causalaudit.bias_scan.question.scan_question import read_question

SCANS = {
    "separation of predictions": {"prediction": "p"},
    "separation of predictions, the paper's scale": {"prediction": "p", "scale": "paper", "sigma": 0.8},
    "separation of recommendations": {"recommendation": "flagged"},
    "sufficiency of predictions": {"prediction": "p", "criterion": "sufficiency"},
    "sufficiency of recommendations": {"recommendation": "flagged", "criterion": "sufficiency"},
}
PROTECTED = {"group": "b"}
FEATURES = ["x1", "x2"]


def question_of(people, **options):
    return read_question(people, PROTECTED, "y", **options)


def evidence_of(people, **options):
    question = question_of(people, **options)
    strata = question.strata()
    protected = strata.protected_counts(question.protected)[None]
    chance = LogisticModels().expect(strata, protected).chance
    dispersion = dispersion_of(question, strata, strata.count - protected, chance)
    return question, strata, evidence_of_people(question, strata, protected, chance, dispersion), chance[0]


def person_by_person(question, strata, chance):
    """Event and expectation of each protected person who is scanned, and her place in the data."""
    people = np.flatnonzero(question.protected & question.inside)
    place = np.searchsorted(strata.kept, strata.stratum_of[strata.record_of[people]])
    return people, question.event[people], chance[place]
