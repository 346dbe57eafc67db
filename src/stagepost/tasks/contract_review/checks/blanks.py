"""Blanks that were left to be filled in."""

import re
from collections.abc import Iterator

from stagepost.tasks.contract_review.checks.material import Material
from stagepost.tasks.contract_review.report import Check, Severity
from stagepost.tasks.contract_review.wording import Wording

BLANKS_MOST = 15  # clauses with blanks that are listed

_BLANK = re.compile(
    r"_{3,200}|＿{2,200}|\[ {0,20}+(?:●|•|·|\.{2,6}|_{1,50})? {0,20}+\]"
    r"|【 {0,20}+(?:●|_{1,50})? {0,20}+】|\b(?:TBD|TBC|T\.B\.D\.)\b"
    r"|\[(?:insert|enter|date|name|amount|address|company|number|party|state|city|to be)"
    r"[^\[\]]{0,60}+\]|\bto be (?:determined|agreed|confirmed|inserted)\b(?= ?[,.;)])"
    r"|(?<![\w年])[Xx×]{2,6}(?=年|月|日|元|公司|%|号)|待定|另行填写"
    r"|[ 　]{2,20}年[ 　]{2,20}月[ 　]{2,20}日",
)
_SIGNING = re.compile(
    r"(?:\bby|\b(?:name|title|its|date|signature|signed|witness|attest|printed|authori[sz]ed|dated"
    r"|notary|telephone|fax|attention)\b|签字|盖章|签章|签名|签署|日期|代表人|代表|经办人|电话|地址"
    r"|账号|开户行|身份证号?|传真|邮编|联系人|信用代码)[^\w\n]{0,16}+_{0,80}+$",
    re.IGNORECASE,
)
_GRAVE = re.compile(
    r"[$¥￥€£%]|\b(?:fee|price|amount|pay|rent|term|days|date)\w{0,3}\b|元|价|金额|费用|期限|日内|比例|违约金"
)


def blanks(material: Material) -> Iterator[Check]:
    """One check for each clause with blanks; those for signing do not count."""
    text = material.document.text
    listed = 0
    for clause in material.clauses:
        if clause.kind == "signature":
            continue
        found = [
            place
            for place in _BLANK.finditer(text, clause.start, clause.end)
            if not _is_for_signing(text, place.start())
        ]
        if not found:
            continue
        yield _stated(material, found, (clause.start, clause.end))
        listed += 1
        if listed == BLANKS_MOST:
            return


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


def _stated(material: Material, found: list[re.Match[str]], clause: tuple[int, int]) -> Check:
    text = material.document.text
    first = found[0]
    start = max(clause[0], text.rfind("\n", 0, first.start()) + 1, first.start() - 80)
    line_end = text.find("\n", first.end())
    end = min(clause[1], first.end() + 80, line_end if line_end > 0 else len(text))
    grave = _GRAVE.search(text[start:end]) is not None
    severity: Severity = "MEDIUM" if grave else "LOW"
    message = Wording(
        f"{len(found)} blank(s) in this clause were left to be filled in.",
        f"本条有{len(found)}处空白待填写。",
    )
    return material.stated("blank", (start, max(end, first.end())), message, severity)
