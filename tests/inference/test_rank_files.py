"""Files of ranks that were altered are refused by one error, or hold the same ranks."""

import json
import zlib

import numpy as np
import pytest

from causalaudit.errors import DataError
from causalaudit.inference.calibration.rank_file import RankFile

DRAWS, NAMES = 19, ["mean", "effects[0]"]
HEADER = {
    "settings": {"n": 20, "draws": DRAWS, "method": "auto", "seed": 0, "parameters": NAMES},
    "prior": {"mean": 20.5, "effects": -0.25},
    "people": {"wage": 19.75},
}
RECORDS = [
    {"data_set": 0, "ranks": [3, 19], "failure": None, "doubt": None},
    {"data_set": 1, "ranks": [0, 7], "failure": None, "doubt": "Not trustworthy: r-hat."},
    {"data_set": 2, "ranks": None, "failure": "InferenceError: no luck", "doubt": None},
    {"data_set": 3, "ranks": [11, 12], "failure": None, "doubt": None},
]
ODD = [None, True, 0, -1, 20, 10**30, 0.5, "x", [], {}, [3], [3, 20], [3, -1], [3, 1.5], [True, 3], [1] * 50]


@pytest.fixture
def path(tmp_path):
    file = RankFile(tmp_path / "ranks.jsonl", HEADER)
    file.read(4)
    for record in RECORDS:
        file.add(record)
    return file.path


def read(path):
    return RankFile(path, HEADER).read(4)


def altered(content, rng):
    """Alter some bytes."""
    content, start, size = bytearray(content), int(rng.integers(len(content))), int(rng.integers(1, 9))
    how = rng.integers(4)
    if how == 0:
        content[start] ^= 1 << int(rng.integers(8))
    elif how == 1:
        content[start : start + size] = rng.bytes(size)
    elif how == 2:
        del content[start : start + size]
    else:
        content[start:start] = content[start : start + size]
    return bytes(content)


def forged(content, rng):
    """Replace one field of one record, and make its checksum right."""
    lines = content.splitlines()
    place = int(rng.integers(1, len(lines)))
    record = json.loads(lines[place])
    del record["crc32"]
    name = list(record)[rng.integers(len(record))]
    if rng.random() < 0.2:
        del record[name]
    else:
        record[name] = ODD[rng.integers(len(ODD))]
    record["crc32"] = zlib.crc32(json.dumps(record).encode())
    lines[place] = json.dumps(record).encode()
    return b"\n".join([*lines, b""])


def is_sound(record):
    ranks = record["ranks"]
    fits = ranks is None or (len(ranks) == 2 and all(type(rank) is int and 0 <= rank <= DRAWS for rank in ranks))
    return fits and (ranks is None) != (record["failure"] is None)


def test_altered_files_are_refused_or_hold_the_same(path):
    content, rng, refused = path.read_bytes(), np.random.default_rng(0), 0
    for _ in range(200):
        path.write_bytes(altered(content, rng))
        try:
            found = read(path)
        except DataError:
            refused += 1
        else:
            assert all(found[number] == RECORDS[number] for number in found)
    assert refused > 120


def test_forged_records_are_refused_or_could_be_true(path):
    content, rng, refused = path.read_bytes(), np.random.default_rng(1), 0
    for _ in range(200):
        path.write_bytes(forged(content, rng))
        try:
            found = read(path)
        except DataError:
            refused += 1
        else:
            assert all(is_sound(record) for record in found.values())
    assert refused > 80


def test_what_is_no_file_is_refused(path, tmp_path):
    with pytest.raises(DataError, match="not a file of ranks"):
        read(tmp_path)
    path.write_bytes(b"[" * 100_000 + b"\n")
    with pytest.raises(DataError, match="damaged"):
        read(path)
