"""Which of the two languages a contract is written in."""

import re

from stagepost.tasks.documents.document import Language

_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]")


def language_of(text: str) -> Language:
    """Chinese if at least a fifth of the letters are Chinese characters, else English.

    One Chinese character says about as much as three Latin letters: a bilingual contract, whose
    Chinese text usually governs, has some thirty characters to seventy letters.
    """
    han = len(_HAN.findall(text))
    latin = len(_LATIN.findall(text))
    return "zh" if han and han * 4 >= latin else "en"
