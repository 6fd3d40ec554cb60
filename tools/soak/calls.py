"""Valid calls of the public functions and methods: what is mutated."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import causalaudit as ca
from causalaudit import inference, models, plots
from causalaudit.bias_scan import bonferroni, evaluate_power, experiments
from causalaudit.inference.calibration import calibrate
from causalaudit.recourse import aggregated_rankings, audit_attributes, rank_agreement, ranking_analysis
from causalaudit.situation_testing import Shift, average_shares, choose_k, count_two_sided, describe_groups
from causalaudit.worlds import implied_independencies
from tools.soak.scene import (
    COVARIATES,
    EDGES,
    LEVELS,
    Scene,
    audit_of_cases,
    audit_of_rates,
    chance,
    model_of_sites,
    program,
    rule,
)


@dataclass(frozen=True)
class Call:
    """A function with arguments that it answers.

    Attributes
    ----------
    name
        What is called.
    function
        Called with keywords.
    arguments
        The keywords.
    missing
        Columns of the answer in which NaN has a documented meaning.
    repeats
        Arguments that say how often something is repeated: a huge one is no mistake, and takes as long as it says.
    rare
        Whether it takes a second or more.
    """

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    missing: frozenset[str] = field(default_factory=frozenset)
    repeats: frozenset[str] = field(default_factory=frozenset)
    rare: bool = False


def all_calls(scene: Scene, folder: Path) -> list[Call]:
    """Return the calls of all rooms."""
    rooms = (_models, _fits, _worlds_of_people, _situations, _rates, _fair, _recourse, _scans, _assumptions, _results,
             _plots, _tables, _files)  # fmt: skip
    return [call for room in rooms for call in room(scene, folder)]


def _call(
    name: str,
    function: Callable[..., Any],
    /,
    *,
    missing: str = "",
    repeats: str = "",
    rare: bool = False,
    **arguments: Any,
) -> Call:
    return Call(name, function, arguments, frozenset(missing.split()), frozenset(repeats.split()), rare)


def _models(scene: Scene, folder: Path) -> list[Call]:
    scm = scene.scm
    return [
        _call("SCM", ca.SCM, program=program, levels=LEVELS, latents=[], coords=None, plate="individuals", name="loan"),
        _call("sites", model_of_sites, cause="sex", effect="wage", parameter="gap"),
        _call("diagram", ca.diagram, directed=EDGES, bidirected=[("sex", "skill")]),
        _call("confounded", scm.confounded, one="job", other="good", rho=0.3),
        _call("couplings", scm.couplings, coupling={"job": "independent"}),
        _call("with_coupling", scm.with_coupling, coupling={"job": 0.5}),
        _call("encode", scm.encode, data=scene.people),
        _call("encode_observed", scm.encode_observed, data=scene.people),
        _call("prior_predictive", scm.prior_predictive, n=5, draws=3, seed=0, data=None, repeats="n draws"),
        _call("without", lambda edge, at: scm.without(edge, at=at), edge=("sex", "job"), at={"sex": "f"}),
        _call("Posterior.with_coupling", scene.posterior.with_coupling, coupling="independent"),
    ]


def _fits(scene: Scene, folder: Path) -> list[Call]:
    posterior = scene.posterior
    fast = {"method": "ml", "draws": 4, "chains": 1, "seed": 0, "progress": False}
    calibration = {"n": 20, "data_sets": 2, "draws": 9, "method": "laplace", "seed": 0, "path": None, "progress": False}
    return [
        _call("fit", ca.fit, scm=scene.scm, data=scene.people, weights=None, repeats="draws chains", **fast),
        _call("fit weights", ca.fit, scm=scene.finite, data=scene.people, weights="weight", repeats="draws chains",
              **fast | {"method": "laplace"}),
        _call("fit_near", inference.fit_near, posterior=scene.finite_posterior, scm=scene.finite, progress=False),
        _call("calibrate", calibrate, rare=True, scm=scene.finite, repeats="n data_sets draws", **calibration),
        _call("Posterior.summary", posterior.summary, prob=0.9, missing="ess_bulk ess_tail r_hat mcse_mean"),
        _call("Posterior.diagnostics", posterior.diagnostics, by="sex", draws=5, seed=0, repeats="draws"),
        _call("Posterior.predictive", posterior.predictive, draws=5, seed=0),
        _call("Posterior.parameters", posterior.parameters, draws=5),
        _call("Posterior.draw_numbers", posterior.draw_numbers, draws=5),
    ]  # fmt: skip


def _worlds_of_people(scene: Scene, folder: Path) -> list[Call]:
    common = {"draws": 3, "coupling": None, "edges": None, "seed": 0, "chunk": None, "path": None, "progress": False}
    ask, frame = ca.counterfactuals, scene.people[["skill", "wage", "sex"]]
    return [
        _call("counterfactuals", ask, posterior=scene.posterior, do={"sex": "m"}, data=None, rows=scene.women,
              bounds=False, **common),
        _call("counterfactuals outside", ask, posterior=scene.posterior, do={"sex": lambda people: people["sex"]},
              data=scene.people, rows=None, bounds=False, **common | {"edges": [("sex", "job")], "chunk": 2}),
        _call("counterfactuals bounds", ask, posterior=scene.finite_posterior, do={"sex": "f", "skill": 1}, data=None,
              rows=[0, 1, 2], bounds=True, **common | {"coupling": {"job": "gumbel"}}),
        _call("from_frame", ca.CounterfactualDraws.from_frame, frame=frame, do={"sex": "m"}),
        _call("CounterfactualDraws.frame", scene.worlds.frame, draws=slice(0, 2)),
    ]  # fmt: skip


def _situations(scene: Scene, folder: Path) -> list[Call]:
    test, worlds, people = ca.situation_testing, scene.worlds, scene.people
    common = {"alpha": 0.05, "prob": 0.9, "tau": 0.0, "direction": "negative", "max_distance": None, "seed": 0,
              "progress": False}  # fmt: skip
    asked = {"data": people, "decision": rule, "protected": {"sex": "f"}, "features": ["skill", "wage"]}
    column = {"decision": "decided", "protected": {"race": ("Black", "White")}}
    shift = {"protected": {"wage": Shift(-2, within=0.9)}, "features": ["skill"]}
    far = "distance_control distance_test remoteness_control remoteness_test"
    gower = ca.Gower(scale="std", categorical=["skill"], weights={"wage": 2.0})
    return [
        _call("situation_testing", test, counterfactuals=None, k=5, centres=False, favourable=1,
              distance=ca.Gower(), **asked | common),
        # Where max_distance leaves a group empty, nobody of it is near or far.
        _call("situation_testing worlds", test, missing=far, counterfactuals=worlds, k=[3, 5],
              centres=True, favourable=1, distance=gower, **asked | common),
        _call("situation_testing column", test, counterfactuals=None, k=5, centres=False, favourable=1,
              distance=_manhattan, **asked | common | column),
        _call("situation_testing shift", test, counterfactuals=None, k=5, centres=False, favourable=1,
              distance=ca.Gower(), **asked | common | shift),
        _call("Gower", ca.Gower, scale="range", categorical=["race"], weights={"skill": 2.0}),
        _call("Gower.matrix", gower.matrix, people=people[["skill", "wage"]], others=people[["skill", "wage"]][:3],
              missing="*"),
        _call("Shift", Shift, by=-2, within=0.9, least=None, most=None),
        _call("intersection", lambda data, levels: ca.intersection(data, **levels), data=people,
              levels={"sex": "f", "race": "Black"}),
        _call("multiple_discrimination", ca.multiple_discrimination, results=[scene.situation, scene.situation]),
        _call("choose_k", choose_k, result=scene.by_race, difference=0.4, power=0.8, sizes=[2, 3], alpha=None),
        _call("count_two_sided", count_two_sided, result=scene.situation),
        _call("describe_groups", describe_groups, results={"one": scene.situation}, who=None, k=3, missing="*"),
        _call("average_shares", average_shares, results={"one": scene.situation},
              who={"all": list(scene.situation.at(3).index)}, k=3),
    ]  # fmt: skip


def _manhattan(one: pd.DataFrame, other: pd.DataFrame) -> Any:
    """Return a distance of the user's."""
    first, second = (table["skill"].to_numpy(dtype=float) for table in (one, other))
    return np.abs(first[:, None] - second[None])


