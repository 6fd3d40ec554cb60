"""The line of each key of a TOML text."""

import tomllib
from pathlib import Path

import pytest

from causalaudit.configuration.lines import key_lines, line_of

STARTER = Path(__file__).parents[2] / "causalaudit" / "starter" / "audit.toml"

TEXTS = {
    "comments and brackets in texts": (
        'a = "[b]" # c = [\n"quoted key" = 1\nd = [ # x\n  "]",\n  2,\n]\ne = 3\n',
        {("a",): 1, ("quoted key",): 2, ("d",): 3, ("e",): 7},
    ),
    "long texts": (
        "a = \"\"\"\nb = 1\n[c]\n\"\"\"\nd = '''\n[[e]]'''\nf = 1\n",
        {("a",): 1, ("d",): 5, ("f",): 7},
    ),
    "lists of tables, and tables in them": (
        "[[a]]\nb = 1\n[a.c]\nd = 2\n[[a]]\nb = 3\n[a.c]\nd = 4\n",
        {("a", 0): 1, ("a", 0, "b"): 2, ("a", 0, "c"): 3, ("a", 0, "c", "d"): 4, ("a", 1, "c", "d"): 8},
    ),
    "dotted keys": ("[x.y]\na.b = 1\n'c.d' = 2\n", {("x",): 1, ("x", "y", "a", "b"): 2, ("x", "y", "c.d"): 3}),
    "inline tables over lines": ("a = { b = [\n 1,\n] }\nc = 1\n", {("a",): 1, ("c",): 4}),
    "carriage returns": ("a = 1\r\n[b]\r\nc = 2\r\n", {("a",): 1, ("b",): 2, ("b", "c"): 3}),
}


@pytest.mark.parametrize("case", TEXTS)
def test_lines(case):
    text, expected = TEXTS[case]
    tomllib.loads(text)
    found = key_lines(text)
    assert {path: found.get(path) for path in expected} == expected


def paths(value, path=()):
    """The keys that lead to every value of a parsed text."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    for key, one in items:
        yield (*path, key)
        yield from paths(one, (*path, key))


def test_every_key_of_the_starter_has_the_line_that_begins_with_it():
    text = STARTER.read_text(encoding="utf-8")
    lines, found = text.splitlines(), key_lines(text)
    known = [path for path in paths(tomllib.loads(text)) if path in found]
    assert len(known) > 60
    for path in known:
        if isinstance(path[-1], str):
            assert str(path[-1]) in lines[found[path] - 1].partition("=")[0]


def test_what_has_no_line_has_that_of_what_it_is_in():
    lines = key_lines("a = 1\nb = { c = 2 }\n")
    assert line_of(lines, ("b", "c")) == 2
    assert line_of(lines, ("d",)) == 1
