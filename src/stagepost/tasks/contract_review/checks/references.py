"""References to clauses that the contract does not have, and to annexes that are not attached."""

import re
from collections.abc import Iterator

from stagepost.tasks.contract_review.checks.material import Material
from stagepost.tasks.contract_review.numerals import chinese_number
from stagepost.tasks.contract_review.report import Check
from stagepost.tasks.contract_review.wording import Wording

LEAST_NUMBERED = 3  # numbered clauses that a text needs before its references are checked
EACH_MOST = 10
LOST_MOST = 3  # failed references that are listed even in a short contract
LOST_SHARE = 0.25  # of all references; beyond both, the numbering itself is doubted

_HAN = "一二三四五六七八九十百零〇"
_ENGLISH = re.compile(
    r"\b(?P<word>section|clause|article|paragraph)s? (?P<number>\d{1,2}(?:\.\d{1,2}){0,3}"
    r"|[ivx]{1,5}\b)(?![\d\w§-]|\.\d)"
)
_CHINESE = re.compile(rf"第(?P<number>[{_HAN}]{{1,5}}|\d{{1,3}}(?:\.\d{{1,2}}){{0,3}})条")
_ELSEWHERE = re.compile(
    r"^(?>(?: ?\([a-z0-9]{1,4}\)){0,3})"
    r"(?>(?:,? ?(?>and|or|,) ?(?:sections? )?[\d.]{1,8}+(?>(?:\([a-z0-9]{1,4}\)){0,3})){0,3}),? "
    r"(?:thereof|of|to|in|under) "
    r"(?:the|that|such|its|any|schedule|exhibit|annex|appendix|each|rule|regulation)\b"
    r"(?! ?(?:this|present)? ?(?:agreement|contract|terms|lease|deed)\b)"
)
_OTHER_WORK_BEFORE = re.compile(
    r"(?:\bact|\bcode|\bregulations?|\brules?|\blaw|\bstatute|u\.?s\.?c\.?|\bc\.?f\.?r\.?|》|法"
    r"|条例|规定|办法|解释|章程|主合同|原合同|框架协议|规则|附件[一二三四五六\d]{0,3}"
    r"|\bthis)[ ,的之]{0,2}(?:under |of |see |pursuant to )?$"
)
_LINE_NUMBER = re.compile(
    rf"^[ \t　#*]{{0,120}}(?:(?:section|article|clause|paragraph) ?)?"
    rf"(?P<number>\d{{1,2}}(?:\.\d{{1,2}}){{0,3}}|[ivx]{{1,5}}(?=[.: \n])|第[{_HAN}\d]{{1,5}}条)",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE_NUMBER = re.compile(r"(?<![\d.$])(\d{1,2}(?:\.\d{1,2}){1,3})(?![\d%])")
_ROMAN = {"i": 1, "v": 5, "x": 10}

_ANNEX = re.compile(
    r"\b(?P<kind>exhibit|schedule|annex|appendix|attachment) (?P<mark>[a-z]|\d{1,2}"
    r"|[ivx]{1,4})\b(?![-'.]\w|\()"
    rf"|(?P<chinese>附件|附表|附录)(?P<han>[{_HAN}]{{1,3}}|\d{{1,2}})"
)
_ANNEX_ELSEWHERE = re.compile(
    r"^[^.。]{0,4}? (?:of|to|in) (?:the|that|such) (?!agreement|contract)\w"
)


def dangling(material: Material) -> Iterator[Check]:
    """A check for the first mention of each clause number that does not exist (MEDIUM)."""
    numbers = _numbers(material)
    if len(numbers) < LEAST_NUMBERED:
        return
    lower = material.shown.lower
    cited: dict[str, re.Match[str]] = {}
    for found in [*_ENGLISH.finditer(lower), *_CHINESE.finditer(lower)]:
        if not _is_elsewhere(lower, found):
            cited.setdefault(_normal(found["number"]), found)
    lost = {number: found for number, found in cited.items() if not _exists(number, numbers, lower)}
    if len(lost) > max(LOST_MOST, len(cited) * LOST_SHARE):
        yield _numbering_lost(material, next(iter(lost.values())), len(lost), len(cited))
        return
    for found in lost.values():
        words = material.shown.cased[slice(*found.span())]
        message = Wording(
            f"The contract refers to {words}, which it does not have.",
            f"引用的{words}在合同中不存在。",
        )
        yield material.check("dangling-reference", found.span(), message, "MEDIUM")


def _numbering_lost(material: Material, found: re.Match[str], lost: int, cited: int) -> Check:
    """So many references fail that the file, not the contract, has lost its numbers."""
    message = Wording(
        f"{lost} of {cited} references lead nowhere; the file may have lost its numbering.",
        f"{cited}处条款引用中有{lost}处无法对应，文件可能丢失了编号。",
    )
    return material.check("dangling-reference", found.span(), message, "LOW")


def _numbers(material: Material) -> set[str]:
    numbers = {_normal(found["number"]) for found in _LINE_NUMBER.finditer(material.document.text)}
    starts = {start for start, _ in material.sentences}
    for found in [
        *_ENGLISH.finditer(material.shown.lower),
        *_CHINESE.finditer(material.shown.lower),
    ]:
        words = material.shown.cased[slice(*found.span())]
        if found.start() in starts or words.isupper():  # a heading, not a reference
            numbers.add(_normal(found["number"]))
    for clause in material.clauses:
        numbers.update(_normal(part) for part in (clause.number, *clause.path) if part)
    return numbers


def _normal(number: str) -> str:
    """`第十二条`, `XII.`, `12.` and `12` all as `12`; `12.4` as it is."""
    bare = re.sub(r"^(?:section|article|clause|paragraph) ?", "", number.strip().lower())
    bare = bare.strip(" .:()（）、").removeprefix("第").removesuffix("条")
    han = chinese_number(bare) if bare and all(c in _HAN for c in bare) else None
    if han is not None:
        return str(han)
    return str(_roman(bare)) if bare and all(c in _ROMAN for c in bare) else bare


def _roman(letters: str) -> int:
    values = [_ROMAN[letter] for letter in letters]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < after else value for value, after in pairs)


