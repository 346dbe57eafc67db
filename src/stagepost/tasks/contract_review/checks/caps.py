"""Caps that the law of the PRC sets: earnest deposit, lease, probation, non-compete."""

import re
from collections.abc import Iterator
from decimal import Decimal

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.checks.material import Material
from stagepost.tasks.contract_review.law import Article
from stagepost.tasks.contract_review.numerals import FIGURE, figure
from stagepost.tasks.contract_review.quantities import durations, percentages
from stagepost.tasks.contract_review.report import Check
from stagepost.tasks.contract_review.wording import Wording

_MONEY = rf"(?:¥|￥|rmb|人民币)? ?({FIGURE}) ?([万亿])?元"
_TOTAL = re.compile(
    rf"(?:合同|协议)?(?:总价|总金额|总价款|价款|总额|标的额|金额)[^。；]{{0,24}}?{_MONEY}"
)
_DEPOSIT = re.compile(rf"定金[^。；]{{0,24}}?{_MONEY}")
_LEASE = re.compile(r"租赁期|租期|承租期")
_LEASE_DATES = re.compile(
    r"(\d{4})年\d{1,2}月\d{1,2}日[^。；]{0,12}?(?:至|到)[^。；]{0,6}?(\d{4})年"
)
_PROBATION = re.compile(r"试用期")
_CONTRACT_TERM = re.compile(r"(?:合同期限?|合同为期|固定期限|期限为)")
_SCALE = {"万": 10_000, "亿": 100_000_000}


def caps(material: Material) -> Iterator[Check]:
    """Every stated figure beyond a statutory cap; nothing under another law."""
    if not material.knowledge.prc:
        return
    yield from _deposit(material)
    if material.knowledge.contract_type == "lease":
        yield from _lease(material)
    if material.knowledge.contract_type == "employment":
        yield from _probation(material)
        yield from _non_compete(material)


def _breach(material: Material, span: tuple[int, int], message: Wording, article: Article) -> Check:
    language = material.knowledge.language
    cited = article.cited(language)
    stated = Wording(f"{message.en} {cited}.", f"{message.zh}依据{cited}。")
    return material.check("legal-cap", span, stated, "HIGH")


def _deposit(material: Material) -> Iterator[Check]:
    message = Wording(
        "The earnest deposit is above 20 % of the contract value; the excess has no effect as one.",
        "定金超过主合同标的额的20%，超过部分不产生定金效力。",
    )
    total = _amount(_TOTAL.search(material.shown.lower))
    for span, words in material.read():
        at = words.find("定金")
        if at < 0 or "不超过" in words or "不得超过" in words:
            continue
        shares = [one for one in percentages(words) if -16 <= one.start - at <= 40]
        stated = _amount(_DEPOSIT.search(words))
        over = any(one.value > 20 for one in shares)
        if over or (not shares and total and stated and stated * 5 > total):
            yield _breach(material, (span[0] + at, span[1]), message, law.DEPOSIT_CAP)


def _amount(found: re.Match[str] | None) -> Decimal | None:
    number = figure(found[1]) if found else None
    return number * _SCALE.get(found[2] or "", 1) if found and number is not None else None


def _lease(material: Material) -> Iterator[Check]:
    message = Wording(
        "The lease runs for more than twenty years; the excess is void.",
        "租赁期限超过二十年，超过部分无效。",
    )
    for span, words in material.read():
        found = _LEASE.search(words)
        if not found or "不得超过" in words:
            continue
        near = words[found.start() : found.end() + 60]
        years = _LEASE_DATES.search(near)
        long = any(one.value > 20 * 365 for one in durations(near))
        if long or (years and int(years[2]) - int(years[1]) > 20):
            yield _breach(material, (span[0] + found.start(), span[1]), message, law.LEASE_TERM)


def _probation(material: Material) -> Iterator[Check]:
    term = _contract_days(material)
    for span, words in material.read():
        found = _PROBATION.search(words)
        if not found or "工资" in words[found.end() : found.end() + 6]:
            continue
        near = durations(words[found.end() : found.end() + 24])
        most = _probation_most(term)
        if near and near[0].value > most:
            months = round(most / 30)
            message = Wording(
                f"Probation is longer than the {months} month(s) allowed for this contract.",
                f"试用期超过该合同期限对应的法定上限（{months}个月）。",
            )
            yield _breach(material, (span[0] + found.start(), span[1]), message, law.PROBATION)
            return


def _contract_days(material: Material) -> float | None:
    """The length of the employment, in days; None when it has no term or none is stated."""
    for _, words in material.read():
        found = _CONTRACT_TERM.search(words)
        if not found or "无固定期限" in words:
            continue
        stated = durations(words[found.start() : found.end() + 60])
        if stated and stated[0].value >= 28:
            return stated[0].value
        years = _LEASE_DATES.search(words)
        if years:
            return (int(years[2]) - int(years[1])) * 365.0
    return None


def _probation_most(term: float | None) -> float:
    """The longest probation in days for a contract of so many days (six months without a term)."""
    if term is None or term >= 3 * 365:
        return 185
    if term >= 365:
        return 62
    return 31 if term >= 90 else 0


def _non_compete(material: Material) -> Iterator[Check]:
    message = Wording(
        "The non-compete lasts longer than two years after the end of employment.",
        "竞业限制期限超过二年。",
    )
    for span, words in material.read():
        at = max(words.find("竞业限制"), words.find("竞业禁止"))
        if at >= 0 and any(one.value > 731 for one in durations(words)):
            yield _breach(material, (span[0] + at, span[1]), message, law.NON_COMPETE)
            return
