"""No pattern can be made slow by a text: a bound on the work of each, and hostile texts."""

import importlib
import math
import pkgutil
import re
import resource
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from re import _constants as sre  # type: ignore[attr-defined, unused-ignore]
from re import _parser  # type: ignore[attr-defined, unused-ignore]
from typing import TYPE_CHECKING, Any

import pytest

import stagepost.tasks.contract_review as package
from stagepost.tasks.contract_review.categories import CATEGORIES
from stagepost.tasks.contract_review.cue import Phrase, phrase
from stagepost.tasks.contract_review.playbook import RULES
from stagepost.tasks.contract_review.rule import Rule

if TYPE_CHECKING:
    from stagepost.tasks.contract_review.categories.category import Category

WAYS_MOST = 20_000  # ways in which one pattern can try to match from one place
CPU_SECONDS = 100  # for a megabyte of any hostile text, on a slow machine
MEBIBYTE = 1 << 20


def _written() -> Iterator[tuple[str, str]]:
    entries: list[Rule | Category] = [*RULES, *CATEGORIES]
    for entry in entries:
        name = entry.id if isinstance(entry, Rule) else entry.name
        for text in (*entry.en, *entry.zh, *entry.unless_en, *entry.unless_zh):
            yield f"{name}: {text}", text


def _phrases() -> Iterator[tuple[str, Phrase]]:
    for name, text in _written():
        yield name, phrase(text, 60)


def _module_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                yield f"{module.name}.{name}", value


def ways(parsed: Any) -> float:
    """An upper bound on the paths that backtracking can take through a pattern from one place."""
    total = 1.0
    for operation, argument in parsed:
        total *= _ways_of(operation, argument)
    return total


def _ways_of(operation: Any, argument: Any) -> float:
    if operation in {sre.ATOMIC_GROUP, sre.POSSESSIVE_REPEAT}:
        return 1.0  # never given back
    if operation in {sre.MAX_REPEAT, sre.MIN_REPEAT}:
        least, most, inner = argument
        if most == sre.MAXREPEAT:
            return math.inf
        # a group that ends in a separator can be cut in one way only, whatever it repeats inside
        inside = 1.0 if _ends_fixed(inner) else ways(inner)
        return float(sum(inside**times for times in range(least, most + 1)))
    if operation is sre.BRANCH:
        branches = [_words(branch) for branch in argument[1]]
        if all(branch is not None for branch in branches):
            return _longest_chain([word for branch in branches for word in branch or []])
        return float(sum(ways(branch) for branch in argument[1]))
    if operation is sre.SUBPATTERN:
        return ways(argument[-1])
    if operation in {sre.ASSERT, sre.ASSERT_NOT}:
        return ways(argument[1])
    return 1.0


def _words(parsed: Any) -> list[str] | None:
    """Every text that a pattern of plain letters can match; None if it is not one, or too many."""
    texts = [""]
    for operation, argument in parsed:
        added = _words_of(operation, argument)
        if added is None or len(texts) * len(added) > 500:
            return None
        texts = [text + more for text in texts for more in added]
    return texts


def _words_of(operation: Any, argument: Any) -> list[str] | None:
    if operation is sre.LITERAL:
        return [chr(argument)]
    if operation is sre.AT:
        return [""]
    if operation is sre.SUBPATTERN:
        return _words(argument[-1])
    if operation is sre.MAX_REPEAT and argument[1] == 1:
        inner = _words(argument[2])
        return None if inner is None else ["", *inner]
    if operation is sre.BRANCH:
        branches = [_words(branch) for branch in argument[1]]
        if all(branch is not None for branch in branches):
            return [word for branch in branches for word in branch or []]
    return None


def _longest_chain(words: list[str]) -> float:
    """How many of some words can match at one place: those that begin one another."""
    return float(max(sum(long.startswith(word) for word in words) for long in words))


def _ends_fixed(parsed: Any) -> bool:
    items = list(parsed)
    while items and items[-1][0] is sre.SUBPATTERN and len(items) == 1:
        items = list(items[-1][1][-1])
    kinds = [operation for operation, _ in items]
    return len(items) > 1 and (kinds[-1] is sre.LITERAL or kinds[0] is sre.LITERAL)


def test_the_bound_sees_what_is_slow() -> None:
    assert ways(_parser.parse("(?:a{1,9}){1,9}")) > WAYS_MOST
    assert ways(_parser.parse("a+b")) == math.inf
    assert ways(_parser.parse(r"(?:\w{2,14} ){0,4}assign")) < 100


@pytest.mark.parametrize("source", ["phrases", "modules"])
def test_every_pattern_is_bounded(source: str) -> None:
    patterns = (
        [(name, part) for name, one in _phrases() for part in one.parts]
        if source == "phrases"
        else list(_module_patterns())
    )
    assert len(patterns) > 30
    slow = [
        (name, bound)
        for name, part in patterns
        if (bound := ways(_parser.parse(part.pattern, part.flags & re.IGNORECASE))) > WAYS_MOST
    ]
    assert slow == []


def test_no_part_of_a_phrase_matches_nothing() -> None:
    empty = [name for name, one in _phrases() if any(part.match("") for part in one.parts)]
    assert empty == []


_HOSTILE = {
    "spaces": '" " * size',
    "digits": '"1" * size',
    "quotes": '"\\"(" * (size // 2)',
    "gaps": '"shall not the supplier may terminate liability " * (size // 47)',
    "chinese": '"甲方有权随时单方解除合同乙方应支付违约金%不承担责任" * (size // 26)',
    "references": '"section 1.1 and clause 2 of exhibit a, " * (size // 39)',
    "numbers": '"one hundred and twenty thousand (" * (size // 33)',
    "money": '"壹拾万元" * (size // 4)',
    "dates": '"from 1 May 2026 to " * (size // 19)',
    "lines": '"a\\n" * (size // 2)',
}


@pytest.mark.parametrize("kind", sorted(_HOSTILE))
def test_a_megabyte_of_hostile_text_is_reviewed_within_the_limit(kind: str) -> None:
    script = textwrap.dedent(f"""
        size = {MEBIBYTE}
        text = {_HOSTILE[kind]}
        from tasks.contract_review.drafting import draft, review
        from stagepost.tasks.contract_review import render_html
        from stagepost.tasks.documents.document import Clause
        language = "zh" if {kind!r} in ("chinese", "money") else "en"
        document, _ = draft(text, language)
        step = 150_000
        clauses = tuple(
            Clause(number=str(n), path=(str(n),), level=1, title="", kind="clause", page=1,
                   start=at, end=min(at + step, len(text)))
            for n, at in enumerate(range(0, len(text), step), start=1)
        )
        report = review((document, clauses), contract_type="services")
        assert len(report.clauses) == len(clauses)
        assert len(render_html(report, document)) > len(text)
        print("reviewed")
    """)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))

    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": ":".join(sys.path), "PATH": ""},
        preexec_fn=limited,
        capture_output=True,
        text=True,
        timeout=115,
        check=False,
    )
    assert done.stdout.strip() == "reviewed", done.stderr[-2_000:]