def _rates(scene: Scene, folder: Path) -> list[Call]:
    asked = {"classifier": rule, "protected": {"sex": "f"}, "outcome": "good", "features": ["sex", "skill"], "y": 0,
             "yhat": 1, "baseline": None, "contrast": None, "seed": 0, "progress": False}  # fmt: skip
    posterior = {"coupling": None, "draws": 4, "prob": 0.9}
    data = {"data": scene.people, "graph": scene.graph, "alpha": 0.05, "discrete": ["skill"], "weights": "weight",
            "trim": 0.0, "resamples": 20, "propensity": "auto", "expectation": None}  # fmt: skip
    flexible = {"propensity": scene.logistic, "expectation": scene.logistic, "weights": None}
    return [
        _call("decompose exact", ca.decompose_error_rates, posterior=scene.finite_posterior, population="exact",
              missing="observed_total", **asked | posterior),
        _call("decompose standardise", ca.decompose_error_rates, posterior=scene.finite_posterior,
              population="standardise", missing="observed_total", **asked | posterior),
        _call("estimate", ca.estimate_error_rates, method="ipw", interval="wald", repeats="resamples", **asked | data),
        _call("estimate robust", ca.estimate_error_rates, method="doubly_robust", interval="wald",
              repeats="resamples", **asked | data | flexible),
        _call("estimate bootstrap", ca.estimate_error_rates, method="plugin", interval="bootstrap",
              repeats="resamples",
              **asked | data | {"classifier": chance, "protected": "sex", "weights": None}),
        _call("find_explaining_set", ca.find_explaining_set, graph=scene.graph, features=["sex", "skill"],
              protected="sex", outcome="good"),
        _call("ErrorRateResult.beside", scene.rates.beside, other=scene.estimate),
    ]  # fmt: skip


