"""A Pyro program as a structural causal model: its variables, its diagram, its codes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import pyro.distributions as dist
import torch
import xarray as xr
from torch.distributions import OneHotCategorical

from causalaudit.arguments import check_count, check_names, check_types, check_value
from causalaudit.errors import DataError, ProgramError, nearest
from causalaudit.global_state import cached_property
from causalaudit.markup import bold, paragraph, piece, table
from causalaudit.people import check_table
from causalaudit.randomness import seeded
from causalaudit.scm.columns import Codec, check_support, site_column
from causalaudit.scm.confounding import (
    Confounding,
    checked_pair,
    confounded_diagram,
    partners_too,
    rectangle_nodes,
    refuse_other_couplings,
    with_confounding,
)
from causalaudit.scm.coords import Names, named_axes
from causalaudit.scm.couplings import resolve_couplings
from causalaudit.scm.edge_cut import Cuts, Edge
from causalaudit.scm.execution import numerics
from causalaudit.scm.exogenous import enter_noises, refuse_bound_latents, unnamed_noises
from causalaudit.scm.given import Given
from causalaudit.scm.graph import Diagram
from causalaudit.scm.handlers import PLATE, Intervene, Mechanisms, Program, Record, Tensors, has_noise, run
from causalaudit.scm.inspection import in_house_form, inspect_program
from causalaudit.scm.missing import filled, missing_in
from causalaudit.scm.noise import Coupling, couplings_of, noise_of
from causalaudit.scm.simulation import prior_draws, simulate
from causalaudit.scm.vectors import vector_columns, with_vectors_split, without_order
from causalaudit.scm.without import with_means_of, without_edges


class SCM:
    """A structural causal model, written as an ordinary Pyro program.

    The program takes the number of people. Sites inside the plate of the people are the variables of each person;
    sample sites outside of it are parameters, also in plates of their own. Whatever it makes in float32 is float64
    here. The diagram and the exogenous noise are read off the
    program; the diagram is verified by changing one person's values at a time.

    Parameters
    ----------
    program
        A function of `n` that opens ``pyro.plate("individuals", n)``.
    levels
        For columns of text or categories: their levels, whose positions are the codes that the program
        sees.
    latents
        Per-person sites that have no column. A `pyro.deterministic` need not be named: without a column it is computed.
        A continuous one without causes that enters one `pyro.deterministic` with a column, which rises or falls with
        it everywhere, is the noise of that variable (`noises`), as in textbooks, and no variable of its own.
    columns
        For sites whose values are vectors (Independent, MultivariateNormal, Dirichlet): the columns of their numbers.
        Each is a variable of its own; those that share noise have a latent cause in the diagram, and are set together.
    coords
        For parameters with several entries: the names of these, along the last axis, or a tuple with the names along
        each axis. Summaries, draws and saved files show them in place of numbers.
    plate
        The plate of the people. A program without this one may have another, if it alone grows with their number.
    name
        Default: the name of the function.

    Attributes
    ----------
    graph : Diagram
        The causal diagram over the variables, a `networkx.DiGraph`; nodes have the attribute `latent`.
    parameters, derived, variables, columns : tuple of str
        Global sample sites; global deterministic sites; per-person sites in causal order; those of them
        that have a column.
    noises : dict
        From a `pyro.deterministic` to the exogenous site that is its noise.
    coupling : dict
        What `with_coupling` has chosen, by variable; others have the default of their family.
    cuts : dict
        The edges that `without` has cut, with what the effect sees: a number or a code; None until there are data.
    inert : tuple of str
        Parameters that enter nothing because edges were cut: their posterior is their prior.
    written : callable
        The program as it was given; `program` is what runs.
    uncut : SCM or None
        The model before edges were cut.
    coords : dict
        From a parameter to a tuple of lists: the names along each of its axes.
    confounding : tuple
        The pairs of variables with a hidden common cause (`confounded`): `first`, `second` and `rho`.

    Raises
    ------
    ProgramError
        If the program is not an SCM; the message says why and what to do.

    Notes
    -----
    A variable is a function of its causes and of a noise of its own (equation 1 of Alvarez and Ruggieri 2025, and of
    the preliminary paper, whose additive noise is not asked for); noises are independent (equation 2), unless a latent
    or `confounded` joins them. The noise of discrete variables is an assumption that data cannot check (see
    `couplings`).

    Examples
    --------
    >>> import pyro, pyro.distributions as dist, causalaudit as ca
    >>> def wages(n):
    ...     gap = pyro.sample("gap", dist.Normal(0.0, 5.0))
    ...     with pyro.plate("individuals", n):
    ...         gender = pyro.sample("gender", dist.Bernoulli(0.45))
    ...         pyro.sample("wage", dist.Normal(20.0 + gap * gender, 4.0))
    >>> scm = ca.SCM(wages, levels={"gender": ["male", "female"]})
    >>> list(scm.graph.edges), scm.parameters
    ([('gender', 'wage')], ('gap',))
    """

    def __init__(
        self,
        program: Program,
        levels: Mapping[str, Sequence[Any]] | None = None,
        latents: Collection[str] = (),
        *,
        columns: Mapping[str, Sequence[str]] | None = None,
        coords: Mapping[str, Names] | None = None,
        plate: str = PLATE,
        name: str | None = None,
    ) -> None:
        check_types(SCM.__init__, locals())
        if isinstance(latents, str):
            raise ProgramError(
                f"latents must be a collection of names, but is the text {latents!r}: write [{latents!r}]."
            )
        check_names("latents", latents, of="variables")
        self.name = name or getattr(program, "__name__", "scm")
        self.coupling: dict[str, Coupling] = {}
        self.uncut: SCM | None = None
        self.cuts: Cuts = {}
        self.inert: tuple[str, ...] = ()
        self.confounding: tuple[Confounding, ...] = ()
        self._rebuilt: Callable[[Collection[str]], SCM] = partial(
            SCM, program, levels, columns=columns, coords=coords, plate=plate, name=self.name
        )
        self.written = program
        self.program = in_house_form(program, plate)
        split, self.vectors = vector_columns(self.program, columns or {}, latents)
        if split:
            self.program = with_vectors_split(self.program, split)
        self.latents = tuple(part for latent in latents for part in split.get(latent, [latent]))
        self.structure = inspect_program(self.program, self.latents)
        self.program, self.noises = enter_noises(self.program, self.structure, self.latents)
        if self.noises:
            self.latents = tuple(latent for latent in self.latents if latent not in self.noises.values())
            self.structure = inspect_program(self.program, self.latents)
        without_order(self.structure.graph, self.vectors)
        if not self.columns:
            raise ProgramError("Every variable of the program is latent: at least one must have a column.")
        self.levels = {column: list(values) for column, values in (levels or {}).items()}
        self._check_levels()
        self.coords = named_axes(self.program, (*self.parameters, *self.derived), coords or {})
        self.codec = Codec(self.levels, self.structure.laws, self.structure.dtypes)
        for name, declared in self.levels.items():
            # Whoever is given the diagram alone compares levels in the same order as who is given the program.
            self.structure.graph.nodes[name]["levels"] = list(declared)

    @property
    def graph(self) -> Diagram:
        return self.structure.graph

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.structure.parameters

    @property
    def derived(self) -> tuple[str, ...]:
        return self.structure.derived

    @property
    def variables(self) -> tuple[str, ...]:
        return self.structure.variables

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in self.variables if name not in self.latents)

    @property
    def given(self) -> tuple[str, ...]:
        """The variables that are conditioned on, not modelled."""
        return tuple(name for name, law in self.structure.laws.items() if isinstance(law, Given))

    @cached_property
    def families(self) -> dict[str, str]:
        """The family of each variable's distribution."""
        return {name: type(law).__name__ for name, law in self.structure.laws.items()}

    def __repr__(self) -> str:
        edges = ", ".join(f"{cause} → {effect}" for cause, effect in self.graph.edges)
        inert = f" (inert: {', '.join(self.inert)})" if self.inert else ""
        hidden = "".join(f"; {pair.first} and {pair.second} confounded by {pair.rho:+g}" for pair in self.confounding)
        return f"SCM {self.name!r}: {len(self.parameters)} parameters{inert}; {edges or 'no edges'}{hidden}"

    def _repr_html_(self) -> str:
        """Show the diagram, the parameters, and what is assumed about the noise of each variable."""
        couplings = self.couplings()
        rows = [
            {
                "variable": name,
                "distribution": self.families[name],
                "noise": couplings.get(name, "none"),
                "levels": ", ".join(map(str, self.levels.get(name, []))),
            }
            for name in self.variables
        ]
        title, parameters = bold(f"SCM {self.name}"), f"Parameters: {', '.join(self.parameters) or 'none'}"
        return piece(title, paragraph(parameters), self.graph._repr_html_(), table(pd.DataFrame(rows), index=False))

    def _check_levels(self) -> None:
        for column, values in self.levels.items():
            if column not in self.columns:
                raise ProgramError(
                    f"levels name {column!r}, which is not a variable with a column: {nearest(column, self.columns)}"
                )
            for value in values:
                check_value(f"A level of {column!r}", value)
            if len(set(values)) != len(values):
                raise ProgramError(f"The levels of {column!r} are not distinct: {values}.")
            size = self._support_size(column)
            if size != len(values) and has_noise(self.structure.laws[column]):
                raise ProgramError(
                    f"{column!r} has {len(values)} levels {values}, but its distribution ({self.families[column]}) has "
                    f"{size or 'infinitely many'} values. Give one level for each."
                )

    def _support_size(self, name: str) -> int | None:
        law = self.structure.laws[name]
        if isinstance(law, dist.Delta) or not law.has_enumerate_support:
            return None
        return int(law.enumerate_support(expand=False).shape[0])

    def with_columns_of(self, data: pd.DataFrame) -> "SCM":
        """Return the model of a table: `pyro.deterministic` sites without a column are computed, as latents are.

        Raises
        ------
        ProgramError
            If a computed site with a column determines a continuous latent that is not its noise alone.
        """
        if self.uncut is not None:
            return with_means_of(self, data)
        absent = [name for name in self.noises if name not in data.columns]
        unnamed = unnamed_noises(self.structure, self.latents, data.columns)
        if absent or unnamed:
            rebuilt = self._rebuilt((*self.latents, *self.noises.values(), *absent, *unnamed))
            return rebuilt.with_coupling(self.coupling).with_columns_of(data)
        refuse_bound_latents(self.structure, self.latents, data.columns)
        computed = [
            name
            for name in self.columns
            if isinstance(self.structure.laws[name], dist.Delta) and name not in data.columns
        ]
        if not computed or len(computed) == len(self.columns):
            return self
        model = copy(self)
        model.latents = (*self.latents, *computed)
        model.structure = replace(self.structure, graph=self.graph.copy())
        for name in computed:
            model.graph.nodes[name]["latent"] = True
        return model

    # Hidden confounding

    def confounded(self, one: str, other: str, rho: float) -> "SCM":
        """Return the model in which two variables have a hidden common cause; it has to be fitted anew.

        The canonical noises of the two (see `couplings`), on the normal scale, are bivariate normal with the
        correlation rho given everything else: a Gaussian copula. With rho > 0 a higher noise of one goes with a higher
        noise of the other; discrete values and levels are in their order, and of a transformed distribution it is the
        noise of its base. The law of each variable given its causes is what the program says. The density of a person
        has log P of the pair in place of the two log-probabilities; abduction draws discrete noise given the noise
        of the other variable, and a world in which one of them is set keeps the noise of both.

        Data say little about rho, and nothing where an edge between the two is free to take its place: it is an
        assumption to be varied.

        Parameters
        ----------
        one, other
            Two variables with columns, in any order, whether or not one causes the other: continuous, or discrete with
            an order. A variable can be in one pair.
        rho
            Between -1 and 1, both excluded. It takes the place of an earlier correlation of the same pair; 0 is the
            model without.

        Returns
        -------
        SCM
            The same program with other noise. In its diagram the two have a latent cause, which is no variable.

        Raises
        ------
        ProgramError
            If rho is out of range, or a variable is latent, computed, given, unordered (Categorical), or part of a
            vector.

        Examples
        --------
        >>> import causalaudit as ca
        >>> scm = ca.models.law_school.level_3().confounded("Race", "LSAT", rho=0.3)
        >>> sorted(scm.graph.predecessors("LSAT"))
        ['Gender', 'Race', 'U(LSAT,Race)']
        >>> "U(LSAT,Race)" in scm.variables
        False
        """
        check_types(SCM.confounded, locals())
        laws = {name: self.structure.laws[name] for name in self.variables}
        pair = checked_pair(one, other, rho, laws, self.columns, self.vectors, self.confounding)
        others = tuple(known for known in self.confounding if known.names != pair.names)
        model = copy(self)
        if pair.rho or others != self.confounding:
            model.program = with_confounding(self.program, pair)
        model.confounding = (*others, pair) if pair.rho else others
        model.structure = replace(self.structure, graph=confounded_diagram(self.graph, pair))
        model._rebuilt = partial(_rebuilt_with, self._rebuilt, pair)
        model.couplings()  # refuses one that was chosen before
        return model

    def with_partners(self, names: Collection[str]) -> set[str]:
        """Return variables together with those whose noise depends on theirs."""
        return partners_too(self.confounding, names)

    @property
    def nodes(self) -> int:
        """How many numbers the density of a person holds at once: more than one where a pair is discrete."""
        return rectangle_nodes(self.confounding, self.structure.laws, self.variables)

    # Noise

    def couplings(self, coupling: Coupling | Mapping[str, Coupling] | None = None) -> dict[str, Coupling]:
        """Return the coupling of every variable that has noise: how the factual and a changed world share it.

        Parameters
        ----------
        coupling
            "monotone", "gumbel" or "independent", for all discrete variables that admit it; a number, for all variables
            that admit it; or a mapping from variables to either. All others, and all by default, have the coupling of
            this model (`with_coupling`).

        Returns
        -------
        dict
            From a variable to a name or a number; 1 is returned as "monotone".

        Notes
        -----
        By default categorical variables have "gumbel", all others "monotone"; for continuous ones that is their exact
        noise. A number r from -1 to 1 is the correlation on the normal scale of a person's noise in the two worlds:
        with u' = Φ(r Φ⁻¹(u) + √(1 − r²) e) and e drawn anew, 1 is "monotone", 0 has the law of "independent" (but other
        draws), and -1 reverses the noise. Residuals become normal by their own distribution function. Categorical
        variables have names only.

        Only people whose parents of a variable differ from the factual world get another noise there. All others keep
        their value, without recomputation: that is why consistency (do nothing, and nothing changes) holds for every r.
        Effectiveness and locality do not depend on noise, and composition holds because all changed worlds of a person
        have the same new noise. Latents, and noise that a program states as latents, are the same in all worlds.

        Examples
        --------
        >>> import causalaudit as ca
        >>> ca.models.standard_prediction.scm_b().couplings({"W": 0.5})
        {'Z': 'monotone', 'X': 'monotone', 'W': 0.5, 'Y': 'monotone', 'D': 'monotone'}
        """
        check_types(SCM.couplings, locals())
        laws: dict[str, Any] = {name: law for name, law in self.structure.laws.items() if has_noise(law)}
        found = resolve_couplings(laws, self.coupling, coupling)
        refuse_other_couplings(self.confounding, found)
        return found

    def with_coupling(self, coupling: Coupling | Mapping[str, Coupling]) -> "SCM":
        """Return the model under another assumption on its noise, as in `couplings`.

        Every auditor obeys it. What the data are likely under is the same: a posterior needs no refit, and
        `Posterior.with_coupling` carries it over.

        Examples
        --------
        >>> import causalaudit as ca
        >>> scm = ca.models.loan.linear().with_coupling({"salary": 0.5})
        >>> scm.couplings()["salary"], scm.with_coupling({"salary": "monotone"}).couplings()["salary"]
        (0.5, 'monotone')
        """
        check_types(SCM.with_coupling, locals())
        chosen, laws = self.couplings(coupling), self.structure.laws
        model = copy(self)
        model.coupling = {name: value for name, value in chosen.items() if value != couplings_of(laws[name])[0]}
        return model

    # Diagram

    def without(self, *edges: Edge, at: Mapping[str, Any] | None = None) -> "SCM":
        """Return the model without some edges: the effect sees the cause at a reference, whoever it is.

        All other effects of the cause, also those on the way to this effect, see it as it is. The model is another one,
        to be fitted again. Its parameters are the same: those that enter nothing any more keep their priors (`inert`).

        Parameters
        ----------
        edges
            Pairs (cause, effect) of variables.
        at
            What the effects see of a cause, a level or a number. By default its first level (of a 0/1 variable: 0), or
            the mean of its column in the data of the fit. A coefficient is inert only where the cause is at zero, as at
            its first level; at a mean it moves the intercept.

        Raises
        ------
        ProgramError
            If there is no such edge; if the effect is a number of a vector with a common noise; if a cause is latent,
            or holds whole numbers, and `at` does not say at what.

        Examples
        --------
        >>> import causalaudit as ca
        >>> scm = ca.models.loan.linear().without(("gender", "salary"))
        >>> list(scm.graph.edges), scm.inert
        ([('gender', 'balance'), ('salary', 'balance')], ('penalty',))
        """
        check_types(SCM.without, locals())
        return without_edges(self, edges, at or {})

    def mechanisms(self, coupling: Coupling | Mapping[str, Coupling] | None = None) -> Mechanisms:
        """Return the noise of every variable, its parents, and which variables are vectors."""
        structure, couplings = self.structure, self.couplings(coupling)
        noises = {
            name: noise_of(structure.laws[name], name, chosen, name in structure.shape_has_parents)
            for name, chosen in couplings.items()
        }
        parents = {
            name: tuple(parent for parent in self.graph.predecessors(name) if parent in self.variables)
            for name in self.variables
        }
        vectors = frozenset(name for name, law in structure.laws.items() if isinstance(law, OneHotCategorical))
        degrees = {name: chosen for name, chosen in couplings.items() if not isinstance(chosen, str)}
        return Mechanisms(noises, parents, structure.dtypes, vectors, degrees)

    # Frames and tensors

    def encode(self, data: pd.DataFrame) -> Tensors:
        """Return the columns of a table as the tensors that the program works on.

        Raises
        ------
        DataError
            If a column is missing, has missing values, undeclared levels or impossible values, or if the
            table is empty or its index is not unique.
        """
        check_table(data)
        tensors = {name: self.codec.encode(name, site_column(name, data)) for name in self.columns}
        self._check_support(tensors)
        return tensors

    def encode_observed(self, data: pd.DataFrame) -> Tensors:
        """Return the same of a table in which values may be missing: NaN, in a tensor of float64, is such a value.

        Raises
        ------
        DataError
            As `encode` does; if a covariate that is `Given` is missing.

        Examples
        --------
        >>> import causalaudit as ca
        >>> scm, people = ca.models.loan.linear(), ca.datasets.make_loan(3, seed=0)
        >>> scm.encode_observed(people.assign(gender=["male", None, "female"]))["gender"].tolist()
        [0.0, nan, 1.0]
        """
        check_table(data)
        for name in self.given:
            unknown = int(site_column(name, data, missing=True).isna().sum())
            if unknown:
                raise DataError(
                    f"{name!r} is missing for {unknown} of {len(data)} people, but the program conditions on it "
                    "(Given), with no distribution to draw it from: give it one, or drop or impute these people first."
                )
        tensors = {
            name: self.codec.encode_observed(name, site_column(name, data, missing=True)) for name in self.columns
        }
        self._check_support(tensors)
        return tensors

    def _check_support(self, tensors: Tensors) -> None:
        n, missing = len(next(iter(tensors.values()))), missing_in(tensors)
        tensors = filled(self, tensors)
        record = Record()
        with numerics(), torch.no_grad(), seeded(0, "support"):
            run(self.program, n, record, Intervene(tensors))
        for name, tensor in tensors.items():
            # What a distribution can give may depend on causes that are not known.
            unknown = [missing[cause] for cause in (name, *self.graph.predecessors(name)) if cause in missing]
            among = ~torch.stack(unknown).any(0) if unknown else None
            check_support(name, tensor, record.laws[name], among)

    # Simulation

    def prior_predictive(
        self, n: int, draws: int = 200, seed: int = 0, *, data: pd.DataFrame | None = None
    ) -> xr.Dataset:
        """Draw parameters from the prior, and people from each draw.

        Parameters
        ----------
        n, draws, seed
            How many people, for how many draws of the parameters, and the seed of both.
        data
            A table whose rows give the covariates that the program has as `Given`; needed if there are any.

        Returns
        -------
        xarray.Dataset
            Parameters with the dimension `draw`, variables with `draw` and `individual`; variables with
            levels as integer codes, their levels in the attributes.

        Examples
        --------
        >>> import causalaudit as ca
        >>> prior = ca.models.loan.linear().prior_predictive(n=5, draws=10, seed=0)
        >>> prior["salary"].shape
        (10, 5)
        """
        check_types(SCM.prior_predictive, locals())
        check_count("n", n)
        check_count("draws", draws)
        return simulate(self, prior_draws(self, draws, seed), n, draws, seed, data=data)


def _rebuilt_with(rebuilt: Callable[[Collection[str]], SCM], pair: Confounding, latents: Collection[str]) -> SCM:
    return rebuilt(latents).confounded(pair.first, pair.second, pair.rho)
