"""Files that were altered and signed anew are refused by one error, or hold what they say; none hangs or swells."""

import json
import shutil

import numpy as np
import pytest
from auditors import Decompose, Estimate, Recourse, Scan, SituationTesting, fit_posterior, make_people
from forged_files import altered_bytes, forged, outcomes, taken_apart

import causalaudit as ca
from causalaudit.storage import folders, pack

ASKED = {"situation testing": SituationTesting, "error rates": Decompose, "estimate": Estimate, "recourse": Recourse,
         "scan": Scan}  # fmt: skip
KINDS = [*ASKED, "draws", "posterior"]


class Saved:
    """A file of each kind, made when it is first asked for, and the program of the posterior."""

    def __init__(self, folder):
        self.folder, self.people = folder, make_people()
        self.posterior = fit_posterior(self.people)
        self.scm = self.posterior.scm
        women = self.people.sex == "f"
        self.worlds = ca.counterfactuals(self.posterior, {"sex": "m"}, rows=women, draws=5, progress=False)

    def path(self, kind):
        path = self.folder / f"{kind}.nc"
        if not path.exists():
            self._thing(kind).save(path)
        return path

    def _thing(self, kind):
        if kind in ASKED:
            more = {"counterfactuals": self.worlds} if kind == "situation testing" else {}
            return ASKED[kind](self.people, self.posterior)(**more)
        return {"draws": self.worlds, "posterior": self.posterior}[kind]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return Saved(tmp_path_factory.mktemp("saved"))


def kept(thing):
    """Return all that a file keeps of a thing, packed, with the bytes of its arrays in their places."""
    settings = None
    if isinstance(thing, ca.Posterior):
        settings = [thing.settings, thing.scm.coupling]
        thing = {"data": thing.data, "groups": {name: thing.idata[name] for name in sorted(thing.idata.groups())}}
    elif isinstance(thing, ca.CounterfactualDraws):
        names = ("dataset", "factual", "do", "point", "settings", "completed", "bounds")
        thing = {name: getattr(thing, name) for name in names}
    skeleton, arrays = pack(thing)
    return settings, in_place(skeleton, {str(name): array.to_numpy() for name, array in arrays.items()})


def stated(content):
    """Return what a file says that it keeps, as `kept`; nothing of the package reads it."""
    body, document = taken_apart(content)
    arrays = {
        name: np.frombuffer(body, one["dtype"], int(np.prod(one["shape"])), one["start"]).reshape(one["shape"])
        for name, one in document["groups"]["arrays"].items()
    }
    header = document["header"]
    said, settings = in_place(header["content"], arrays), None
    if document["kind"] == "posterior":
        settings = [header["settings"], header["coupling"]]
        items = [item for item in said["items"] if item[0] in ("data", "groups")]
        for name, groups in items:
            if name == "groups":
                full = [item for item in groups["items"] if item[1]["variables"]]  # ArviZ keeps no group without
                groups["items"] = sorted(full, key=lambda item: str(item[0]))
        said = {**said, "items": items}
    return settings, said


def in_place(skeleton, arrays):
    if isinstance(skeleton, list):
        return [in_place(item, arrays) for item in skeleton]
    if isinstance(skeleton, dict) and skeleton.get("~") == "array":
        values = arrays[skeleton["at"]]
        return ["array", skeleton["dtype"], list(values.shape), values.tobytes().hex()]
    if isinstance(skeleton, dict):
        return {key: in_place(item, arrays) for key, item in skeleton.items()}
    return skeleton


def text(value):
    return json.dumps(value, sort_keys=True)


def tried(saved, kind, alter, count, seed):
    """Alter a file of a kind, and return how many were refused and read, and what must not happen."""
    scm, path = saved.scm, saved.folder / "altered.nc"
    whole = saved.path(kind).read_bytes()
    original = text(kept(ca.load(saved.path(kind), scm=scm)))
    assert original == text(stated(whole))

    def write(content):
        path.write_bytes(content)
        return content

    def is_same(found, content):
        found = text(kept(found))
        return found == original or (alter is forged and found == text(stated(content)))

    return outcomes(lambda rng: alter(whole, rng), write, lambda: ca.load(path, scm=scm), is_same, count, seed)


@pytest.mark.parametrize("kind", ["estimate", "draws", "posterior"])
@pytest.mark.parametrize("alter", [altered_bytes, forged])
def test_altered_files_are_refused_or_hold_what_they_say(saved, kind, alter):
    counted, wrong = tried(saved, kind, alter, 30, seed=1)
    assert not wrong
    assert counted["refused"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alter", [altered_bytes, forged])
def test_two_thousand_altered_files(saved, kind, alter):
    counted, wrong = tried(saved, kind, alter, 150, seed=2)
    assert not wrong
    assert counted.total() == 150


# Folders of draws


@pytest.fixture(scope="module")
def folder(saved, tmp_path_factory):
    """Draws in a folder of several chunks, and what they are."""
    at = tmp_path_factory.mktemp("draws")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(folders, "_PEOPLE", 100)
        ca.counterfactuals(saved.posterior, {"sex": "m"}, draws=6, path=at / "worlds.zarr", progress=False)
    return at / "worlds.zarr"


def all_draws(path):
    """Return everything that a folder says."""
    found = ca.load(path)
    names = ("factual", "do", "point", "settings")
    skeleton, arrays = pack([[part.dataset for part in found.in_memory()], [getattr(found, name) for name in names]])
    return text(in_place(skeleton, {str(name): array.to_numpy() for name, array in arrays.items()}))


def altered_folder(folder, rng):
    """Alter one of its files; return whether it was the one that can say otherwise."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    rest = rng.random() < 0.5
    path = folder / "rest.nc" if rest else files[rng.integers(len(files))]
    content = path.read_bytes()
    if path.name == "rest.nc":
        path.write_bytes((forged if rng.random() < 0.5 else altered_bytes)(content, rng))
        return True
    how, place = rng.integers(4), int(rng.integers(len(content)))
    if how == 0:
        path.unlink()
    elif how == 1:
        path.write_bytes(content[:place])
    elif how == 2:
        path.write_bytes(content[:place] + rng.bytes(4) + content[place + 4 :])
    else:  # a chunk that claims to be of four gigabytes
        path.write_bytes(content[:4] + b"\xff\xff\xff\xff" + content[8:])
    return False


def tried_folders(folder, tmp_path, count, seed):
    original, copied = all_draws(folder), tmp_path / "altered.zarr"

    def write(alter):
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(folder, copied)
        return alter()

    def is_same(found, may_differ):
        return found == original or may_differ

    alter = lambda rng: lambda: altered_folder(copied, rng)  # noqa: E731
    return outcomes(alter, write, lambda: all_draws(copied), is_same, count, seed)


def test_altered_folders_are_refused_or_hold_the_same(folder, tmp_path):
    counted, wrong = tried_folders(folder, tmp_path, 20, seed=1)
    assert not wrong
    assert counted["refused"] > 10


@pytest.mark.slow
def test_two_hundred_altered_folders(folder, tmp_path):
    counted, wrong = tried_folders(folder, tmp_path, 200, seed=2)
    assert not wrong
    assert counted.total() == 200