def _fair(scene: Scene, folder: Path) -> list[Call]:
    people, fair = scene.people, scene.fair
    graph = ca.diagram([*EDGES, ("sex", "good")])
    rows = {"X": people[COVARIATES], "y": people["good"], "sample_weight": None}
    settings = {
        "graph": graph, "protected": {"sex": "f"}, "outcome": "good", "eps_direct": 0.1, "eps_indirect": None,
        "eps_spurious": None, "eps_total": 0.2, "margin": None, "confidence": 0.9, "y": None, "baseline": None,
        "contrast": None, "features": None, "population": "data", "draws": None, "method": "table",
        "randomised": True, "basis": None, "discrete": None, "min_accuracy": None, "C": 1.0, "seed": 0,
    }  # fmt: skip
    logistic = settings | {"method": "logistic", "eps_direct": None, "basis": None}

    def learn(**given: Any) -> Any:
        """Learn and decide."""
        learnt = {name: given.pop(name) for name in rows}
        return ca.FairClassifier(**given).fit(**learnt).predict(learnt["X"])

    select = {"data": people, "graph": graph, "protected": "sex", "outcome": "good", "candidates": ["sex", "skill"],
              "scoring": "accuracy", "estimator": scene.logistic, "cv": 2, "seed": 0, "progress": False}  # fmt: skip
    select["data"] = people.assign(sex=people["sex"].eq("f").astype(int))
    return [
        _call("FairClassifier table", learn, **settings | rows),
        _call("FairClassifier logistic", learn, **logistic | rows),
        _call("FairClassifier.predict", fair.predict, X=people[COVARIATES]),
        _call("FairClassifier.predict_proba", fair.predict_proba, X=people[COVARIATES]),
        _call("FairClassifier.decision_proba", fair.decision_proba, X=people),
        _call("FairClassifier.score", fair.score, X=people[COVARIATES], y=people["good"], sample_weight=None),
        _call("error_rate_terms", fair.error_rate_terms, realised=False, **rows),
        _call("frontier", fair.frontier, eps=[0.0, 0.1], missing="*", repeats="eps", **rows),
        _call("select_explainable_features", ca.select_explainable_features, **select),
    ]


