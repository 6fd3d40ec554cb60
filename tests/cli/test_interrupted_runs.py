"""Audits that are killed go on where they were, and end with the bits of one that was not."""

import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import time

import numpy as np
import pytest
from tiny_audits import CONFIGURATION, write_audit
from typer.testing import CliRunner

from causalaudit.cli import app
from causalaudit.configuration import read_configuration
from causalaudit.errors import CausalAuditError
from causalaudit.runs import Run, RunFolder, prepare, run_folder

KILLS = 20
SMALL = CONFIGURATION[: CONFIGURATION.index("[[world]]")]


def audit(path, out, clock):
    """What a process does: all stages of the command, without the report; and how long it computed."""
    prepared = prepare(read_configuration(path))
    run = Run(prepared, run_folder(prepared, out), progress=False)
    try:
        with run.folder.locked():
            run.compute()
    except CausalAuditError:
        os._exit(2)
    clock.value = time.process_time()


def started(server, path, out):
    """A process that audits, and the clock of what it computes, which the load of the machine does not move."""
    clock = server.Value("d", 0.0)
    process = server.Process(target=audit, args=(path, out, clock))
    process.start()
    return process, clock


def ended(server, path, out):
    """The CPU seconds of an audit that nobody interrupts."""
    process, clock = started(server, path, out)
    process.join()
    assert process.exitcode == 0
    return clock.value


def computed(process):
    """The CPU seconds of another process so far (clock_getcpuclockid of Linux)."""
    return time.clock_gettime((~process.pid << 3) | 2)


def killed(server, path, out, moment):
    """Kill an audit when it has computed for so long; tell whether it had not ended by then."""
    process, _ = started(server, path, out)
    while process.exitcode is None:
        process.join(timeout=0.002)
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if computed(process) >= moment:
                os.kill(process.pid, signal.SIGKILL)
                process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def contents(folder):
    """The bytes of all files, but for the lock and how long things took."""
    there = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in there
        if not (path.parent.name == "stages" and path.suffix == ".json")
    }


@pytest.fixture(scope="module")
def server():
    """Forks processes that have imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["causalaudit.runs", "causalaudit.cli.auditing"])
    return context


@pytest.mark.slow
def test_an_audit_killed_twenty_times_ends_with_the_same_bits(tmp_path, server):
    path = write_audit(tmp_path / "audit", SMALL)
    whole, out = tmp_path / "audit" / "whole", tmp_path / "audit" / "killed"
    lasts = ended(server, path, whole)
    expected, rng, kills = contents(whole), np.random.default_rng(0), 0
    while kills < KILLS:
        if killed(server, path, out, rng.uniform(0, lasts)):
            kills += 1
        else:  # it has ended in spite of those that were killed before: begin anew
            assert contents(out) == expected
            shutil.rmtree(out)
    ended(server, path, out)
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
def test_of_two_at_once_one_is_refused(tmp_path, server):
    path, out = write_audit(tmp_path, SMALL), tmp_path / "run"
    with RunFolder(out).locked():
        process, clock = started(server, path, out)
        process.join()
    assert (process.exitcode, clock.value) == (2, 0)
    ended(server, path, out)
