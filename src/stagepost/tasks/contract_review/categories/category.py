"""One clause category by its CUAD name, and the wording that shows it."""

from dataclasses import dataclass
from functools import cache

from stagepost.tasks.contract_review.cue import REACH, Phrase, first, phrases
from stagepost.tasks.contract_review.rule import language_of
from stagepost.tasks.contract_review.view import View
from stagepost.tasks.documents.document import Language

_AROUND = {"en": 120, "zh": 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A category; `unless_*` wording beside a match says that it is meant otherwise."""

    name: str
    en: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()
    unless_en: tuple[str, ...] = ()
    unless_zh: tuple[str, ...] = ()
    reach: int | None = None


@cache
def _compiled(
    category: Category, language: Language
) -> tuple[tuple[Phrase, ...], tuple[Phrase, ...]]:
    wanted, unless = (
        (category.zh, category.unless_zh) if language == "zh" else (category.en, category.unless_en)
    )
    reach = category.reach or REACH[language]
    return phrases(wanted, reach), phrases(unless, reach)


def shows(category: Category, shown: View, sentence: tuple[int, int]) -> bool:
    """Whether a sentence of a view belongs to the category."""
    start, end = sentence
    language = language_of(shown.lower[start:end])
    wanted, unless = _compiled(category, language)
    for one in wanted:
        found = one.find(shown.lower, start, end)
        if found:
            begin = max(start, found[0] - _AROUND[language])
            stop = min(end, found[1] + _AROUND[language])
            begun, ended = first(unless, shown.lower, begin, stop)
            if ended == begun:
                return True
    return False