def _recourse(scene: Scene, folder: Path) -> list[Call]:
    result, causal = scene.recourse, scene.causal_recourse
    actions = {"numeric": ["skill"], "ordinal": [], "orders": {"job": [0, 1]}, "weights": {"job": 2.0},
               "immutable": [], "increasing": ["skill"], "never": [7], "subsets": True, "values": None}  # fmt: skip
    asked = {
        "data": scene.people, "classifier": rule, "features": ["skill", "job"],
        "favourable": 1, "thresholds": ["skill"], "support": 0.1, "phi": [0.3, 0.7], "budgets": [1.0],
        "no_recourse_cost": None, "split": None, "alpha": 0.05, "prob": 0.9, "seed": 0, "progress": False,
    }  # fmt: skip
    nan = "parameter simultaneous_low simultaneous_high credible_low credible_high"
    subgroup = dict(result.table["subgroup"].iloc[0])
    causal_parts = {"posterior": scene.finite_posterior, "draws": 3, "split": 0.5}

    def with_actions(**given: Any) -> Any:
        """Audit with actions."""
        chosen = ca.Actions(**{name: given.pop(name) for name in actions})
        return ca.audit_recourse(actions=chosen, protected={"sex": "f"}, **given)

    return [
        _call("audit_recourse", ca.audit_recourse, missing=nan, **asked | {"protected": {"sex": "f"}}),
        _call("audit_recourse actions", with_actions, missing=nan, **asked | actions),
        _call("audit_recourse causal", ca.audit_recourse, missing=nan,
              **asked | causal_parts | {"protected": "sex", "thresholds": []}),
        _call("audit_attributes", audit_attributes, missing=nan,
              **asked | {"protected": {"sex": "f", "race": "Black"}}),
        _call("RecourseResult.top", result.top, metric="equal_effectiveness", n=2, parameter=None, viewpoint="macro",
              missing=nan),
        _call("RecourseResult.explain", result.explain, subgroup=subgroup, metric="equal_effectiveness",
              parameter=None, viewpoint="macro"),
        _call("RecourseResult.actions", result.actions, subgroup=subgroup, missing="*"),
        _call("RecourseResult.individuals", causal.individuals, tolerance=0.0, progress=False, missing="*"),
        _call("RecourseResult.probabilities", causal.probabilities, tolerance=0.0, missing="*"),
        _call("ranking_analysis", ranking_analysis, result=result, share=0.1, missing="*"),
        _call("aggregated_rankings", aggregated_rankings, result=result, missing="*"),
        _call("rank_agreement", rank_agreement, result=result, missing="*"),
    ]  # fmt: skip


def _scans(scene: Scene, folder: Path) -> list[Call]:
    asked = {
        "data": scene.people, "protected": {"sex": "f"}, "outcome": "good", "prediction": None,
        "recommendation": "decided", "criterion": "separation", "given": None, "direction": "positive",
        "features": ["skill", "job"], "adjust_for": None, "bins": None, "scale": "mean", "sigma": None,
        "penalty": 0.1, "iterations": 5, "permutations": 3, "null": "propensity", "propensity": scene.logistic,
        "expectation": scene.logistic, "counterfactuals": None, "posterior_draws": 0, "draws": None, "split": None,
        "top": 2, "alpha": 0.05, "prob": 0.9, "seed": 0, "progress": False,
    }  # fmt: skip
    number = {"prediction": "score", "recommendation": None, "features": ["skill", "wage"], "bins": {"wage": 3}}
    causal = {
        "recommendation": "job",
        "features": ["skill", "race"],
        "counterfactuals": scene.worlds,
        "null": "propensity",
    }
    covariates = scene.people[["sex", "race", "job"]]
    repeats = "iterations permutations posterior_draws draws"
    return [
        _call("scan_bias", ca.scan_bias, repeats=repeats, **asked),
        _call("scan_bias default", ca.scan_bias, repeats=repeats,
              **asked | {"propensity": None, "expectation": None, "features": None, "permutations": 0}),
        _call("scan_bias prediction", ca.scan_bias, repeats=repeats,
              **asked | number | {"posterior_draws": 20, "prob": 0.8, "split": 0.5}),
        _call("scan_bias paper", ca.scan_bias, repeats=repeats,
              **asked | number | {"criterion": "balance for negative class", "scale": "paper", "sigma": 1.0}),
        _call("scan_bias causal", ca.scan_bias, repeats=repeats,
              **asked | causal | {"propensity": None, "expectation": None, "permutations": 0}),
        _call("bonferroni", bonferroni, results=[scene.scan, scene.scan], alpha=0.05, missing="*"),
        _call("experiments", experiments, full=False),
        _call("evaluate_power", evaluate_power, covariates=covariates, grid=pd.DataFrame({"mu_sep": [0.5]}),
              datasets=1, detectors=None, protected={"sex": "f"}, scale="mean", alpha=0.05, seed=0, progress=False,
              missing="*", repeats="datasets"),
        _call("BiasScanResult.disparity", scene.scan.disparity, subgroup={"skill": [1]}),
    ]  # fmt: skip


