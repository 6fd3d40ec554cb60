"""Bias scans beside AIF360's MDSS on the same expectations; null draws; a million people; detection power of others.

MDSS runs in its own environment (`aif360-constraints.txt`) and is given each protected person's features, event and
expectation, as our models computed them. Ours is timed from the same people: counting them is part of the search.
"""

import json
import os
import tempfile
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

import causalaudit as ca
from benchmarks.peers.environments import interpreter, printed_by
from benchmarks.peers.subgroup_auditors import gerryfair_detector, multiaccuracy_detector
from benchmarks.report import Figure, Report, cpu_seconds, median_cpu_seconds, peak_gigabytes
from causalaudit.bias_scan import BiasScanResult, evaluate_power
from causalaudit.bias_scan.evidence.expectations import LogisticModels
from causalaudit.bias_scan.evidence.scores import dispersion_of, evidence_of
from causalaudit.bias_scan.evidence.search import FoundSubgroup, SubgroupSearch
from causalaudit.bias_scan.question.scan_question import ScanQuestion, read_question
from causalaudit.errors import CausalAuditWarning, DataError

FEATURES = ["sex", "race", "c_charge_degree", "age_group", "priors"]
RESTARTS = 500
NULL_DRAWS = 1_000
PEOPLE = 1_000_000
DATASETS = 30
FPR: dict[str, Any] = {"recommendation": "recommendation", "criterion": "false positive rate", "direction": "positive"}
CALIBRATION: dict[str, Any] = {"prediction": "prediction", "criterion": "sufficiency", "direction": "negative"}
SCANS: list[tuple[dict[str, str], dict[str, Any]]] = [
    ({"race": "African-American"}, FPR),
    ({"age_group": "under 25"}, FPR),
    ({"age_group": "25 and over"}, CALIBRATION),
]
_PEER = Path(__file__).parent / "peers" / "aif360_mdss.py"
_SHARED = Path(__file__).parents[2] / "shared" / "data" / "compas_two_years.csv"


def defendants() -> tuple[pd.DataFrame, str]:
    """Return the table of the paper's section 4, or one of invented people; and which."""
    beside = None if os.environ.get("CAUSALAUDIT_DATA") or not _SHARED.is_file() else _SHARED
    try:
        return ca.models.compas.scan_table(ca.datasets.load_compas(beside)), "COMPAS"
    except DataError:
        people = ca.models.compas.scan_table(ca.datasets.make_compas(6_172))
        return people, "generated people, since compas_two_years.csv was not found"


def asked(people: pd.DataFrame, protected: dict[str, str], scan: dict[str, Any]) -> ScanQuestion:
    """Return the question of a scan."""
    features = [name for name in FEATURES if name not in protected]
    return read_question(people, protected, "two_year_recid", features=features, **scan)


def expectations(question: ScanQuestion) -> np.ndarray:
    """Return the expectation of each kept stratum."""
    strata = question.strata()
    return LogisticModels().expect(strata, strata.protected_counts(question.protected)[None]).chance


def search(question: ScanQuestion, chance: np.ndarray, exhaustive: bool) -> FoundSubgroup:
    """Count the people and find their best subgroup, with given expectations."""
    strata = question.strata()
    plan = SubgroupSearch.plan(strata.cells, question.sizes, 1.0, RESTARTS, 0)
    protected = strata.protected_counts(question.protected)[None]
    dispersion = dispersion_of(question, strata, strata.count - protected, chance)
    evidence = evidence_of(question, strata, protected, chance, dispersion)
    return replace(plan, exhaustive=exhaustive).best(evidence)[0]


def written(people: pd.DataFrame, question: ScanQuestion, chance: np.ndarray, path: Path) -> None:
    """Write each protected person's features, event and expectation."""
    strata = question.strata()
    ours = question.protected & question.inside
    place = np.searchsorted(strata.kept, strata.stratum_of[strata.record_of[ours]])
    names = [feature.name for feature in question.features]
    table = people.loc[ours, names].assign(event=question.event[ours].astype(int), expectation=chance[0][place])
    table.to_csv(path, index=False)


def compare(people: pd.DataFrame, question: ScanQuestion, python: Path) -> tuple[dict[str, float], dict[str, Any]]:
    """Search by MDSS and by both of ours, which must find the same optimum; return our seconds and MDSS's report."""
    chance = expectations(question)
    direction = "positive" if question.positive else "negative"
    with tempfile.TemporaryDirectory() as folder:
        written(people, question, chance, Path(folder) / "people.csv")
        command = [str(python), str(_PEER), f"{folder}/people.csv", direction, "1", str(RESTARTS)]
        peer: dict[str, Any] = json.loads(printed_by(command).splitlines()[-1])
    wanted = {name: sorted(values) for name, values in peer["subgroup"].items()}
    for exhaustive in (False, True):
        found = search(question, chance, exhaustive)
        described = {name: sorted(values) for name, values in question.describe(found.masks).items()}
        if described != wanted or abs(found.score - peer["score"]) > 1e-3:
            raise RuntimeError(f"We find {found.score} in {described}, MDSS {peer['score']} in {wanted}.")
    kinds = {"ascent": False, "exhaustive": True}
    seconds = {kind: median_cpu_seconds(partial(search, question, chance, flag), 5) for kind, flag in kinds.items()}
    return seconds, peer


