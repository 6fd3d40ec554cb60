"""What is wrong with a configuration, in words: the line, what was given, what is allowed, what to do."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails

from causalaudit.errors import nearest

Path = tuple[str | int, ...]
_MOST = 70  # characters of a value that is shown
_KINDS = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "dict": "a table",
    "model": "a table",
}
_RANGES = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


def problems(errors: Sequence[ErrorDetails], raw: Mapping[str, Any]) -> list[tuple[Path, str]]:
    """Return where each problem is, as the keys that lead there, and what it is."""
    grouped: dict[Path, list[ErrorDetails]] = {}
    for error in errors:
        path, _ = _walked(raw, error)
        grouped.setdefault(path, []).append(error)
    # Of a value that may be several things, only the deepest problem says something.
    shown = [path for path in grouped if not any(other != path and other[: len(path)] == path for other in grouped)]
    return [(path, _words(path, grouped[path], raw)) for path in shown]


def name_of(path: Path, raw: Mapping[str, Any]) -> str:
    """Return how a place is called: the table, by its name if it has one, and the key in it.

    Examples
    --------
    >>> name_of(("audit", 0, "k"), {"audit": [{"name": "women"}]})
    "k of [[audit]] 'women'"
    """
    table, rest, value = "", list(path), raw.get(str(path[0])) if path else None
    if len(path) > 1 and isinstance(path[1], int) and isinstance(value, list):
        one = value[path[1]] if path[1] < len(value) else None
        called = one.get("name") or one.get("kind") if isinstance(one, Mapping) else None
        table, rest = f"[[{path[0]}]] {path[1] + 1 if called is None else repr(called)}", rest[2:]
    elif isinstance(value, Mapping):
        table, rest = f"[{path[0]}]", rest[1:]
    keys = ".".join(str(key) if isinstance(key, str) else str(key + 1) for key in rest)
    return f"{keys} of {table}" if keys and table else keys or table or "the configuration"


def _walked(raw: Any, error: ErrorDetails) -> tuple[Path, Any]:
    """Return the keys that lead to a problem, without the names of types among them, and the value that is there."""
    path: list[str | int] = []
    value, last = raw, error["loc"][-1] if error["loc"] else None
    for step in error["loc"]:
        if isinstance(value, Mapping) and step in value:
            path.append(step)
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            path.append(step)
            value = value[step]
    if error["type"] == "missing" and last is not None:
        path.append(last)
    if error["type"] == "unknown_key":
        path.append(error["ctx"]["key"])
    return tuple(path), value


def _words(path: Path, errors: Sequence[ErrorDetails], raw: Mapping[str, Any]) -> str:
    first = errors[0]
    kind, context = first["type"], first.get("ctx", {})
    where = name_of(path, raw)
    table = name_of(path[:-1], raw)
    if kind == "unknown_key":
        allowed = context["allowed"]
        return f"{table} has no key {path[-1]!r}: {nearest(str(path[-1]), allowed)} Allowed: {', '.join(allowed)}."
    if kind == "missing":
        return f"{table} lacks the key {path[-1]!r}: add it."
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return _kind_of_audit(where, first)
    value = _shown(_walked(raw, first)[1])
    literals = [one["ctx"]["expected"] for one in errors if one["type"] == "literal_error"]
    if literals and len(errors) == 1:
        allowed = [text.strip("'") for text in literals[0].replace(" or ", ", ").split(", ")]
        return f"{where} is {value}, but must be {literals[0]}: {nearest(value.strip(chr(39)), allowed)}"
    return f"{where} is {value}, but must be {_expected(errors)}."


def _kind_of_audit(where: str, error: ErrorDetails) -> str:
    allowed = ["situation_testing", "error_rates", "recourse", "bias_scan", "impact_ratios"]
    known = f"one of {', '.join(map(repr, allowed))}"
    if error["type"] == "union_tag_not_found":
        return f"{where} does not say what it is: add kind, {known}."
    tag = str(error["ctx"]["tag"])
    return f"{where} has the kind {tag!r}, but must have {known}: {nearest(tag, allowed)}"


def _expected(errors: Sequence[ErrorDetails]) -> str:
    ranges = [_range(error) for error in errors if error["type"] in _RANGES]
    if ranges:
        return f"a number {' and '.join(ranges)}"
    kinds = [_kind(error) for error in errors]
    return " or ".join(dict.fromkeys(kinds))


def _range(error: ErrorDetails) -> str:
    limit, words = _RANGES[error["type"]]
    return f"{words} {error['ctx'][limit]}"


def _kind(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "literal_error":
        return str(context["expected"])
    if kind in ("too_short", "string_too_short"):
        least = context.get("min_length")
        return f"at least {least} {'characters' if kind.startswith('string') else 'values'} long"
    if kind in ("too_long", "string_too_long"):
        return f"at most {context.get('max_length')} {'characters' if kind.startswith('string') else 'values'} long"
    if kind == "finite_number":
        return "a finite number"
    for prefix, words in _KINDS.items():
        if kind.startswith(prefix):
            return words
    return error["msg"].lower()


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