def _assumptions(scene: Scene, folder: Path) -> list[Call]:
    posterior, scm = scene.finite_posterior, scene.finite
    two = {"one": scene.trusted, "two": scene.trusted.with_coupling("independent")}
    return [
        _call("compare_worlds", ca.compare_worlds, posteriors=two, audit=audit_of_cases, weights="equal", prob=0.9,
              untrusted=False, progress=False, missing="*"),
        _call("compare_edges", ca.compare_edges, rare=True, scm=scm, data=scene.people, edges=[("sex", "job")],
              audit=None, draws=30, chains=1, prob=0.9, seed=0, progress=False, repeats="draws chains"),
        _call("coupling_sensitivity", ca.coupling_sensitivity, posterior=posterior, audit=audit_of_cases,
              sites=["job"], r=[0.0, 1.0], threshold=3.0, prob=0.9, progress=False, missing="*"),
        _call("confounding_sensitivity", ca.confounding_sensitivity, rare=True, posterior=posterior,
              between=("sex", "job"), rho=[-0.1, 0.0], audit=audit_of_cases, threshold=3.0, prob=0.9,
              progress=False, missing="*"),
        _call("prior_sensitivity", ca.prior_sensitivity, rare=True, posterior=scene.trusted,
              audit=audit_of_rates, seed=0),
        _call("test_diagram", ca.test_diagram, rare=True, scm=scene.graph, data=scene.people, alpha=0.05,
              progress=False, missing="association statistic p_value p_adjusted"),
        _call("implied_independencies", implied_independencies, graph=scene.graph),
    ]  # fmt: skip


def _results(scene: Scene, folder: Path) -> list[Call]:
    situation = scene.situation
    found = [
        _call("SituationTestingResult.at", situation.at, k=3),
        _call("SituationTestingResult.explain", situation.explain, complainant=situation.at(3).index[0], k=3,
              missing="*"),
        _call("SituationTestingResult.discoveries", situation.discoveries, rate=0.1, k=3, uncertainty="both",
              correction="benjamini-hochberg"),
        _call("false_discovery_rate", situation.false_discovery_rate, k=3, uncertainty="both"),
        _call("WorldsResult.statement", scene.comparison.statement, unit=scene.comparison.table["unit"].iloc[0]),
        _call("SweepResult.statement", scene.sweep.statement, unit=None),
    ]  # fmt: skip
    for name in ("situation", "by_race", "rates", "estimate", "recourse", "scan"):
        result = getattr(scene, name)
        found.append(_call(f"{type(result).__name__}.summary", lambda result=result: result.summary(), missing="*"))
        found.append(_call(f"{type(result).__name__}.by_unit", result.by_unit, beside=[result], missing="*"))
        found.append(_call(f"{type(result).__name__}.html", lambda result=result: result._repr_html_()))
        found.append(_call(f"{type(result).__name__}.idata", lambda result=result: result.to_inference_data()))
    return found


