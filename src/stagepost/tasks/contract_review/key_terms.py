"""The facts that a reader looks for first, each with the words that state it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stagepost.tasks.contract_review.clause_label import shortened
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.contract_review.numerals import SMALL
from stagepost.tasks.contract_review.report import KeyTerm
from stagepost.tasks.contract_review.rule import language_of
from stagepost.tasks.contract_review.terms import is_contents
from stagepost.tasks.contract_review.view import View, sentences, view
from stagepost.tasks.documents.document import Document

QUOTE_MOST = 360
_VALUE_MOST = 90
_EDGES = " ,.;:，。；"
_BEFORE = 8  # characters before a term's words in which its figure may stand

_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_DAY = rf"(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|\d{{1,2}}(?:st|nd|rd|th)?(?: day)?(?: of)? {_MONTH},? \d{{4}})"
_NUMBER = "|".join(sorted([*SMALL, "hundred"], key=len, reverse=True))
_LONG = (
    rf"(?:(?<!\d)\d{{1,3}}|(?:{_NUMBER})(?:[ -](?:{_NUMBER})){{0,3}})(?: ?\(\d{{1,4}}\))?[ -]"
    r"(?:calendar |business |working |full |consecutive ){0,2}(?:day|week|month|year)s?\b"
)
_MONEY = r"(?:us|hk|rmb|usd|cny|eur|gbp)? ?[$€£¥￥] ?\d[\d,]{0,18}(?:\.\d{1,2})?(?: (?:million|billion))?|(?:usd|rmb|eur|cny) ?\d[\d,]{0,18}(?:\.\d{1,2})?"
_DAY_ZH = r"\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?日"
_LONG_ZH = r"[一二三四五六七八九十两半\d]{1,4}(?:\(\d{1,3}\))?(?:个)?(?:工作)?(?:日|天|月|年)"
_ANY_DAY = re.compile(rf"{_DAY}|{_DAY_ZH}")
OPENING = 2_500  # characters in which a contract states its date
_MONEY_ZH = r"(?:人民币|¥|￥|rmb)? ?\d[\d,]{0,18}(?:\.\d{1,2})?(?:万|亿)?元"


@dataclass(frozen=True, slots=True)
class _Term:
    """`shown_by` finds the sentence; `value`, searched from there, is what is reported."""

    name: str
    en: tuple[str, str]
    zh: tuple[str, str]


_TERMS = (
    _Term(
        "agreementDate",
        (rf"(?:dated|made|entered into|effective)[^.;]{{0,60}}?{_DAY}", _DAY),
        (rf"(?:签订|签署|订立)(?:日期|时间|于)?[^。；]{{0,12}}?{_DAY_ZH}", _DAY_ZH),
    ),
    _Term(
        "effectiveDate",
        (rf"(?:effective date|commenc\w{{1,6}}|effective)[^.;]{{0,60}}?{_DAY}", _DAY),
        (rf"(?:自|于|从){_DAY_ZH}[^。；]{{0,6}}(?:起|生效)", _DAY_ZH),
    ),
    _Term(
        "term",
        (
            rf"(?:initial )?term\b[^.;]{{0,90}}?(?:be|is|of|for|continue)[^.;]{{0,50}}?(?:{_LONG}|until {_DAY})",
            rf"{_LONG}|until {_DAY}",
        ),
        (
            rf"(?:期限|有效期|租期|合作期|服务期)[^。；]{{0,20}}?(?:{_LONG_ZH}|{_DAY_ZH}[^。；]{{0,8}}(?:至|到)[^。；]{{0,6}}{_DAY_ZH})",
            rf"{_DAY_ZH}[^。；]{{0,8}}(?:至|到)[^。；]{{0,6}}{_DAY_ZH}|{_LONG_ZH}",
        ),
    ),
    _Term(
        "renewal",
        (r"(?:automatically renew|renew\w{0,3} automatically|renewal term|successive)", r".{0,90}"),
        (r"自动(?:续期|续约|延长|顺延|续展)|续签|续租", r".{0,40}"),
    ),
    _Term(
        "noticePeriod",
        (rf"{_LONG}'?(?: prior)?(?: written)? notice", _LONG),
        (rf"提前{_LONG_ZH}[^。；]{{0,10}}通知", _LONG_ZH),
    ),
    _Term(
        "price",
        (
            rf"(?:total |contract |purchase |service |annual |monthly )(?:price|fees?|sum|amount|rent|compensation)[^.;]{{0,80}}?(?:{_MONEY})",
            _MONEY,
        ),
        (
            rf"(?:合同|协议|服务|采购)?(?:总价|总金额|总价款|价款|总额|费用总额|租金|服务费|借款金额|月工资|工资)[^。；]{{0,24}}?{_MONEY_ZH}",
            _MONEY_ZH,
        ),
    ),
    _Term(
        "paymentTerms",
        (rf"(?:pay\w{{0,4}}|invoice)[^.;]{{0,80}}?within {_LONG}", rf"within {_LONG}"),
        (rf"{_LONG_ZH}内[^。；]{{0,20}}(?:支付|付款|付清)", rf"{_LONG_ZH}内"),
    ),
    _Term(
        "liabilityCap",
        (r"liabilit(?:y|ies)[^.;]{0,160}?(?:not exceed|exceed|limited to)", r"(?:not exceed|exceed|limited to) .{0,80}"),
        (r"(?:赔偿|责任)[^。；]{0,30}?(?:不超过|不得超过|为限|上限)", r"(?:不超过|不得超过|上限).{0,30}"),
    ),
    _Term(
        "deposit",
        (rf"(?:security )?deposit[^.;]{{0,60}}?(?:{_MONEY})", _MONEY),
        (rf"(?:定金|押金|保证金)[^。；]{{0,24}}?(?:{_MONEY_ZH}|\d{{1,3}}%|百分之[一二三四五六七八九十]{{1,3}})", rf"{_MONEY_ZH}|\d{{1,3}}%|百分之[一二三四五六七八九十]{{1,3}}"),
    ),
    _Term(
        "liquidatedDamages",
        (r"liquidated damages|late (?:fee|charge)|penalty of", rf"\d{{1,3}}(?:\.\d{{1,2}})? ?(?:%|percent)|{_MONEY}"),
        (
            r"违约金[^。；]{0,40}?(?:%|‰|百分之|千分之|万分之|元|倍)|(?:%|百分之|千分之|万分之)[^。；]{0,16}违约金",
            r"\d{1,3}(?:\.\d{1,3})?[%‰]|[百千万]分之[一二三四五六七八九十\d.]{1,5}|\d[\d,]{0,12}元",
        ),
    ),
    _Term(
        "confidentialityTerm",
        (rf"confidential[^.;]{{0,160}}?{_LONG}", _LONG),
        (rf"保密[^。；]{{0,50}}?(?:{_LONG_ZH}|永久|长期)", rf"{_LONG_ZH}|永久|长期"),
    ),
    _Term(
        "governingLaw",
        (r"(?:governed|construed|interpreted)[^.;]{0,80}?laws? of", r"(?<=laws of )(?:the )?[\w',. ]{2,60}?(?=,| without| and|\.|;|$)|(?<=law of )(?:the )?[\w' ]{2,60}"),
        (r"适用[^。；]{0,20}法律?", r"(?<=适用)[^，。；]{2,24}"),
    ),
    _Term(
        "disputeForum",
        (
            r"(?:exclusive|submits?|personal|non-exclusive)[^.;]{0,30}? jurisdiction|courts? located in|arbitrat[^.;]{0,120}?(?:association|chamber|rules)|\bvenue\b",
            r"(?:courts? (?:located )?(?:in|of)|jurisdiction|arbitrat\w{1,4}|venue).{0,90}",
        ),
        (r"(?:人民法院|仲裁委员会|仲裁院|仲裁中心)", r"[^，。；]{0,24}(?:人民法院|仲裁委员会|仲裁院|仲裁中心)"),
    ),
)  # fmt: skip


def key_terms(document: Document, knowledge: Knowledge) -> tuple[KeyTerm, ...]:
    """The contract's parties and main figures, each once, where it is first stated.

    `name` is a fixed English key (`term`, `governingLaw`, ...), `value` the words of the contract.
    """
    shown = view(document.text)
    read = [span for span in sentences(shown) if not is_contents(shown.cased[slice(*span)])]
    found = [*_parties(document, knowledge, shown)]
    for term in _TERMS:
        stated = _first(document, shown, read, term)
        if stated is None and term.name == "agreementDate":
            stated = _dated(document, shown)
        if stated:
            found.append(stated)
    return tuple(found)


def _dated(document: Document, shown: View) -> KeyTerm | None:
    """The first date in the opening, when no sentence says what it is the date of."""
    found = _ANY_DAY.search(shown.lower, 0, OPENING)
    return _stated(document, shown, "agreementDate", found.span(), None) if found else None


def _parties(document: Document, knowledge: Knowledge, shown: View) -> Iterator[KeyTerm]:
    for party in knowledge.parties:
        at = shown.cased.find(party.name) if party.name else -1
        if party.side != "neutral" and at >= 0:
            yield _stated(document, shown, party.side, (at, at + len(party.name)), None)


def _first(
    document: Document, shown: View, read: list[tuple[int, int]], term: _Term
) -> KeyTerm | None:
    for start, end in read:
        pattern, value = term.zh if language_of(shown.lower[start:end]) == "zh" else term.en
        found = re.compile(pattern).search(shown.lower, start, end)
        if found:
            stop = min(end, found.end() + _VALUE_MOST)
            begin = found.start() if value[0] == "." else max(start, found.start() - _BEFORE)
            named = re.compile(value).search(shown.lower, begin, stop)
            if named is None:  # the words without the figure that a reader looks for
                continue
            place = start, end
            if end - start > QUOTE_MOST:
                place = found.start(), max(found.end(), named.end())
            until = end if ".{0," in value else None
            return _stated(document, shown, term.name, place, named.span(), until=until)
    return None


def _stated(
    document: Document,
    shown: View,
    name: str,
    place: tuple[int, int],
    value: tuple[int, int] | None,
    *,
    until: int | None = None,
) -> KeyTerm:
    start, end = shown.span(*place)
    begin, stop = value or place
    words = shown.cased[begin:stop].strip(_EDGES if value else " ,")
    if until is not None:  # the pattern took so many characters, wherever in a word it ended
        words = shortened(shown.cased[begin:until].rstrip(_EDGES), stop - begin)
    return KeyTerm(
        name=name,
        value=words if len(words) <= _VALUE_MOST * 2 else shortened(words, _VALUE_MOST * 2),
        quote=document.text[start:end],
        start=start,
        end=end,
        page=document.page_at(start),
    )
