"""ARCHITECTURE.md is true: its rooms exist, all rooms are in it, and the import contracts follow its rows."""

import re
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "causalaudit"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def rows():
    """The row of each room that the table names."""
    lines = re.findall(r"^\| (\d+) \| ([^|]*) \|", TEXT, flags=re.MULTILINE)
    return {room: int(row) for row, rooms in lines for room in re.findall(r"`([^`]+)`", rooms)}


def layers():
    """The layers of the contract in setup.cfg, from the last row to the first."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = config["importlinter:contract:rows"]["layers"].split("\n")
    return [[room.strip().removeprefix("causalaudit.") for room in line.split("|")] for line in lines if line]


def test_every_room_is_named_and_every_name_is_a_room():
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set(rows()) == there - {"__init__", "__main__"}  # the door of the command line


def test_the_contract_has_all_rooms_in_the_order_of_the_rows():
    order = [rows()[room] for layer in layers() for room in layer]
    assert order == sorted(order, reverse=True)
    assert {room for layer in layers() for room in layer} == set(rows())


def test_auditors_are_independent_of_one_another():
    auditors = {room for room, row in rows().items() if row == 7}
    assert auditors in [set(layer) for layer in layers()]


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:causalaudit|tests|models|scm)/[^`]*)`", TEXT))))
def test_every_path_exists(path):
    assert (ROOT / path).exists() or (PACKAGE / path).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make ([a-z-]+)`", (ROOT / "CONTRIBUTING.md").read_text()))))
def test_every_target_of_the_makefile_exists(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_one_module_asks_arviz():
    asking = [
        path.name
        for path in ROOT.glob("causalaudit/**/*.py")
        if re.search(r"^\s*(import|from) arviz", path.read_text(), re.M)
    ]
    assert asking == ["arviz_versions.py"]
