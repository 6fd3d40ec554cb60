"""Audits that are killed go on where they were, and end with the bits of one that was not."""

import json
import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
from tiny_audits import CONFIGURATION, write_audit
from typer.testing import CliRunner

from causalaudit.cli import app

KILLS = 20
SMALL = CONFIGURATION[: CONFIGURATION.index("[[world]]")]


def audit(path, out):
    """What a process does: all stages of the command, without the report."""
    from causalaudit.configuration import read_configuration
    from causalaudit.errors import CausalAuditError
    from causalaudit.runs import Run, prepare, run_folder

    prepared = prepare(read_configuration(path))
    run = Run(prepared, run_folder(prepared, out), progress=False)
    try:
        with run.folder.locked():
            run.compute()
    except CausalAuditError:
        os._exit(2)


def started(server, path, out):
    process = server.Process(target=audit, args=(path, out))
    process.start()
    return process


def contents(folder):
    """The bytes of all files, but for the lock and how long things took."""
    there = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in there
        if not (path.parent.name == "stages" and path.suffix == ".json")
    }


@pytest.mark.slow
def test_an_audit_killed_twenty_times_ends_with_the_same_bits(tmp_path):
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["causalaudit.runs"])
    path, whole = write_audit(tmp_path / "audit", SMALL), tmp_path / "audit" / "whole"
    began = time.monotonic()
    process = started(server, path, whole)
    process.join()
    lasts = time.monotonic() - began
    assert process.exitcode == 0
    expected, rng, kills, finished = contents(whole), np.random.default_rng(0), 0, 0
    while kills < KILLS:
        out = tmp_path / "audit" / f"run{finished}"
        process = started(server, path, out)
        process.join(timeout=rng.uniform(0, lasts))
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            kills += 1
        if process.exitcode != -signal.SIGKILL:
            assert process.exitcode == 0
            assert contents(out) == expected
            finished += 1
    process = started(server, path, out := tmp_path / "audit" / f"run{finished}")
    process.join()
    assert process.exitcode == 0
    assert contents(out) == expected


@pytest.mark.slow
def test_workers_give_the_same_bits(tmp_path):
    path = write_audit(tmp_path, CONFIGURATION)
    for out, options in (("one", []), ("two", ["--workers", "2"])):
        result = CliRunner().invoke(app, ["audit", str(path), "--out", str(tmp_path / out), *options])
        assert result.exit_code == 0, result.stderr
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.slow
def test_the_demo_is_a_whole_audit(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["report"] == str(tmp_path / "out" / "report.html")
    assert len(found["audits"]) == 5
    assert {len(worlds) for worlds in found["worlds"].values()} == {2}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for words in (*found["audits"], "An invented rule for loans", "Does the bank refuse women for being women?"):
        assert words in page


@pytest.mark.slow
def test_of_two_at_once_one_is_refused(tmp_path):
    server = multiprocessing.get_context("forkserver")
    path = write_audit(tmp_path, SMALL)
    processes = [started(server, path, tmp_path / "run") for _ in range(2)]
    for process in processes:
        process.join()
    assert sorted(process.exitcode for process in processes) == [0, 2]