def _exists(number: str, numbers: set[str], lower: str) -> bool:
    """Leans to yes: a number that stands anywhere without "Section" before it is a clause's own."""
    if number in numbers or not re.fullmatch(r"[\d.]{1,12}", number):
        return True
    if any(one.startswith(f"{number}.") for one in numbers):
        return True
    return any(
        found[1] == number
        and not re.search(
            r"(?:section|clause|article|paragraph|sections|and|or|to|,|through|第) ?$",
            lower[max(0, found.start() - 11) : found.start()],
        )
        for found in _INLINE_NUMBER.finditer(lower)
    )


def _is_elsewhere(lower: str, found: re.Match[str]) -> bool:
    return bool(
        _ELSEWHERE.match(lower[found.end() : found.end() + 60])
        or _OTHER_WORK_BEFORE.search(lower[max(0, found.start() - 34) : found.start()])
    )


def annexes(material: Material) -> Iterator[Check]:
    """A check for the first mention of each annex that is nowhere attached (MEDIUM)."""
    lower = material.shown.lower
    attached = _attached(material)
    reported: set[str] = set()
    for found in _ANNEX.finditer(lower):
        name = _annex_name(found)
        elsewhere = _ANNEX_ELSEWHERE.match(lower[found.end() : found.end() + 40])
        if name in reported or name in attached or elsewhere:
            continue
        reported.add(name)
        words = material.shown.cased[slice(*found.span())]
        message = Wording(
            f"{words} is referred to, but it is not attached.",
            f"提及的{words}未随合同附上。",
        )
        yield material.check("missing-annex", found.span(), message, "MEDIUM")
        if len(reported) == EACH_MOST:
            return


def _annex_name(found: re.Match[str]) -> str:
    if found["chinese"]:
        return f"{found['chinese']}{_normal(found['han'])}"
    return f"{found['kind']} {found['mark']}"


def _attached(material: Material) -> set[str]:
    """The annexes that have a heading of their own: a short line that begins with their name."""
    attached = set()
    for line in material.document.text.splitlines():
        words = " ".join(line.lower().split()).lstrip("#*\"'“[<").strip()
        found = _ANNEX.match(words)
        if (found and line.strip()[: found.end()].isupper() and found["kind"]) or (
            found
            and len(words) < 90
            and not re.search(r"[.。；;，,]$|\b(?:shall|is|are|as)\b", words)
        ):
            attached.add(_annex_name(found))
    return attached
