"""Globs: what they match, and that no glob is slow."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.price_names import NameIndex, glob_pattern
from tests.pricing.price_rows import entry

few = st.text("ab*?.", max_size=8)


@given(few, st.text("ab.", max_size=8))
def test_globs_match_as_fnmatch_does(glob, name):
    """Independent implementation: the standard library's fnmatch, for * and ?."""
    found = NameIndex([entry("m", match=(glob,))]).resolve(name)
    assert found == (("m",) if name == "m" or fnmatchcase(name, glob) else ())


@pytest.mark.parametrize("glob", ["m[ab]", "m.1", "m+", "m(1)", "m\\d", "m\n*"])
def test_other_characters_are_themselves(glob):
    """A bracket, a dot or a line end in a model's name means nothing else."""
    index = NameIndex([entry("m", match=(glob,))])
    assert index.resolve(glob.replace("*", "x")) == ("m",)
    assert index.resolve("ma") == index.resolve("mx1") == ()


def test_a_glob_of_many_stars_is_matched_at_once():
    """*a repeated 60 times against 500 a's would never end with backtracking."""
    index = NameIndex([entry("m", match=("*a" * 60 + "b",))])
    assert index.resolve("a" * 500) == ()
    assert index.resolve("a" * 500 + "b") == ("m",)


def test_a_glob_without_star_has_the_length_of_its_names():
    """By hand: ? is any one character."""
    assert glob_pattern("a?c") == "a.c"
