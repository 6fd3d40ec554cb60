"""Run a program from its prior, and refuse what an SCM must not contain."""

from typing import Any

import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch.distributions import Distribution

from causalaudit.arguments import shown
from causalaudit.errors import ProgramError
from causalaudit.randomness import seeded
from causalaudit.scm.handlers import PLATE, Message, Program, Record, is_person, law_of, run

PEOPLE = 8  # of the runs that are compared
_TRACES = 4
_ATTEMPTS = 30


class WithoutParam(Messenger):
    """Refuse `pyro.param` before it is put into Pyro's global store."""

    def _pyro_param(self, message: Message) -> None:
        raise ProgramError(
            f"pyro.param({message['name']!r}) is not part of an SCM: a parameter is a pyro.sample outside the plate, "
            "with a prior; a constant is a plain number (LocScaleReparam(centered=0.0) learns none)."
        )


class CheckedRun(WithoutParam, Record):
    """Record a run, refusing what an SCM must not contain."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.kinds: dict[str, str] = {}
        self.plates: list[str] = []

    def names(self, kind: str) -> tuple[str, ...]:
        return tuple(name for name, its_kind in self.kinds.items() if its_kind == kind)

    def _pyro_post_sample(self, message: Message) -> None:
        name = message["name"]
        check_site(name)
        if site_is_subsample(message):
            self._check_plate(name, message["fn"])
            return
        if message["infer"].get("is_auxiliary"):
            raise ProgramError(f"pyro.factor({name!r}) is not part of an SCM: every site needs a distribution.")
        deterministic = bool(message["infer"].get("_deterministic"))
        if message["is_observed"] and not deterministic:
            raise ProgramError(
                f"Site {name!r} is written with obs=; the data belong to `fit`, so remove it from the program."
            )
        if isinstance(message["scale"], torch.Tensor) or message["scale"] != 1.0 or message["mask"] is not None:
            raise ProgramError(
                f"Site {name!r} is scaled or masked (pyro.poutine.scale, mask): an SCM weights people equally."
            )
        if name in self.kinds:
            raise ProgramError(f"The site name {name!r} is used twice.")
        frames = message["cond_indep_stack"]
        if any(not frame.vectorized for frame in frames):
            raise ProgramError(
                f"Site {name!r} is in a sequential plate (`for i in pyro.plate(...)`): "
                f"write `with pyro.plate({PLATE!r}, n):`."
            )
        person = is_person(message)
        others = [frame.name for frame in frames if frame.name != PLATE]
        if person and others:
            raise ProgramError(
                f"Site {name!r} is in the plate {others[0]!r} beside that of the people: a plate of parameters is "
                "closed before that of the people is opened. Write one site for each of a person's variables."
            )
        self.kinds[name] = "variable" if person else "derived" if deterministic else "parameter"
        if self.kinds[name] == "parameter" and message["fn"].support.is_discrete:
            raise ProgramError(
                f"The parameter {name!r} ({type(message['fn']).__name__}) is discrete; parameters must be continuous. "
                "Write competing values as several programs, or move the site into the plate."
            )
        if person:
            self._check_shape(name, message["value"], law_of(message))
        super()._pyro_post_sample(message)

    def _check_plate(self, name: str, fn: Any) -> None:
        if name != PLATE:  # of parameters
            return
        if name in self.plates:
            raise ProgramError(f"The plate {PLATE!r} is opened twice: put all per-person sites into one `with` block.")
        if fn.subsample_size not in (None, fn.size):
            raise ProgramError(f"The plate {PLATE!r} is subsampled: an SCM describes everybody, remove subsample_size.")
        if fn.size != self.n:
            raise ProgramError(
                f"The plate {PLATE!r} has size {fn.size} when the program is run for {self.n} people: "
                f"write `with pyro.plate({PLATE!r}, n):` with the program's own argument n."
            )
        self.plates.append(name)

    def _check_shape(self, name: str, value: torch.Tensor, law: Distribution) -> None:
        expected = (self.n, *law.event_shape)
        if tuple(value.shape) != expected:
            raise ProgramError(
                f"Site {name!r} has values of shape {tuple(value.shape)} for {self.n} people; expected {expected}, "
                "one entry for each person."
            )


_TAKEN = ("draw", "chain", "individual")  # dimensions of draws and of files


def check_site(name: Any) -> None:
    """Refuse what cannot be the name of a site: draws are kept and saved under it."""
    if not isinstance(name, str) or not name.strip() or "/" in name or name in _TAKEN:
        raise ProgramError(
            f"A site of the program is named {shown(name)}, but must have a text for a name, without '/', that is none "
            f"of {', '.join(map(repr, _TAKEN))}: these are the dimensions of draws. Rename it and its column."
        )


def trace(program: Program, n: int, seed: int) -> CheckedRun:
    """Run a program once from its prior."""
    record = CheckedRun(n)
    with seeded(seed, "inspection"):
        run(program, n, record)
    if not record.plates:
        raise ProgramError(f"The program has no plate: put the per-person sites into `with pyro.plate({PLATE!r}, n):`.")
    if not record.names("variable"):
        raise ProgramError(f"The plate {PLATE!r} is empty: it must hold the per-person sites.")
    return record


def same_sites(one: CheckedRun, other: CheckedRun) -> None:
    """Refuse a program whose sites differ between two runs."""
    if list(one.kinds.items()) != list(other.kinds.items()):
        changed = sorted(set(one.kinds.items()) ^ set(other.kinds.items())) or list(one.kinds.items())
        raise ProgramError(
            f"The sites of the program come and go between runs ({', '.join(name for name, _ in changed)}): "
            "an SCM has the same sites in the same order every time. Use torch.where instead of `if`."
        )


def finite_traces(program: Program) -> list[CheckedRun]:
    """Return runs from the prior in which every value is finite."""
    good: list[CheckedRun] = []
    reference = trace(program, PEOPLE, seed=0)
    for seed in range(_ATTEMPTS):
        record = trace(program, PEOPLE, seed)
        same_sites(reference, record)
        if all(bool(torch.isfinite(value).all()) for value in record.values.values()):
            good.append(record)
        if len(good) == _TRACES:
            return good
    raise ProgramError(
        f"Of {_ATTEMPTS} runs from the prior only {len(good)} gave finite values: the priors allow parameters "
        "for which a site is infinite or undefined. Make them narrower, or keep scales positive."
    )
