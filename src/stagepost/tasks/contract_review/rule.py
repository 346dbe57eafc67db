"""One rule of the playbook: what wording it looks for, whom that harms, and what to do about it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from stagepost.tasks.contract_review.cast import Actor, Cast
from stagepost.tasks.contract_review.cue import REACH, Phrase, first, phrases
from stagepost.tasks.contract_review.law import Article
from stagepost.tasks.contract_review.report import ContractType, Severity
from stagepost.tasks.contract_review.view import View
from stagepost.tasks.contract_review.wording import Wording
from stagepost.tasks.documents.document import Language

Harms = Literal["subject", "other", "giver", "payer", "supplier", "both"]
_BENEFIT = 40  # characters after the wording in which the one who receives is named
_AROUND = {"en": 110, "zh": 40}  # characters beside the wording in which `unless` is looked for
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Hit:
    """Wording that a rule found: ranges of the clause's view, and who acts in the sentence.

    `receiver` is the party named in the wording or right after it: "assigns to X", 归X所有.
    """

    view: View
    sentence: tuple[int, int]
    found: tuple[int, int]
    actor: Actor | None
    receiver: Actor | None = None

    @property
    def words(self) -> str:
        """The wording itself with some of what follows it, in lower case."""
        return self.view.lower[self.found[0] : min(self.sentence[1], self.found[1] + 60)]

    @property
    def said(self) -> str:
        """The whole sentence in lower case."""
        return self.view.lower[slice(*self.sentence)]

    @property
    def clause(self) -> str:
        """The whole clause in lower case."""
        return self.view.lower


Judge = Callable[[Hit], Severity | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A risk that wording can show.

    `en` and `zh` are alternative phrases (see `cue`), matched in sentences of that language;
    wording near which an `unless_*` phrase stands is not meant. `judge` looks closer at a match and
    gives its severity, or None when there is no risk after all. A `one_sided` rule needs one party
    as the subject, and is dropped when the same wording binds the other party too. `harms` says who
    bears the risk: the `giver` is the party opposite to the one that receives. A rule with `types`
    fits only those contracts, a `prc_only` one only contracts under the law of the PRC, where alone
    `law` is cited. Rules that it `covers` say nothing more where both match one sentence. `about`,
    if set, must occur in the clause or in the heading above it.
    """

    id: str
    category: str
    severity: Severity
    harms: Harms
    risk: Wording
    suggestion: Wording
    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()
    unless_en: tuple[str, ...] = ()
    unless_zh: tuple[str, ...] = ()
    about: str = ""
    judge: Judge | None = None
    one_sided: bool = False
    types: tuple[ContractType, ...] = ()
    prc_only: bool = False
    law: Article | None = None
    covers: tuple[str, ...] = ()
    negotiability: Severity = "MEDIUM"
    confidence: float = 0.7
    reach: int | None = None

    def fits(self, contract_type: ContractType, *, prc: bool) -> bool:
        """Whether the rule applies to contracts of this type under this law."""
        return (prc or not self.prc_only) and (not self.types or contract_type in self.types)


@dataclass(frozen=True, slots=True)
class _Reader:
    wanted: tuple[Phrase, ...]
    unless: tuple[Phrase, ...]
    around: int


@cache
def _reader(rule: Rule, language: Language) -> _Reader:
    wanted, unless = (rule.zh, rule.unless_zh) if language == "zh" else (rule.en, rule.unless_en)
    reach = rule.reach or REACH[language]
    return _Reader(phrases(wanted, reach), phrases(unless, reach), _AROUND[language])


@cache
def _about(rule: Rule) -> re.Pattern[str]:
    return re.compile(rule.about)


@lru_cache(maxsize=1024)  # every rule asks it of the same sentence
def language_of(sentence: str) -> Language:
    """The language in which a sentence is to be read; contracts may hold both."""
    return "zh" if 4 * len(_CHINESE.findall(sentence)) >= len(sentence) else "en"


def match(rule: Rule, shown: View, sentence: tuple[int, int], cast: Cast) -> Hit | None:
    """The rule's first wording in one sentence of a clause, or None."""
    start, end = sentence
    reader = _reader(rule, language_of(shown.lower[start:end]))
    for one in reader.wanted:
        found = one.find(shown.lower, start, end)
        if found and not _excused(reader, shown.lower, sentence, found):
            actor = cast.actor(shown.lower, sentence, found)
            if not rule.one_sided or (actor and not actor.mutual and not actor.outsider):
                end = min(sentence[1], found[1] + _BENEFIT)
                giver = actor if language_of(shown.lower[start:end]) == "en" else None
                receiver = cast.named(shown.lower, found[0], end, giver)
                return Hit(shown, sentence, found, actor, receiver)
    return None


def _excused(
    reader: _Reader, lower: str, sentence: tuple[int, int], found: tuple[int, int]
) -> bool:
    begin = max(sentence[0], found[0] - reader.around)
    stop = min(sentence[1], found[1] + reader.around)
    begun, ended = first(reader.unless, lower, begin, stop)
    return ended > begun


def concerns(rule: Rule, surroundings: str) -> bool:
    """Whether a clause, with the headings above it, is about the rule's subject."""
    return not rule.about or _about(rule).search(surroundings) is not None
