"""Files that were altered and signed anew, and the limits within which they must be refused or read."""

import copy
import hashlib
import json
import math
import resource
import signal
import warnings
import zlib
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from causalaudit.errors import SavedFileError
from causalaudit.storage import files

SECONDS, BYTES = 10, 10**9
_DIGEST, _FOOT = 32, files._FOOT.size
_ODD = [None, True, 0, -1, 1, 3, 2**31, 2**63, 10**15, -(10**15), 0.5, -1e308, "", "x", "~", "float", "array", "<f8",
        "<U999999999", "|V8000000000", "O", [], {}, [[]], [10**12], {"~": "float", "is": "nan"}, {"~": "range"},
        {"~": "range index", "ends": [0, 10**12, 1], "name": None}, {"~": "range", "ends": [0, 10**15, 1]},
        {"~": "object", "class": "people.Groups", "fields": {}}, {"~": "code", "text": "f"}, {"~": "tuple", "items": 3},
        {"~": "objects", "shape": [10**9, 0], "items": [], "dtype": "|O"}]  # fmt: skip


class TooLong(BaseException):
    """More seconds than a file may take; no handler of exceptions takes it for something else."""


@contextmanager
def limits():
    """Stop whatever takes longer than it may, or asks for more memory than it may."""

    def stop(*_):
        raise TooLong

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, hard))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)


def signed(content):
    """Return the bytes of a file with the digest of what is before it."""
    body = bytes(content[:-_DIGEST])
    return body + hashlib.sha256(body).digest()


def altered_bytes(content, rng):
    """Return a file with some bytes flipped, set, inserted or removed, most of them where the document is."""
    content = bytearray(content)
    length = len(content) - _DIGEST
    _, document, _ = files._FOOT.unpack(bytes(content[length - _FOOT : length]))
    least = 0 if rng.random() < 0.4 else length - _FOOT - (document if rng.random() < 0.8 else 0)
    start = int(rng.integers(least, length))
    size = int(rng.integers(1, 12))
    how = rng.integers(5)
    if how == 0:
        content[start] ^= 1 << int(rng.integers(8))
    elif how == 1:
        content[start : start + size] = rng.bytes(min(size, length - start))
    elif how == 2:
        content[start:start] = rng.bytes(size)
    elif how == 3:
        del content[start : min(start + size, length)]
    else:
        content[start : start + 8] = int(rng.choice([0, 2**31, 2**62])).to_bytes(8, "little")[: length - start]
    return signed(content)


def taken_apart(content):
    """Return the netCDF part of a file and its document."""
    foot = len(content) - _DIGEST - _FOOT
    _, length, _ = files._FOOT.unpack(content[foot : foot + _FOOT])
    return bytearray(content[: foot - length]), json.loads(content[foot - length : foot])


def put_together(arrays, document):
    """Return a file in which every digest is right."""
    text = json.dumps(document).encode()
    foot = files._FOOT.pack(zlib.crc32(text), len(text), files._MARK)
    return signed(bytes(arrays) + text + foot + bytes(_DIGEST))


def forged(content, rng):
    """Return a file of which one claim, or one number of an array, is another, and all digests are right."""
    arrays, document = taken_apart(content)
    stated = [one for group in document["groups"].values() for one in group.values() if math.prod(one["shape"])]
    if stated and rng.random() < 0.3:
        _alter_array(arrays, stated[rng.integers(len(stated))], rng)
    else:
        _alter(document, rng)
    return put_together(arrays, document)


def _alter_array(arrays, stated, rng):
    count, dtype = math.prod(stated["shape"]), np.dtype(stated["dtype"])
    values = np.frombuffer(arrays, dtype, count, stated["start"])
    odd = [np.nan, np.inf, -1.0, 1e300] if dtype.kind == "f" else [np.iinfo(dtype).max, np.iinfo(dtype).min, 7, 2]
    values[rng.integers(count)] = odd[rng.integers(len(odd))]
    stated["crc32"] = zlib.crc32(values.tobytes())


def _alter(document, rng):
    places = [place for place in _places(document) if place[1] != "crc32"]
    # Small parts of the document are found as often as long lists.
    parent, key = places[int(len(places) * rng.random() ** 2)]
    how = rng.integers(5)
    if how == 0:
        del parent[key]
    elif how == 1 and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
    elif how == 2:
        other, at = places[rng.integers(len(places))]
        parent[key] = copy.deepcopy(other[at])
    elif how == 3 and isinstance(parent[key], int):
        parent[key] = int(parent[key]) + int(rng.choice([-1, 1, 10**12]))
    else:
        parent[key] = copy.deepcopy(_ODD[rng.integers(len(_ODD))])


def _places(document):
    """Return all places of a document, the outer ones first."""
    found, waiting = [], [document]
    while waiting:
        inner = []
        for value in waiting:
            for key in value if isinstance(value, dict) else range(len(value)):
                found.append((value, key))
                inner += [value[key]] if isinstance(value[key], dict | list) else []
        waiting = inner
    return found


def outcomes(alter, write, read, is_same, count, seed):
    """Alter a file many times, read each, and count what happens; what must not happen is returned in words."""
    counted, wrong = Counter(), []
    rng = np.random.default_rng(seed)
    for number in range(count):
        written = write(alter(rng))
        try:
            with limits(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = read()
        except SavedFileError as error:
            counted["refused"] += 1
            if isinstance(error.__cause__, MemoryError):
                wrong.append(f"{number}: asked for more memory than it may: {error}")
        except (TooLong, Exception) as error:
            wrong.append(f"{number}: {error!r}")
        else:
            counted["read"] += 1
            if not is_same(found, written):
                wrong.append(f"{number}: what was read is not what the file says")
    return counted, wrong
