"""Paths: the identity of a step."""

from itertools import permutations

import pytest

from stagepost.errors import AmbiguousStep
from stagepost.scope import Scope


def path(scope: Scope, name: str, key: str | None = None) -> str:
    with scope.enter(name, key) as found:
        return found


def test_the_first_of_a_name_has_the_name_and_later_ones_are_numbered() -> None:
    scope = Scope()
    assert [path(scope, "parse") for _ in range(3)] == ["parse", "parse#2", "parse#3"]
    assert path(scope, "other") == "other"


def test_a_key_names_a_step_wherever_it_comes() -> None:
    scope = Scope()
    assert path(scope, "parse", "annex") == "parse:annex"
    assert path(scope, "parse") == "parse"
    assert path(scope, "parse", "annex") == "parse:annex"


def test_a_scope_within_a_step_counts_anew() -> None:
    inner = Scope("analyse[3]", "analyse")
    assert path(inner, "cite") == "analyse[3]/cite"
    assert path(inner, "cite") == "analyse[3]/cite#2"
    assert path(Scope("analyse[4]", "analyse"), "cite") == "analyse[4]/cite"


@pytest.mark.parametrize("key", [None, "one"])
def test_two_live_steps_of_one_identity_are_refused(key: str | None) -> None:
    scope = Scope()
    with scope.enter("parse", key):
        with pytest.raises(AmbiguousStep, match="at the same time"):
            path(scope, "parse", key)
        assert path(scope, "parse", "another") == "parse:another"
    path(scope, "parse", key)


def test_no_name_or_key_can_look_like_another_path() -> None:
    names = [*map("".join, permutations("a/:#[]", 3)), "a", "a#2", "a:b", "a[0]", "a%2F", "%"]
    paths = {path(Scope(), name) for name in names}
    paths |= {path(Scope(), "x", name) for name in names}
    paths |= {path(Scope("x", "x"), name) for name in names}
    assert len(paths) == 3 * len(names)


@pytest.mark.parametrize("name", ["", "x" * 101, "a\nb", "\ud800"])
def test_what_can_be_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        path(Scope(), name)
    with pytest.raises(ValueError, match="key"):
        path(Scope(), "name", name * 3)
