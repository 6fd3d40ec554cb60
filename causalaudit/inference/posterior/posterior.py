"""The posterior: parameter draws beside the program and the data they belong to."""

import warnings
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.arguments import check_count, check_types
from causalaudit.arviz_versions import InferenceData, add_group, chain_table, copied, group_names, statistics_table
from causalaudit.errors import CausalAuditWarning, DataError, InferenceError
from causalaudit.global_state import ignored_warnings
from causalaudit.inference.density.joint_density import JointDensity
from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.posterior.diagnostics import Diagnostics, components_in, diagnose, is_trusted, missing_words
from causalaudit.inference.posterior.display import posterior_html
from causalaudit.inference.posterior.modes_in_words import misses_modes
from causalaudit.inference.posterior.predictive_check import predictive_verdict
from causalaudit.inference.posterior.storage import SavedPosterior, write_posterior
from causalaudit.scm import SCM
from causalaudit.scm.noise import Coupling
from causalaudit.scm.simulation import simulate
from causalaudit.storage import believing
from causalaudit.weights import effective_people, read_weights


class LogEvidence(NamedTuple):
    """An importance-sampling estimate of log p(data | program), and its standard error."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class Posterior:
    """What `fit` returns. Two posteriors are equal if they are the same object.

    Attributes
    ----------
    scm : SCM
        The program.
    data : pandas.DataFrame
        The people it was fitted to, all columns.
    idata : arviz.InferenceData, or xarray.DataTree with ArviZ 1
        Groups `posterior`, `sample_stats`, `observed_data`, `log_prior` and, after `log_likelihood` was
        called, `log_likelihood`. A program without parameters has no `posterior` and no `log_prior`.
    settings : dict
        Method, draws, chains and seed, and the column of weights if there is one, in JSON types.
    """

    scm: SCM
    data: pd.DataFrame
    idata: InferenceData
    settings: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"Posterior of {self.scm.name!r}: {len(self.data)} people, "
            f"{self.settings['chains']} × {self.settings['draws']} draws by {self.settings['method']}"
        )

    def _repr_html_(self) -> str:
        return posterior_html(repr(self), self.diagnostics(), self.summary())

    @property
    def weights(self) -> np.ndarray | None:
        """The survey weights of the people, which add up to the number of those who have one; None without."""
        name = self.settings.get("weights")
        return None if name is None else read_weights(self.data, name)

    def refuse_weights(self, why: str) -> None:
        """Refuse a posterior of weighted people, for what takes all people alike; `why` ends the message."""
        if "weights" in self.settings:
            raise InferenceError(f"The people of this posterior have weights ({self.settings['weights']!r}): {why}")

    @property
    def log_evidence(self) -> LogEvidence | None:
        """The marginal likelihood of the program; None where it is not estimated or not to be trusted.

        A pseudo-likelihood of weighted people has none.
        """
        attributes = self.idata["sample_stats"].attrs
        if "log_evidence" not in attributes:
            return None
        if not is_trusted(attributes["pareto_k"], attributes["efficiency"], attributes["first_share"]):
            return None
        if any(misses_modes(one) for one in [attributes, *components_in(attributes)]):
            return None
        return LogEvidence(float(attributes["log_evidence"]), float(attributes["log_evidence_error"]))

    def draw_numbers(self, draws: int | None = None) -> np.ndarray:
        """Return the positions of `draws` evenly spaced draws (None: all), chains one after the other."""
        check_types(Posterior.draw_numbers, locals())
        total = self.settings["chains"] * self.settings["draws"]
        if draws is None:
            return np.arange(total)
        if not isinstance(draws, Integral) or not 1 <= draws <= total:
            raise DataError(f"draws is {draws}, but the posterior has {total}: choose a number from 1 to {total}.")
        return np.linspace(0, total - 1, draws).round().astype(int)

    def parameters(self, draws: int | None = None) -> dict[str, np.ndarray]:
        """Return the draws of each parameter, with a leading axis of draws."""
        numbers = self.draw_numbers(draws)
        stacked = {name: self.idata["posterior"][name].to_numpy() for name in self.scm.parameters}
        return {name: value.reshape(-1, *value.shape[2:])[numbers] for name, value in stacked.items()}

    def latents(self, people: "pd.Index[Any]") -> dict[str, np.ndarray]:
        """Return the draws (first axis) of latents that were drawn together with the parameters, of some people."""
        if "latents" not in group_names(self.idata):
            return {}
        at = self.data.index.get_indexer(people)
        arrays = {str(name): value.to_numpy() for name, value in self.idata["latents"].data_vars.items()}
        return {name: value.reshape(-1, value.shape[-1])[:, at] for name, value in arrays.items()}

    def log_likelihood(self, progress: bool = True) -> xr.DataArray:
        """Return the log-likelihood of each person, latents summed out, for each draw.

        It is computed on the distinct rows of the data, kept in ``idata.log_likelihood`` for `arviz.loo`, and
        takes 8 bytes × draws × people of memory.

        Of weighted people it is that of each person once, without the weight. Then it is not for `arviz.loo`, which
        takes every person for one factor of the posterior; the array's attribute ``weights`` says so.

        Examples
        --------
        >>> import causalaudit as ca
        >>> people = ca.datasets.make_loan(50, seed=0)
        >>> posterior = ca.fit(ca.models.loan.linear(), people, draws=10, chains=2)
        >>> posterior.log_likelihood().shape
        (2, 10, 50)
        """
        if "latents" in group_names(self.idata):
            raise InferenceError(
                "The latents of this posterior were drawn together with the parameters, because they could not be "
                "integrated out (one can, and two that enter few variables): people have no likelihood of their own "
                "here, and there is no leave-one-out. Compare programs by `plots.plot_predictive`, or use one "
                "continuous latent."
            )
        if "log_likelihood" not in group_names(self.idata):
            density = MarginalDensity(self.scm, self.scm.encode_observed(self.data))
            total = len(self.draw_numbers())
            rows = density.likelihood_by_row(self.parameters(), total, progress)
            people = rows[:, density.rows.inverse].reshape(self.settings["chains"], self.settings["draws"], -1)
            coordinates = {"individual": self.data.index.to_numpy()}
            attributes = {"weights": self.settings["weights"]} if "weights" in self.settings else {}
            array = xr.DataArray(people, dims=("chain", "draw", "individual"), coords=coordinates, attrs=attributes)
            add_group(self.idata, "log_likelihood", array.to_dataset(name="people"))
        result: xr.DataArray = self.idata["log_likelihood"]["people"]
        return result

    def summary(self, prob: float = 0.9) -> pd.DataFrame:
        """Return mean, standard deviation, credible interval, effective size, error and r-hat of each parameter.

        The interval is the shortest that holds `prob` of the draws. The entries of a parameter with several have the
        names that the SCM gives them (`coords`), else numbers. With chains (method "nuts") the effective size is that
        of the bulk, for each parameter; with importance weights ("laplace", "svi") one for all that were drawn
        together. Only chains have an r-hat. What edges that were cut leave without effect (`SCM.inert`) has its prior.

        Examples
        --------
        >>> import causalaudit as ca
        >>> posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(200, seed=0), seed=0)
        >>> list(posterior.summary().columns)
        ['mean', 'sd', 'credible_low', 'credible_high', 'ess', 'mcse', 'r_hat']
        """
        check_types(Posterior.summary, locals())
        figures = ["ess", "mcse", "r_hat"]
        if "posterior" not in group_names(self.idata):
            return pd.DataFrame(columns=["mean", "sd", "credible_low", "credible_high", *figures], dtype=float)
        if len(self.draw_numbers()) == 1:
            warnings.warn(
                "This posterior has a single draw, which has no spread: sd and mcse are NaN. Fit with more draws.",
                CausalAuditWarning,
                stacklevel=2,
            )
        with ignored_warnings(RuntimeWarning):  # of numpy, about the spread of a single draw
            table = statistics_table(self.idata, prob)
        return table.assign(**self._effective_sizes(table["sd"]))

    def _effective_sizes(self, sd: "pd.Series[float]") -> dict[str, Any]:
        """Return the effective size of each entry of a parameter, the error of its mean, and r-hat of chains."""
        statistics = self.idata["sample_stats"].attrs
        names = sd.index.str.partition("[").get_level_values(0)
        ess = pd.Series(statistics.get("ess", np.nan), sd.index, dtype=float)
        from_chains = pd.Series("r_hat" in statistics, sd.index)
        for component in components_in(statistics):
            own = names.isin(component["parameters"])
            ess[own], from_chains[own] = component["ess"], "r_hat" in component
        ess = ess.where(~from_chains)
        found = {"ess": ess, "mcse": sd / np.sqrt(ess), "r_hat": pd.Series(np.nan, sd.index)}
        if from_chains.any() and self.settings["draws"] >= 4:
            chains = chain_table(self.idata)
            found = {name: values.where(~from_chains, chains[name]) for name, values in found.items()}
        return found

    def diagnostics(self, by: str | None = None, draws: int = 100, seed: int = 0) -> Diagnostics:
        """Say in words whether the draws can be trusted, with the numbers behind it; and whether the program fits.

        Where values of people are missing, it says which, of how many people, and what is assumed about them.

        Parameters
        ----------
        by
            A column of groups, such as the protected attribute: each variable of simulated people is compared with the
            observed one, group by group. None: only the draws are judged, since trust in a computation says nothing
            about the program. People with weights are compared as the population that they stand for.
        draws
            How many draws to simulate people from; all, if there are fewer.
        seed
            Of the simulated people.

        Examples
        --------
        >>> import causalaudit as ca
        >>> posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(500, seed=0), seed=0)
        >>> print(posterior.diagnostics(by="gender").predictive)
        Predictive: simulated people look like the observed ones in every variable, by gender.
        """
        check_types(Posterior.diagnostics, locals())
        check_count("draws", draws)
        total = len(self.draw_numbers())
        computed = diagnose(self.settings["method"], self.idata["sample_stats"].attrs, total)
        missing = missing_words(self.data[list(self.scm.columns)])
        computed = replace(computed, inert=self.scm.inert, missing=missing)
        if self.weights is not None:
            words = f"{computed.verdict} {self._weighting(self.weights)}"
            computed = replace(computed, verdict=words)
        if by is None:
            return computed
        fits, words = predictive_verdict(self.predictive(min(draws, total), seed), self.data, by, self.weights)
        return replace(computed, predictive=words, fits=fits)

    def _weighting(self, weights: np.ndarray) -> str:
        """Say in words by what people are weighted, and what is adjusted to it."""
        counted, by = weights[weights > 0], self.settings["weights"]
        words = f"Weighted by {by!r}: {len(counted)} people are worth {effective_people(counted):.0f}"
        if "beyond_curvature" not in self.idata["sample_stats"].attrs:
            return f"{words}."
        return f"{words}; the spread of the draws is the sandwich of independently sampled people."

    def predictive(self, draws: int | None = None, seed: int = 0) -> xr.Dataset:
        """Simulate as many new people as the data have, for each draw of the parameters.

        If people have weights, those are of the population, and so are the covariates that are given.
        Takes about 8 bytes × draws × people × variables of memory.

        Examples
        --------
        >>> import causalaudit as ca
        >>> posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(50, seed=0))
        >>> posterior.predictive(draws=7)["balance"].shape
        (7, 50)
        """
        check_types(Posterior.predictive, locals())
        numbers = self.draw_numbers(draws)
        return simulate(
            self.scm, self.parameters(draws), len(self.data), len(numbers), seed, data=self.data, weights=self.weights
        )

    def with_coupling(self, coupling: Coupling | Mapping[str, Coupling]) -> "Posterior":
        """Return the same draws under another assumption on how worlds share noise: see `SCM.couplings`.

        Nothing is fitted again: no data tell couplings apart. Counterfactuals and all auditors obey it.

        Parameters
        ----------
        coupling
            As in `SCM.couplings`: a name or a number from -1 to 1, or a mapping from variables to these. Variables that
            are not concerned keep what this posterior has for them.

        Examples
        --------
        >>> import causalaudit as ca
        >>> posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(50, seed=0))
        >>> posterior.with_coupling({"salary": 0.5}).scm.couplings()
        {'gender': 'monotone', 'salary': 0.5, 'balance': 'monotone'}
        """
        check_types(Posterior.with_coupling, locals())
        return replace(self, scm=self.scm.with_coupling(coupling))

    def copy(self) -> "Posterior":
        """Return the same posterior with data, draws and settings of its own, which can be changed.

        Examples
        --------
        >>> import causalaudit as ca
        >>> posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(50, seed=0))
        >>> posterior.copy().data["salary"].equals(posterior.data["salary"])
        True
        """
        return replace(self, data=self.data.copy(), idata=copied(self.idata), settings=deepcopy(self.settings))

    def save(self, path: str | Path) -> None:
        """Write the posterior, its data and settings to a netCDF file; `Posterior.load` reads it back.

        Examples
        --------
        >>> import tempfile, causalaudit as ca
        >>> scm = ca.models.loan.linear()
        >>> posterior = ca.fit(scm, ca.datasets.make_loan(50, seed=0))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     posterior.save(f"{folder}/loan.nc")
        ...     ca.Posterior.load(f"{folder}/loan.nc", scm)
        Posterior of 'loan, linear': 50 people, 4 × 1000 draws by laplace
        """
        check_types(Posterior.save, locals())
        density = _density(self.scm, self.data, self.idata)
        write_posterior(Path(path), density, self.data, self.idata, self.settings)

    @classmethod
    def load(cls, path: str | Path, scm: SCM) -> "Posterior":
        """Read a posterior that was saved.

        Raises
        ------
        SavedFileError
            If the file is damaged, or belongs to another program: structure, families and levels are
            compared, and the densities of stored draws are computed again. Also if the program has chosen another
            coupling (`SCM.with_coupling`); if it has chosen none, it takes the one that was saved.
        """
        check_types(Posterior.load, locals())
        with believing(Path(path).name):
            saved = SavedPosterior(Path(path))
            scm = scm.with_columns_of(saved.data)
            saved.refuse_another_structure(scm)
            saved.refuse_other_equations(_density(scm, saved.data, saved.idata))
            return cls(saved.under_its_coupling(scm), saved.data, saved.idata, saved.settings)


def _density(scm: SCM, data: pd.DataFrame, idata: InferenceData) -> ProgramDensity:
    kind = JointDensity if "latents" in group_names(idata) else MarginalDensity
    return kind(scm, scm.encode_observed(data))
