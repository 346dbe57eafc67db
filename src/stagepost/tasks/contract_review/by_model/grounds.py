"""Which entries of the playbook, and which articles, are laid before a model with a clause."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from stagepost.tasks.contract_review.by_model.windows import Window
from stagepost.tasks.contract_review.category_words import word
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.contract_review.law import Article
from stagepost.tasks.contract_review.playbook import RULES, rules_named
from stagepost.tasks.contract_review.rule import Rule

ENTRIES_MOST = 8
FOUND_MOST = 12  # entries of which a rule found something; they go before the others

_WORD = re.compile(r"[a-z]{4,40}")
_HAN = re.compile(r"[\u4e00-\u9fff]{2,400}")
_STEM = 6  # letters by which two English words are the same


class Grounds(NamedTuple):
    """The entries, and the articles by the id under which alone they may be cited."""

    entries: tuple[Rule, ...]
    articles: Mapping[str, Article]


def grounds(window: Window, frame: Knowledge) -> Grounds:
    """What bears on a window: first the rules that found something, then the nearest entries.

    Articles are those of these entries, and only where their law governs the contract.
    """
    found = rules_named(window.rules)
    near = _ranked(window, frame)
    others = [rule for rule in near if rule not in found]
    entries = (*found[:FOUND_MOST], *others[: max(0, ENTRIES_MOST - len(found))])
    laws = dict.fromkeys(rule.law for rule in entries if rule.law is not None and frame.prc)
    return Grounds(entries, {f"A{number}": law for number, law in enumerate(laws, start=1)})


def _ranked(window: Window, frame: Knowledge) -> list[Rule]:
    """The entries that share the most of what is rare in them with the clause, or its title."""
    said = _words(f"{window.item.title} {window.item.text}".lower())
    near = {rule: weight for rule in frame.rules if (weight := _nearness(rule, said)) > 0}
    by_id = {rule.id: rule for rule in RULES}
    return [by_id[rule] for rule in sorted(near, key=lambda rule: -near[rule])[:ENTRIES_MOST]]


def _nearness(rule: str, said: frozenset[str]) -> float:
    """Which share of an entry's words a clause has, by their weight."""
    weights = _weights(rule)
    # Exact, so whatever the order of the sets: another process must ask the same.
    return math.fsum(weights[one] for one in weights.keys() & said)


def _words(text: str) -> frozenset[str]:
    """English words by their first letters, and pairs of Chinese characters."""
    han = [run[at : at + 2] for run in _HAN.findall(text) for at in range(len(run) - 1)]
    return frozenset([*(one[:_STEM] for one in _WORD.findall(text)), *han])


@cache
def _of_rule(rule_id: str) -> frozenset[str]:
    (rule,) = rules_named((rule_id,))
    told = (rule.risk.en, rule.suggestion.en, rule.risk.zh, rule.suggestion.zh)
    named = (word(rule.category, "en"), word(rule.category, "zh"))
    return _words(" ".join((*named, *told)).lower())


@cache
def _weights(rule_id: str) -> Mapping[str, float]:
    """How much each of an entry's words tells: the fewer entries have it, the more; 1 in all."""
    within = _within()
    rare = {one: math.log(1 + len(RULES) / within[one]) for one in _of_rule(rule_id)}
    whole = math.fsum(rare.values())
    return {one: weight / whole for one, weight in rare.items()}


@cache
def _within() -> Mapping[str, int]:
    """How many entries have a word."""
    return Counter(one for rule in RULES for one in _of_rule(rule.id))
