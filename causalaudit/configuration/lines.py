"""In which line of a TOML file each key is: the parser of the standard library does not tell."""

import re
from collections.abc import Iterator, Sequence

Path = tuple[str | int, ...]
_PART = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_DOTTED = rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*"
_HEADER = re.compile(rf"\s*(\[\[?)({_DOTTED})\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"({_DOTTED})=")
# What may hide a bracket: comments and texts, the long ones first. A long text may be open at the end.
_HIDDEN = re.compile(
    r"'''.*?(?:'''|\Z)|\"\"\"(?:\\.|[^\\])*?(?:\"\"\"|\Z)|\"(?:[^\"\\n]|\\.)*\"|'[^'\n]*'|\#[^\n]*", re.DOTALL
)


def key_lines(text: str) -> dict[Path, int]:
    r"""Return the line (from 1) of every table and key of a valid TOML text, except those inside inline tables.

    Examples
    --------
    >>> key_lines('seed = 1\n[[audit]]\nkind = "recourse"\n')
    {('seed',): 1, ('audit',): 2, ('audit', 0): 2, ('audit', 0, 'kind'): 3}
    """
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, statement in _statements(text):
        header = _HEADER.match(statement)
        if header:
            table = _table(_names(header[2]), header[1] == "[[", counts)
            _note(found, table, number)
        elif key := _KEY.match(statement):
            _note(found, (*table, *_names(key[1])), number)
    return found


def line_of(lines: dict[Path, int], path: Sequence[str | int]) -> int:
    """Return the line of a key, or of the nearest table around it that has one.

    Examples
    --------
    >>> line_of({("audit",): 2, ("audit", 0): 2}, ("audit", 0, "k"))
    2
    """
    for end in range(len(path), 0, -1):
        if tuple(path[:end]) in lines:
            return lines[tuple(path[:end])]
    return 1


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each key with its value, or header, that may go over several lines, and the line that it begins in."""
    lines = text.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        end = at + 1
        while end < len(lines) and _open("".join(lines[at:end])):
            end += 1
        yield at + 1, "".join(lines[at:end])
        at = end


def _open(statement: str) -> bool:
    """Tell whether a value is not complete: a bracket or a long text is open."""
    plain = _HIDDEN.sub(lambda hidden: "" if _closed(hidden[0]) else "[", statement)
    return sum(map(plain.count, "[{")) > sum(map(plain.count, "]}"))


def _closed(hidden: str) -> bool:
    marks = hidden[:3]
    return marks not in ("'''", '"""') or (len(hidden) >= 6 and hidden.endswith(marks))


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in re.findall(_PART, dotted))


def _table(names: Sequence[str], is_array: bool, counts: dict[Path, int]) -> Path:
    """Return where a header leads, with the number of each table of a list of tables."""
    path: Path = ()
    for place, name in enumerate(names):
        path = (*path, name)
        if is_array and place == len(names) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _note(found: dict[Path, int], path: Path, number: int) -> None:
    for end in range(1, len(path) + 1):
        found.setdefault(path[:end], number)
