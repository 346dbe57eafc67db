"""Blanks that were left to be filled in."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stagepost.tasks.contract_review.checks.material import Material, whole_words
from stagepost.tasks.contract_review.report import Check, Severity
from stagepost.tasks.contract_review.wording import Wording, counted
from stagepost.tasks.documents.document import Clause

CLAUSES_MOST = 6  # blanks that are listed one by one
OTHERS_MOST = 12  # clauses that are named as having the same blank
BESIDE = 80  # characters of the line beside a blank

_BLANK = re.compile(
    r"_{3,200}|＿{2,200}|\[ {0,20}+(?:●|•|·|\.{2,6}|_{1,50})? {0,20}+\]"
    r"|【 {0,20}+(?:●|_{1,50})? {0,20}+】|\b(?:TBD|TBC|T\.B\.D\.)\b"
    r"|\[(?:insert|enter|date|name|amount|address|company|number|party|state|city|to be)"
    r"[^\[\]]{0,60}+\]|\bto be (?:determined|agreed|confirmed|inserted)\b(?= ?[,.;)])"
    r"|(?<![\w年])[Xx×]{2,6}(?=年|月|日|元|公司|%|号)|待定|另行填写"
    r"|[ 　]{2,20}年[ 　]{2,20}月[ 　]{2,20}日",
)
_CHOICE = re.compile(r"\[ {0,20}+\][ \t]{1,20}+\S")
_SIGNING = re.compile(
    r"(?:\bby|\b(?:name|title|its|date|signature|signed|witness|attest|printed|authori[sz]ed|dated"
    r"|notary|telephone|fax|attention)\b|签字|盖章|签章|签名|签署|日期|代表人|代表|经办人|电话|地址"
    r"|账号|开户行|身份证号?|传真|邮编|联系人|信用代码)[^\w\n]{0,16}+_{0,80}+$",
    re.IGNORECASE,
)
_GRAVE = re.compile(
    r"[$¥￥€£%]|\b(?:fee|price|amount|pay|rent|term|days|date)\w{0,3}\b|元|价|金额|费用|期限|日内|比例|违约金"
)


@dataclass(frozen=True, slots=True)
class _Blanks:
    """The blanks of one clause."""

    clause: Clause
    found: list[re.Match[str]]

    @property
    def words(self) -> str:
        """What stands for the missing words, where it is words."""
        first = self.found[0][0].lower()
        return first if any(character.isalpha() for character in first) else ""


def blanks(material: Material) -> Iterator[Check]:
    """One check for each clause with blanks; those for signing do not count.

    The same words in many clauses ("to be determined") are one check that names them all, and so
    are the clauses beyond the first `CLAUSES_MOST`.
    """
    groups: dict[str, list[_Blanks]] = {}
    for clause in material.clauses:
        found = [] if clause.kind == "signature" else list(_found(material.document.text, clause))
        if found:
            here = _Blanks(clause, found)
            key = here.words if here.words or len(groups) < CLAUSES_MOST else next(reversed(groups))
            groups.setdefault(key or f"clause {clause.start}", []).append(here)
    for group in groups.values():
        yield _stated(material, group)


def _found(text: str, clause: Clause) -> Iterator[re.Match[str]]:
    for place in _BLANK.finditer(text, clause.start, clause.end):
        if not _is_for_signing(text, place.start()) and not _is_checkbox(text, place):
            yield place


def _is_checkbox(text: str, place: re.Match[str]) -> bool:
    """Whether an empty bracket opens a line as the box of a choice that was not made."""
    before = text[text.rfind("\n", 0, place.start()) + 1 : place.start()]
    return not before.strip() and _CHOICE.match(text, place.start()) is not None


def _is_for_signing(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    after = text[at : at + 80].lstrip("_＿ ")
    return (
        bool(_SIGNING.search(line[-60:]))
        or re.match(
            r"\n?[ \t]{0,40}(?:\(?(?:name|title|date|signature|by)\b)", after, re.IGNORECASE
        )
        is not None
        or not (line.strip() or after[:1].strip("\n"))
    )


def _stated(material: Material, group: list[_Blanks]) -> Check:
    text, clause, first = material.document.text, group[0].clause, group[0].found[0]
    line, line_end = text.rfind("\n", 0, first.start()) + 1, text.find("\n", first.end())
    start = max(clause.start, line, first.start() - BESIDE)
    stop = min(clause.end, first.end() + BESIDE, line_end if line_end > 0 else len(text))
    span = whole_words(text, (start, stop), first.span())
    grave = _GRAVE.search(text[slice(*span)]) is not None
    severity: Severity = "MEDIUM" if grave else "LOW"
    number = sum(len(one.found) for one in group)
    others = list(dict.fromkeys(material.label(one.clause) for one in group[1:]))
    shown = ", ".join(others[:OTHERS_MOST]) + (" …" if len(others) > OTHERS_MOST else "")
    message = Wording(
        f"{counted(number, 'blank')} {'was' if number == 1 else 'were'} left to be filled in"
        f"{f' (also in {shown})' if others else ''}.",
        f"有{number}处空白待填写{f'（另见：{shown}）' if others else ''}。",
    )
    return material.stated("blank", span, message, severity)