def beside_mdss(people: pd.DataFrame, source: str) -> tuple[list[Figure], list[str]]:
    """Scan by MDSS and by both of ours."""
    python = interpreter("aif360", "aif360[FACTS]")
    ratios, notes = [], []
    for protected, scan in SCANS:
        seconds, peer = compare(people, asked(people, protected, scan), python)
        ratios.append({kind: peer["seconds"] / taken for kind, taken in seconds.items()})
        ((column, level),) = protected.items()
        notes.append(
            f"{source}, {column} {level}, {scan['criterion']}: MDSS {peer['version']} {peer['seconds']:.1f} s, "
            f"ascent {seconds['ascent']:.3f} s, exhaustive {seconds['exhaustive']:.4f} s of CPU; all three find "
            f"{peer['subgroup']} with F = {peer['score']:.3f}."
        )
    least = {kind: min(ratio[kind] for ratio in ratios) for kind in ratios[0]}
    figures = [
        Figure(f"MDSS / coordinate ascent, {RESTARTS} restarts each", least["ascent"], above=10),
        Figure("MDSS / exhaustive", least["exhaustive"], above=200),
    ]
    return figures, [*notes, "The ratios are the smallest of these scans; that the optimum is the same is checked."]


def null_draws(people: pd.DataFrame, source: str) -> tuple[list[Figure], list[str]]:
    """Draw all null tables of two scans for race."""
    figures, notes = [], []
    predictions = {"prediction": "prediction", "criterion": "separation", "given": 0}
    for name, scan in {"false positive rate": FPR, "separation of predictions": predictions}.items():
        result, seconds = cpu_seconds(partial(scanned, people, permutations=NULL_DRAWS, **scan))
        drawn = 0 if result.null_scores is None else len(result.null_scores)
        figures.append(Figure(f"{drawn:,} null draws for race, {name}, CPU time", seconds, "s", below=30))
        notes.append(f"{source}, race, {name}: F = {result.score:.1f}, p = {result.p_value:.4f} by {drawn:,} draws.")
    return figures, [*notes, "Null draws ran in one process; the target of 30 s is for two."]


def scanned(people: pd.DataFrame, **arguments: Any) -> BiasScanResult:
    """Scan for race."""
    features = [name for name in FEATURES if name != "race"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CausalAuditWarning)
        return ca.scan_bias(
            people, {"race": "African-American"}, "two_year_recid", features=features, progress=False, **arguments
        )


def many_people() -> tuple[list[Figure], list[str]]:
    """Scan a million people, each with a prediction of her own."""
    people = ca.models.compas.scan_table(ca.datasets.make_compas(PEOPLE))
    noise = np.random.default_rng(0).normal(0, 0.05, PEOPLE)
    people["prediction"] = expit(logit(people["prediction"]) + noise)
    before = peak_gigabytes()
    question = asked(people, {"race": "African-American"}, CALIBRATION)
    chance, fitted = cpu_seconds(lambda: expectations(question))
    found, seconds = cpu_seconds(lambda: search(question, chance, exhaustive=True))
    _, whole = cpu_seconds(partial(scanned, people, **CALIBRATION))
    figures = [
        Figure(f"{PEOPLE:,} people, counted and searched, CPU time", seconds, "s", below=20),
        Figure(f"{PEOPLE:,} people, models fitted before, CPU time", fitted, "s"),
        Figure(f"{PEOPLE:,} people, the whole of scan_bias, CPU time", whole, "s"),
        Figure(f"{PEOPLE:,} people, peak memory of the process", peak_gigabytes(), "GB", below=2),
        Figure("peak memory before", before, "GB"),
    ]
    return figures, [
        f"A million invented people, sufficiency of predictions that all differ, so that nobody shares an expectation: "
        f"{question.describe(found.masks)} is found."
    ]


def power(people: pd.DataFrame, source: str) -> tuple[list[Figure], list[str]]:
    """Detection power beside GerryFair and MultiAccuracy Boost."""
    detectors = {"GerryFair": gerryfair_detector, "MultiAccuracy Boost": multiaccuracy_detector}
    result, seconds = cpu_seconds(
        lambda: evaluate_power(people[FEATURES], datasets=DATASETS, detectors=detectors, progress=False)
    )
    summary, names = result.summary(), result.settings["detectors"]
    wide = summary.pivot_table(index=["mu_sep", "mu_suf", "delta"], columns="detector", values="accuracy", sort=False)
    lead = wide[names[:4]].max(axis=1) - wide[names[4:]].max(axis=1)
    figures = [
        Figure(f"power, {DATASETS} data sets × 6 experiments × 6 detectors, CPU time", seconds, "s"),
        Figure("power, best scan − best comparator, least over signals", lead.iloc[1:].min(), above=0),
    ]
    error = summary["standard_error"].max()
    table = wide[names].round(2).reset_index().to_string(index=False)
    return figures, [f"Jaccard accuracy on {source}, mean of {DATASETS}, standard errors up to {error:.2f}:\n{table}"]


def run() -> Report:
    """Measure all; memory first, since its peak never falls."""
    people, source = defendants()
    parts = [many_people(), beside_mdss(people, source), null_draws(people, source), power(people, source)]
    return Report(
        [figure for figures, _ in parts for figure in figures], [note for _, notes in parts for note in notes]
    )
