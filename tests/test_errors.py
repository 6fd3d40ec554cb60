"""Hints in error messages."""

import pytest

from causalaudit.errors import nearest


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        ("salery", ["gender", "salary"], "did you mean 'salary'?"),
        ("x0", [0, 1], "did you mean 0?"),
        ("salary", [0, 1], "there are 0, 1."),
        ("salary", [], "there are none."),
    ],
)
def test_the_nearest_name_is_shown_or_all_of_them(name, names, hint):
    assert nearest(name, names) == hint
