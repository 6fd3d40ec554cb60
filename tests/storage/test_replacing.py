"""What is saved takes the place of what was there, whole or not at all, and nothing is left beside it."""

import os
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr

import causalaudit as ca
from causalaudit.errors import SavedFileError
from causalaudit.storage import read_artefact, replacing, write_artefact
from causalaudit.storage.replacing import temporary_name


def save(path, seed=0):
    write_artefact(path, "value", {"seed": seed}, {})


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def of_a_dead_process(folder):
    """Return a temporary name of a process of this machine that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    name = temporary_name(folder).name.replace(f"-{os.getpid()}-", f"-{process.pid}-")
    return folder / name


@pytest.fixture
def lax():
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_new_file_is_its_owners_alone_and_an_old_one_keeps_its_mode(lax, tmp_path):
    path = tmp_path / "x.nc"
    save(path)
    assert mode_of(path) == 0o600
    path.chmod(0o664)
    save(path)
    assert mode_of(path) == 0o664


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "far").mkdir()
    link = tmp_path / "x.nc"
    link.symlink_to(tmp_path / "far" / "y.nc")
    for seed in range(2):  # it leads to nothing, then to a file
        save(link, seed)
        assert link.is_symlink()
        assert read_artefact(tmp_path / "far" / "y.nc").header == {"seed": seed}
    link.unlink()
    link.symlink_to(tmp_path / "nowhere" / "y.nc")
    with pytest.raises(SavedFileError, match="There is no folder"):
        save(link)


def test_what_is_no_file_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / "x.nc")
    with pytest.raises(SavedFileError, match="is no ordinary file"):
        save(tmp_path / "x.nc")
    assert [path.name for path in tmp_path.iterdir()] == ["x.nc"]


def test_litter_of_dead_processes_is_removed_and_nothing_else(tmp_path):
    dead, dead_folder, alive = of_a_dead_process(tmp_path), of_a_dead_process(tmp_path), temporary_name(tmp_path)
    dead_folder.mkdir()
    (dead_folder / "chunk").write_text("")
    others = [
        alive,
        tmp_path / ".x.nc.1",
        tmp_path / ".causalaudit-elsewhere-999999-0123abcd",
        tmp_path / f"{dead.name}~",
    ]
    for path in (dead, *others):
        path.write_text("")
    save(tmp_path / "x.nc")
    assert set(tmp_path.iterdir()) == {tmp_path / "x.nc", *others}


def test_a_folder_of_draws_removes_litter_and_is_its_owners_alone(lax, tmp_path):
    pytest.importorskip("zarr")
    of_a_dead_process(tmp_path).mkdir()
    scm = ca.models.loan.linear()
    posterior = ca.fit(scm, ca.datasets.make_loan(30, seed=0), method="map", draws=2, chains=1, progress=False)
    ca.counterfactuals(posterior, {"gender": "male"}, path=tmp_path / "worlds.zarr", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["worlds.zarr"]
    assert mode_of(tmp_path / "worlds.zarr") == 0o700


def test_an_error_leaves_nothing(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")

    def interrupted():
        with replacing(path) as temporary:
            temporary.write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [file.name for file in tmp_path.iterdir()] == ["x.txt"]
    assert path.read_text() == "old"


# For each line that it is sent it makes a process that saves one file after another until it is killed.
SAVER = """
import itertools, os, sys
import numpy as np, xarray as xr
from causalaudit.storage import write_artefact

arrays = xr.Dataset({"a": ("n", np.random.default_rng(0).random(500_000))})
for _ in sys.stdin:
    child = os.fork()
    if not child:
        for seed in itertools.count(1):
            os.write(1, f"seed {seed}\\n".encode())
            write_artefact(sys.argv[1], "value", {"seed": seed}, {"arrays": arrays})
    os.write(1, f"process {child}\\n".encode())
    os.waitpid(child, 0)
    os.write(1, b"end\\n")
"""


def killed_while_saving(saver, wait):
    """Kill a process that saves, and return the last number that it began to save."""
    told = {}
    saver.stdin.write("\n")
    saver.stdin.flush()
    while len(told) < 2:
        what, number = saver.stdout.readline().split()
        told[what] = int(number)
    time.sleep(wait)
    os.kill(told["process"], signal.SIGKILL)
    while (line := saver.stdout.readline()) != "end\n":
        told["seed"] = int(line.split()[1])
    return told["seed"]


@pytest.mark.slow
def test_fifty_kills_while_saving(tmp_path):
    """The old file or the new one is there, and the next save leaves nothing beside it."""
    path, rng, littered = tmp_path / "x.nc", np.random.default_rng(0), 0
    expected = np.random.default_rng(0).random(500_000)
    arrays = xr.Dataset({"a": ("n", expected)})
    command, pipe = [sys.executable, "-c", SAVER, str(path)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as saver:
        for _ in range(50):
            write_artefact(path, "value", {"seed": 0}, {"arrays": arrays})
            assert [file.name for file in tmp_path.iterdir()] == ["x.nc"]
            begun = killed_while_saving(saver, rng.uniform(0, 0.15))
            littered += len(list(tmp_path.iterdir())) > 1
            found = read_artefact(path)
            assert found.header["seed"] in (begun - 1, begun)
            np.testing.assert_array_equal(found.groups["arrays"]["a"], expected)
        saver.stdin.close()
    assert littered > 5  # kills came in the middle
    write_artefact(path, "value", {"seed": 0}, {"arrays": arrays})
    assert [file.name for file in tmp_path.iterdir()] == ["x.nc"]
