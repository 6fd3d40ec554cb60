"""A session as a person has it, in any order: fit, ask, audit, save, load; a state machine of hypothesis."""

import tempfile
import warnings
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

import causalaudit as ca
from causalaudit.errors import CausalAuditError
from causalaudit.storage import same
from tools.soak.scene import LEVELS, finite_program, make_people
from tools.soak.scene import rule as decide
from tools.soak.watch import global_states, print_of

_FEATURES = st.lists(st.sampled_from(["skill", "job", "wage", "race"]), min_size=1, max_size=3, unique=True)
_SEEDS = st.integers(0, 3)


class Session(RuleBasedStateMachine):
    """Whatever is done in whatever order: the table and global states stay, and what is saved comes back."""

    posteriors: Bundle = Bundle("posteriors")
    worlds: Bundle = Bundle("worlds")
    results: Bundle = Bundle("results")

    def __init__(self) -> None:
        super().__init__()
        self.people = make_people()
        self.before, self.states = print_of(self.people), global_states()
        self.folder = tempfile.TemporaryDirectory()
        self.scm = _model()

    def teardown(self) -> None:
        """Throw the files away."""
        self.folder.cleanup()

    @initialize(target=posteriors)
    def begin(self) -> Any:
        """Fit once, so that there is something to ask."""
        return self._quietly(ca.fit, self.scm, self.people, "ml", draws=3, chains=1, progress=False)

    @rule(target=posteriors, method=st.sampled_from(["ml", "map", "laplace"]), seed=_SEEDS, rows=st.integers(20, 48))
    def fit(self, method: str, seed: int, rows: int) -> Any:
        """Fit some of the people."""
        people = self.people.iloc[:rows]
        return self._quietly(ca.fit, self.scm, people, method, draws=3, chains=1, seed=seed, progress=False)

    @rule(target=posteriors, posterior=posteriors, coupling=st.sampled_from(["monotone", "independent", 0.5]))
    def couple(self, posterior: Any, coupling: Any) -> Any:
        """Assume something else of the noise."""
        return posterior.with_coupling(coupling)

    @rule(target=worlds, posterior=posteriors, level=st.sampled_from(["m", "f"]), seed=_SEEDS, chunk=st.integers(1, 3))
    def imagine(self, posterior: Any, level: str, seed: int, chunk: int) -> Any:
        """Ask what everybody would be: the same for every chunk."""
        first, second = (
            self._quietly(ca.counterfactuals, posterior, {"sex": level}, seed=seed, chunk=size, progress=False)
            for size in (chunk, None)
        )
        assert first.dataset.identical(second.dataset)
        return first

    @rule(target=results, features=_FEATURES, k=st.integers(1, 12), tau=st.floats(-1, 1))
    def test_situations(self, features: list[str], k: int, tau: float) -> Any:
        """Audit without worlds."""
        return self._audit(ca.situation_testing, self.people, decide, {"sex": "f"}, features=features, k=k, tau=tau)

    @rule(target=results, worlds=worlds, features=_FEATURES, k=st.integers(1, 12))
    def test_worlds(self, worlds: Any, features: list[str], k: int) -> Any:
        """Audit with worlds, which may be of fewer people than the table."""
        people = self.people.loc[worlds.factual.index]
        return self._audit(
            ca.situation_testing, people, decide, {"sex": "f"}, features=features, k=k, counterfactuals=worlds
        )

    @rule(target=results, posterior=posteriors, y=st.integers(0, 1), yhat=st.integers(0, 1))
    def decompose(self, posterior: Any, y: int, yhat: int) -> Any:
        """Explain error rates."""
        return self._audit(
            ca.decompose_error_rates, posterior, decide, {"sex": "f"}, outcome="good", features=["sex", "skill"], y=y,
            yhat=yhat, population="exact",
        )  # fmt: skip

    @rule(target=results, features=_FEATURES, support=st.floats(0.02, 0.5))
    def audit_recourse(self, features: list[str], support: float) -> Any:
        """Audit recourse."""
        return self._audit(
            ca.audit_recourse, self.people, decide, {"sex": "f"}, list(dict.fromkeys(["skill", *features])),
            support=support,
        )  # fmt: skip

    @rule(target=results, features=_FEATURES, draws=st.sampled_from([None, 19]), seed=_SEEDS)
    def scan(self, features: list[str], draws: int | None, seed: int) -> Any:
        """Scan for bias."""
        return self._audit(
            ca.scan_bias, self.people, {"sex": "f"}, "good", recommendation="decided", features=features, draws=draws,
            seed=seed, iterations=5,
        )  # fmt: skip

    @rule(result=results)
    def save_and_load(self, result: Any) -> None:
        """What is saved comes back, and says the same."""
        path = Path(self.folder.name) / "result.nc"
        result.save(path)
        again = ca.load(path)
        assert same(again.table, result.table)
        assert str(again) == str(result)

    @rule(posterior=posteriors)
    def save_posterior(self, posterior: Any) -> None:
        """A posterior that is saved comes back with the same draws."""
        path = Path(self.folder.name) / "posterior.nc"
        posterior.save(path)
        again = self._quietly(ca.load, path, scm=self.scm)
        assert again.summary().equals(posterior.summary())

    @invariant()
    def nothing_else_changed(self) -> None:
        """The table and the global states are what they were."""
        assert print_of(self.people) == self.before
        assert global_states() == self.states

    def _audit(self, auditor: Any, *given: Any, **options: Any) -> Any:
        """Return a result, or nothing if the question is refused."""
        try:
            return self._quietly(auditor, *given, progress=False, **options)
        except CausalAuditError:
            return multiple()

    def _quietly(self, function: Any, *given: Any, **options: Any) -> Any:
        """Call: that few people are few is no news; other warnings are errors."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ca.errors.CausalAuditWarning)
            return function(*given, **options)


def _model() -> Any:
    if not _MODELS:
        _MODELS.append(ca.SCM(finite_program, levels=LEVELS))
    return _MODELS[0]


_MODELS: list[Any] = []  # read off the program once
