"""Which entries of the playbook, and which articles, are laid before a model with a clause."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from stagepost.tasks.contract_review.by_model.windows import Window
from stagepost.tasks.contract_review.categories import categorise
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
_SHOWN = 1.5  # weight of an entry whose category the clause shows, against shared words


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
    said = _words(window.item.text.lower())
    shown = {span.category for span in categorise(window.item).categories}
    weights = {rule.id: _nearness(rule, said, shown) for rule in rules_named(frame.rules)}
    ordered = sorted(weights, key=lambda rule: -weights[rule])
    best = [rule for rule in ordered[:ENTRIES_MOST] if weights[rule] > 0]
    by_id = {rule.id: rule for rule in RULES}
    return [by_id[rule] for rule in best]


def _nearness(rule: Rule, said: frozenset[str], shown: set[str]) -> float:
    rarity = _rarity()
    shared = sum(rarity[one] for one in _of_rule(rule.id) & said)
    most = sum(rarity[one] for one in _of_rule(rule.id))
    return shared / most + (_SHOWN if rule.category in shown else 0.0)


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
def _rarity() -> Mapping[str, float]:
    """How much a word tells: the fewer entries have it, the more."""
    within = Counter(one for rule in RULES for one in _of_rule(rule.id))
    return {one: math.log(1 + len(RULES) / number) for one, number in within.items()}
