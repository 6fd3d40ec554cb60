"""Which edges of a diagram the data support: the evidence of the programs with some of them cut."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from causalaudit.arguments import check_seed, check_share, check_types, shown
from causalaudit.errors import DataError, InferenceError
from causalaudit.inference import Posterior, fit
from causalaudit.inference.components.partition import components_of
from causalaudit.markup import bold, piece, table
from causalaudit.people import check_table
from causalaudit.progress import parallel
from causalaudit.results import SavedResult
from causalaudit.scm import SCM
from causalaudit.storage import storable
from causalaudit.worlds.comparison import Audit, compare_worlds
from causalaudit.worlds.result import WorldsResult

Edge = tuple[str, str]
_MOST_EDGES, _MOST_FITS = 12, 256
_COUNTS = 0.01  # probability of a program, from which it is audited


@storable
@dataclass(frozen=True, repr=False, eq=False)
class EdgesResult(SavedResult):
    """What data say of some edges of a diagram. Results compare by identity.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each edge: `cause, effect`, `inclusion` (the probability that it is there) and `log_bayes_factor` (for
        the edge against its absence, averaged over the other edges).
    programs : pandas.DataFrame
        A row for each program, most probable first: its `name`, the edges it has `cut`, `log_evidence`, `error` and
        `probability`.
    worlds : WorldsResult or None
        The audit in the programs with a probability of at least .01, averaged by it; None without an audit, or where
        one program alone is that probable.
    settings : dict
        What was asked for, and how many programs were fitted (`fits`).
    """

    table: pd.DataFrame
    programs: pd.DataFrame
    worlds: WorldsResult | None
    settings: dict[str, Any]
    KIND: ClassVar[str] = "edges"

    def __repr__(self) -> str:
        return f"Edges of {self.settings['scm']!r}\n{self.table.round(3).to_string(index=False)}"

    def _repr_html_(self) -> str:
        return piece(bold(f"Edges of {self.settings['scm']!r}"), table(self.table, index=False))


def compare_edges(
    scm: SCM,
    data: pd.DataFrame,
    edges: Sequence[Edge],
    *,
    audit: Audit | None = None,
    draws: int = 1000,
    chains: int = 4,
    prob: float = 0.9,
    seed: int = 0,
    progress: bool = True,
) -> EdgesResult:
    """Weigh all programs with some of the edges cut by their evidence.

    All of the ``2 ** len(edges)`` programs are equally probable a priori; their evidence makes them more or less so.
    It is a product over parts of the program that share no parameter and no latent, such as the effects of the edges:
    only the cuts of each part are fitted, 2 to the number of its edges.

    Parameters
    ----------
    scm
        The program with all edges.
    data
        People.
    edges
        Pairs (cause, effect) of variables; at most 12. An effect without the edge sees the cause at its first level, or
        at its mean: see `SCM.without`.
    audit
        A function of a posterior that returns the result of any auditor: see `EdgesResult.worlds`.
    draws, chains, seed
        Of each fit, as in `fit`.
    prob
        The probability of the credible intervals of the audit's number.
    progress
        Show a bar when it is long. Programs are fitted in parallel, by `joblib`.

    Returns
    -------
    EdgesResult

    Raises
    ------
    InferenceError
        If the evidence of a program is not known or not to be trusted.

    Notes
    -----
    The evidence of an edge depends on the prior of its coefficient: the wider it is, the more is asked of the data
    (Lindley's paradox). An absent edge is an assumption that the data may support; an edge that they support need not
    point from cause to effect.

    References
    ----------
    Kass and Raftery (1995), Bayes factors.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.datasets.make_loan(300, seed=0)
    >>> found = ca.compare_edges(ca.models.loan.linear(), people, [("salary", "balance")], draws=100)
    >>> bool(found.table.inclusion[0] > 0.99)
    True
    """
    check_types(compare_edges, locals())
    check_table(data)
    check_share("prob", prob)
    named = _check_edges(scm, edges)
    groups = _groups(scm.with_columns_of(data), data, named)
    cuts = [()] + [cut for group in groups for cut in _subsets(group) if cut]
    if len(cuts) > _MOST_FITS:
        raise DataError(
            f"{len(cuts)} programs would have to be fitted, because effects share parameters or latents, and at most "
            f"{_MOST_FITS} are: ask about fewer edges."
        )
    task = _Fit(scm, data, int(draws), int(chains), check_seed(seed))
    evidence = dict(zip(cuts, (_evidence(one) for one in parallel(task, cuts, "Programs", progress)), strict=True))
    programs = _programs(groups, evidence)
    worlds = None if audit is None else _audited(programs, task, audit, prob, progress)
    settings = {"scm": scm.name, "edges": [list(edge) for edge in named], "fits": len(cuts), "draws": int(draws)}
    settings |= {"chains": int(chains), "seed": int(seed), "prob": float(prob)}
    return EdgesResult(_edge_table(named, programs), programs, worlds, settings)


def _check_edges(scm: SCM, edges: Any) -> list[Edge]:
    listed = isinstance(edges, Collection) and not isinstance(edges, str | dict)
    if not listed or not all(isinstance(edge, tuple | list) and len(edge) == 2 for edge in edges):
        raise DataError(f"edges is {shown(edges)}, but must be a list of pairs: [(cause, effect), …].")
    named = [tuple(edge) for edge in edges]
    if not 1 <= len(named) <= _MOST_EDGES or len(set(named)) < len(named):
        raise DataError(f"edges has {len(named)} pairs, but must have from 1 to {_MOST_EDGES}, each once.")
    scm.without(*named)  # refuses what is no edge before anything is fitted
    return named


def _groups(scm: SCM, data: pd.DataFrame, edges: Sequence[Edge]) -> list[list[Edge]]:
    """Return the edges by the part of the program that their effects belong to."""
    parts = components_of(scm, scm.encode(data))
    place = {site: number for number, part in enumerate(parts) for site in part.sites}
    found: dict[int, list[Edge]] = {}
    for edge in edges:
        found.setdefault(place[edge[1]], []).append(edge)
    return list(found.values())


def _subsets(edges: Sequence[Edge]) -> list[tuple[Edge, ...]]:
    return list(chain.from_iterable(combinations(edges, size) for size in range(len(edges) + 1)))


@dataclass(frozen=True)
class _Fit:
    """Fits the program without some edges: what a worker needs."""

    scm: SCM
    data: pd.DataFrame
    draws: int
    chains: int
    seed: int

    def __call__(self, cut: tuple[Edge, ...]) -> Posterior:
        program = self.scm.without(*cut) if cut else self.scm
        return fit(program, self.data, draws=self.draws, chains=self.chains, seed=self.seed, progress=False)


def _evidence(posterior: Posterior) -> tuple[float, float]:
    found = posterior.log_evidence
    if found is None:
        raise InferenceError(
            f"The evidence of {posterior.scm.name!r} without some of the edges is not known, or not to be trusted: "
            f"{posterior.diagnostics().verdict} Tighten the priors, or compare_worlds by stacking."
        )
    return found.value, found.error


def _programs(
    groups: Sequence[Sequence[Edge]], evidence: Mapping[tuple[Edge, ...], tuple[float, float]]
) -> pd.DataFrame:
    """Return every combination of cuts with its evidence: that of all edges, and how much each group changes it."""
    whole, error = evidence[()]
    rows = []
    for parts in product(*(_subsets(group) for group in groups)):
        changed = [evidence[part] for part in parts if part]
        total = whole + sum(value - whole for value, _ in changed)
        spread = float(np.sqrt(error**2 + sum(one**2 + error**2 for _, one in changed))) if changed else error
        cut = list(chain.from_iterable(parts))
        rows.append((_name(cut), [list(edge) for edge in cut], total, spread))
    table = pd.DataFrame(rows, columns=["name", "cut", "log_evidence", "error"])
    chance = np.exp(table["log_evidence"] - table["log_evidence"].max())
    table["probability"] = chance / chance.sum()
    return table.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


def _name(cut: Sequence[Edge]) -> str:
    return "without " + ", ".join(f"{cause} → {effect}" for cause, effect in cut) if cut else "all edges"


def _edge_table(edges: Sequence[Edge], programs: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for edge in edges:
        there = np.array([list(edge) not in cut for cut in programs["cut"]])
        log_evidence = programs["log_evidence"].to_numpy()
        factor = np.logaddexp.reduce(log_evidence[there]) - np.logaddexp.reduce(log_evidence[~there])
        inclusion = float(programs["probability"].to_numpy()[there].sum())
        rows.append((*edge, min(1.0, inclusion), float(factor)))
    return pd.DataFrame(rows, columns=["cause", "effect", "inclusion", "log_bayes_factor"])


def _audited(programs: pd.DataFrame, task: _Fit, audit: Audit, prob: float, progress: bool) -> WorldsResult | None:
    chosen = programs[programs["probability"] >= _COUNTS]
    if len(chosen) < 2:
        return None
    cuts = [tuple((cause, effect) for cause, effect in cut) for cut in chosen["cut"]]
    fitted = parallel(task, cuts, "Programs", progress)
    posteriors = dict(zip(chosen["name"].tolist(), fitted, strict=True))
    weights = dict(zip(chosen["name"].tolist(), chosen["probability"].tolist(), strict=True))
    return compare_worlds(posteriors, audit, weights, prob=prob, progress=progress)
