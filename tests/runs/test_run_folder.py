"""The folder of a run: stages by what they depend on, nothing half-written, one process at a time."""

import json
import multiprocessing
import os
import signal
import warnings

import pandas as pd
import pytest

from causalaudit.errors import CausalAuditError, CausalAuditWarning, SavedFileError
from causalaudit.runs import RunFolder
from causalaudit.runs.folder import Stage
from causalaudit.runs.keys import key_of, versions
from causalaudit.storage import pack, read_artefact, unpack, write_artefact


class Number:
    """Something that can be saved."""

    def __init__(self, value):
        self.value = value

    def save(self, path):
        skeleton, arrays = pack(pd.Series([self.value]))
        write_artefact(path, "number", {"content": skeleton}, {"arrays": arrays})


def read(path):
    artefact = read_artefact(path)
    return unpack(artefact.header["content"], artefact.groups["arrays"])[0]


def stage(value=1.0, asked=None, name="a number", **depends):
    def compute():
        if asked is not None:
            asked.append(value)
        warnings.warn("mind the number", CausalAuditWarning, stacklevel=1)
        return Number(value)

    return Stage(name, {"stage": "number", "value": value, **depends}, compute, read)


@pytest.fixture
def folder(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        yield folder


def test_a_stage_is_computed_once_and_what_it_warned_of_is_kept(folder):
    asked = []
    first = folder.ensure(stage(asked=asked))
    again = folder.ensure(stage(asked=asked))
    assert asked == [1.0]
    assert (first.reused, again.reused) == (False, True)
    assert first.notes == again.notes == ("mind the number",)
    assert folder.read(stage(asked=asked)) == 1.0


def test_another_dependence_is_another_stage(folder):
    assert [folder.read(stage(value, seed=seed)) for value, seed in ((1.0, 0), (2.0, 0), (2.0, 1))] == [1.0, 2.0, 2.0]
    assert len(list(folder.stages.glob("*.nc"))) == 3


@pytest.mark.parametrize("damage", [b"", b"half", None])
def test_a_damaged_file_is_computed_again_and_never_read(folder, damage):
    asked = []
    folder.read(stage(asked=asked))
    path = folder.stages / stage().file
    path.write_bytes(path.read_bytes()[:-100] if damage is None else damage)
    with pytest.raises(SavedFileError):
        read(path)
    assert folder.read(stage(asked=asked)) == 1.0
    assert asked == [1.0, 1.0]


def test_a_stage_without_its_notes_is_not_finished(folder):
    asked = []
    folder.ensure(stage(asked=asked))
    (folder.stages / stage().file).with_suffix(".json").write_text('{"sec', encoding="utf-8")
    assert not folder.ensure(stage(asked=asked)).reused


def test_what_an_interrupted_process_left_is_removed(tmp_path):
    stages = tmp_path / "run" / "stages"
    (stages / ".folder.x").mkdir(parents=True)
    (stages / ".fit-1.nc.x7").write_bytes(b"half")
    with RunFolder(tmp_path / "run").locked():
        assert list(stages.iterdir()) == []


def test_names_of_stages_are_safe_names_of_files():
    assert stage(name="audit '../../<b>' in 'ä/ö'").file.startswith("audit-b-in-")


def hold(path, held):
    with RunFolder(path).locked():
        held.set()
        signal.pause()


def test_a_lock_ends_with_its_process(tmp_path):
    context = multiprocessing.get_context("fork")
    held = context.Event()
    process = context.Process(target=hold, args=(tmp_path, held))
    process.start()
    assert held.wait(30)
    with pytest.raises(CausalAuditError, match=f"process {process.pid}"), RunFolder(tmp_path).locked():
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with RunFolder(tmp_path).locked():
        pass


def test_folders_that_are_none(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(CausalAuditError, match="is a file"), RunFolder(tmp_path / "file").locked():
        pass
    with pytest.raises(CausalAuditError, match="is not the folder of a run"):
        RunFolder(tmp_path).description()


def test_keys_are_about_values_and_versions_about_the_source():
    assert key_of({"a": 1, "b": [2]}) == key_of({"b": [2], "a": 1}) != key_of({"a": 1, "b": [2.0]})
    assert json.dumps(versions())
    assert "+" in versions()["causalaudit"]
