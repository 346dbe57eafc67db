"""The rules applied to one clause."""

from collections.abc import Iterator

from stagepost.tasks.contract_review.cast import Cast, cast
from stagepost.tasks.contract_review.clause_item import TEXT_MOST, ClauseItem, unreadable
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.contract_review.playbook import rules_named
from stagepost.tasks.contract_review.report import Finding, Party, Severity, Side
from stagepost.tasks.contract_review.rule import Hit, Rule, concerns, match
from stagepost.tasks.contract_review.terms import has_terms
from stagepost.tasks.contract_review.view import View, sentences, view

QUOTE_MOST = 420  # characters of a quote, unless the wording itself is longer
_LOWERED: dict[Severity, Severity] = {"HIGH": "MEDIUM", "MEDIUM": "LOW", "LOW": "LOW"}
_OTHER_SIDE: dict[Side, Side] = {"partyA": "partyB", "partyB": "partyA", "neutral": "neutral"}


def analyse_clause(item: ClauseItem, knowledge: Knowledge) -> list[Finding]:
    """The findings of one clause, at most one for each rule, in the order of the text.

    Pure and deterministic; needs nothing but its arguments. Findings are still single: what the
    whole contract says about them (the same right for the other side) is settled in `assemble`.
    """
    reason = unreadable(item)
    if reason is not None and len(item.text) <= TEXT_MOST:
        return []
    shown = view(item.text[:TEXT_MOST])
    who = cast(knowledge.parties)
    read = [span for span in sentences(shown) if has_terms(shown, span, item.title)]
    surroundings = f"{item.title} {item.lead} {shown.cased}".lower()
    findings: list[Finding] = []
    for rule in rules_named(knowledge.rules):
        if concerns(rule, surroundings):
            hit = _hit(rule, shown, read, who)
            if hit:
                findings.append(_stated(rule, *hit, item, knowledge))
    return sorted(_uncovered(findings), key=lambda finding: (finding.start, finding.rule_id))


def _uncovered(findings: list[Finding]) -> Iterator[Finding]:
    """Leave out what a more special rule says better of the same sentence."""
    covered = {
        (other, finding.start, finding.end)
        for finding in findings
        for other in rules_named((finding.rule_id,))[0].covers
    }
    for finding in findings:
        if (finding.rule_id, finding.start, finding.end) not in covered:
            yield finding


def _hit(
    rule: Rule, shown: View, read: list[tuple[int, int]], who: Cast
) -> tuple[Hit, Severity] | None:
    """The first wording of a clause that a rule judges to be a risk, and how grave it is."""
    for sentence in read:
        hit = match(rule, shown, sentence, who)
        severity = (rule.judge(hit) if rule.judge else rule.severity) if hit else None
        if hit and severity:
            return hit, severity
    return None


def _stated(
    rule: Rule, hit: Hit, severity: Severity, item: ClauseItem, knowledge: Knowledge
) -> Finding:
    start, end = _quoted(hit)
    bearer = for_whom(rule, hit, knowledge.parties)
    favours = bearer != "neutral" and bearer == _OTHER_SIDE[knowledge.side]
    cited = rule.law is not None and knowledge.prc
    return Finding(
        id=f"{rule.id}-{item.start + start}",
        rule_id=rule.id,
        clause=item.label,
        clause_path=item.path,
        page=item.page,
        start=item.start + start,
        end=item.start + end,
        quote=item.text[start:end],
        category=rule.category,
        severity=_LOWERED[severity] if favours else severity,
        risk=rule.risk(knowledge.language),
        for_whom=bearer,
        law_reference=rule.law.cited(knowledge.language) if rule.law and cited else None,
        suggestion=rule.suggestion(knowledge.language),
        negotiability=rule.negotiability,
        confidence=rule.confidence,
        origin="rule",
    )


def _quoted(hit: Hit) -> tuple[int, int]:
    """The sentence around the wording, or the part of a long sentence that holds it."""
    start, end = hit.sentence
    begin, stop = hit.found
    if end - start > QUOTE_MOST:
        room = max(0, QUOTE_MOST - (stop - begin)) // 2
        start = _at_word(hit.view.cased, max(start, begin - room), start)
        end = _at_word(hit.view.cased, min(end, stop + room), end)
    return hit.view.span(start, max(end, stop))


def _at_word(cased: str, at: int, edge: int) -> int:
    """The nearest place at or after `at` where a word begins or ends, at most 30 on."""
    if at == edge:
        return at
    for place in range(at, min(at + 30, len(cased))):
        if not (cased[place].isascii() and cased[place].isalnum()):
            return place + 1 if cased[place] == " " and at < place else place
    return at


def for_whom(rule: Rule, hit: Hit, parties: tuple[Party, ...]) -> Side:
    """The side that bears a rule's risk in one sentence; `neutral` for both or when unknown."""
    if rule.harms in {"payer", "supplier"}:
        return next((party.side for party in parties if party.role == rule.harms), "neutral")
    actor = hit.actor
    if rule.harms == "giver" and hit.receiver is not None:
        return _OTHER_SIDE[hit.receiver.side]
    if rule.harms in {"both", "giver"} or actor is None or actor.mutual:
        return "neutral"
    return actor.side if rule.harms == "subject" else _OTHER_SIDE[actor.side]