def _plots(scene: Scene, folder: Path) -> list[Call]:
    result, recourse = scene.situation, scene.recourse
    who = list(result.at(3).index[:2])
    subgroup = dict(recourse.table["subgroup"].iloc[0])
    frontier = scene.fair.frontier(scene.people[COVARIATES], scene.people["good"], [0.0, 0.1])
    draws = {"one": np.linspace(0, 1, 9), "other": np.linspace(1, 2, 9)}
    return [
        _call("plot_calibration", plots.plot_calibration, result=scene.scan, ax=None),
        _call("plot_cases", plots.plot_cases, results={"one": result}, value="cases", ax=None),
        _call("plot_conditional_diagram", plots.plot_conditional_diagram, graph=scene.graph, features=["sex", "skill"],
              protected="sex", outcome="good", ax=None),
        _call("plot_contributions", plots.plot_contributions, results={"one": scene.rates}, decomposition=1, ax=None),
        _call("plot_diagram", plots.plot_diagram, graph=scene.graph, highlight=[("sex", "job")], ax=None),
        _call("plot_disparity", plots.plot_disparity, results={"one": scene.scan}, ax=None),
        _call("plot_distributions", plots.plot_distributions, result=result, feature="wage", bins=5, ax=None),
        _call("plot_effectiveness_cost", plots.plot_effectiveness_cost, result=recourse, subgroup=subgroup,
              viewpoint="micro", ax=None),
        _call("plot_effects", plots.plot_effects, draws=draws, prob=0.9, ax=None),
        _call("plot_forest", plots.plot_forest, result=result, complainants=who, k=3, ax=None),
        _call("plot_frontier", plots.plot_frontier, frontiers={"one": frontier}, x="eps", y="accuracy", ax=None),
        _call("plot_groups", plots.plot_groups, result=result, complainants=who, feature="wage", k=3, ax=None),
        _call("plot_headlines", plots.plot_headlines, result=scene.comparison, ax=None),
        _call("plot_null", plots.plot_null, result=scene.scan, ax=None),
        _call("plot_power", plots.plot_power, power=scene.power, against="mu_sep", ax=None),
        _call("plot_predictive", plots.plot_predictive, simulated=scene.posterior, variable="wage", by="sex",
              data=None, draws=3, prob=0.9, seed=0, ax=None, repeats="draws"),
        _call("plot_rank_agreement", plots.plot_rank_agreement, result=recourse, ax=None),
        _call("plot_sweep", plots.plot_sweep, result=scene.sweep, ax=None),
        _call("plot_top_subgroups", plots.plot_top_subgroups, result=recourse, metric="equal_effectiveness", n=2,
              parameter=None, viewpoint="macro", ax=None),
        _call("plot_variance_shares", plots.plot_variance_shares, result=scene.comparison, most=5, ax=None),
        _call("plot_verdict_map", plots.plot_verdict_map, result=scene.comparison, units=None, ax=None),
        _call("plot_worlds", plots.plot_worlds, worlds=scene.worlds, variable="wage", prob=0.9, ax=None),
    ]  # fmt: skip


def _tables(scene: Scene, folder: Path) -> list[Call]:
    path = folder / "any.csv"
    path.write_text("a|b\n1|2\n", encoding="utf-8")
    compas = ca.datasets.make_compas(50)
    loaders = ("load_adult", "load_compas", "load_german_credit", "load_law_school", "load_loan")
    return [
        *(_call(name, getattr(ca.datasets, name), missing="*", path=path) for name in loaders),
        _call("make_loan", ca.datasets.make_loan, n=5, seed=0, repeats="n"),
        _call("make_compas", ca.datasets.make_compas, n=5, seed=0, repeats="n"),
        _call("make_law_school", ca.datasets.make_law_school, n=5, seed=0, repeats="n"),
        _call("models.compas.prepare", models.compas.prepare, missing="*", people=compas, screened=True),
        _call("models.compas.scan_table", models.compas.scan_table, missing="*", people=compas),
        _call("models.adult.prepare", models.adult.prepare, people=compas),
        _call("models.german_credit.scan_table", models.german_credit.scan_table, customers=compas),
    ]


def _files(scene: Scene, folder: Path) -> list[Call]:
    path = folder / "result.nc"
    scene.situation.save(path)
    scene.posterior.save(folder / "posterior.nc")

    def save(path: Any) -> None:
        """Save somewhere into a folder that is thrown away."""
        if isinstance(path, str):
            with tempfile.TemporaryDirectory(dir=folder) as inner:
                scene.by_race.save(f"{inner}/{path}")
        else:
            scene.by_race.save(path)

    return [
        _call("load", ca.load, path=path, scm=scene.scm),
        _call("load posterior", ca.load, path=folder / "posterior.nc", scm=scene.scm),
        _call("Posterior.load", ca.Posterior.load, path=folder / "posterior.nc", scm=scene.scm),
        _call("save", save, path=folder / "again.nc"),
    ]
