"""What the report says about the reading itself: who read, what was left, what was thrown away."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import add

from stagepost.tasks.contract_review.by_model.rounds import Read
from stagepost.tasks.contract_review.by_model.screen import Refused
from stagepost.tasks.contract_review.by_model.trouble import OF_THE_CLAUSE, reason
from stagepost.tasks.contract_review.by_model.windows import Window
from stagepost.tasks.contract_review.report import ENGINE, NotAnalysed
from stagepost.tasks.contract_review.summary import Told
from stagepost.tasks.contract_review.wording import Wording, counted
from stagepost.tasks.documents.document import Language

NAMED_MOST = 12  # clauses that one warning names


def told(read: Sequence[Read], language: Language) -> Told:
    """Who read the clauses and how far. Where no model answered, the rules are the engine."""
    names = list(dict.fromkeys(one.reading.model for one in read if one.reading.failure is None))
    failures = [one.reading.failure for one in read if one.reading.failure is not None]
    refused = reduce(add, (one.reading.refused for one in read), Refused())
    if not names and failures:
        refusals = [one for one in read if one.reading.failure in OF_THE_CLAUSE]
        return Told(
            engine=ENGINE,
            by_model=False,
            warnings=(_fallen(failures)(language),),
            not_analysed=_failed(refusals, language),
        )
    warnings = [*_unread(failures), *_left_out(refused), *_addressed(read)]
    return Told(
        engine=engine(names),
        by_model=bool(names),
        warnings=tuple(warning(language) for warning in warnings),
        not_analysed=_failed(read, language),
    )


def engine(names: Sequence[str]) -> str:
    """Who made the report; the rules alone where no clause needed a model."""
    if not names:
        return ENGINE
    return f"language model {', '.join(names)}; rules as a second opinion"


def _fallen(failures: Sequence[str]) -> Wording:
    why = reason(failures[0])
    return Wording(
        f"No clause was analysed by a language model ({why.en}): this is the review by the rules"
        " alone.",
        f"没有条款经模型分析（{why.zh}）：本报告仅由规则生成。",
    )


def _unread(failures: Sequence[str]) -> Iterator[Wording]:
    if failures:
        number = counted(len(failures), "clause was", "clauses were")
        yield Wording(
            f"{number} not analysed by the model; only the rules' findings stand for them.",
            f"有{len(failures)}个条款未经模型分析，仅列出规则发现的风险。",
        )


def _left_out(refused: Refused) -> Iterator[Wording]:
    if refused.unproved:
        yield Wording(
            f"{counted(refused.unproved, 'finding')} of the model left out: the quote is not in the"
            " clause.",
            f"有{refused.unproved}项模型发现因引文不在条款中被剔除。",
        )
    if refused.unknown:
        yield Wording(
            f"{counted(refused.unknown, 'finding')} of the model left out: it lacked a known"
            " category, a severity or words.",
            f"有{refused.unknown}项模型发现因类别、等级或内容不合要求被剔除。",
        )
    if refused.surplus:
        yield Wording(
            f"{counted(refused.surplus, 'finding')} of the model left out: too many in one clause.",
            f"有{refused.surplus}项模型发现因单个条款数量过多被剔除。",
        )
    if refused.uncited:
        yield Wording(
            f"{counted(refused.uncited, 'finding')} of the model cited law that could not be"
            " verified; the citation is left out.",
            f"有{refused.uncited}项模型发现引用了无法核实的法律，该引用已删去。",
        )


def _addressed(read: Iterable[Read]) -> Iterator[Wording]:
    labels = list(dict.fromkeys(one.window.label for one in read if one.reading.addressed))
    if labels:
        named = ", ".join(labels[:NAMED_MOST]) + (" …" if len(labels) > NAMED_MOST else "")
        yield Wording(
            f"Words that address the software that reads them stand in: {named}. Read them"
            " yourself.",
            f"下列条款含有针对审查软件的指示，请人工审阅：{named}。",
        )


def _failed(read: Iterable[Read], language: Language) -> tuple[NotAnalysed, ...]:
    """The windows without an answer, and why; the halves of one only once."""
    listed = {}
    for window, reading in read:
        if reading.failure is not None:
            why = reason(reading.failure)
            said = Wording(
                f"Not analysed by the model, only by the rules: {why.en}.",
                f"未经模型分析，仅由规则分析：{why.zh}。",
            )
            one = NotAnalysed(clause=_named(window, language), reason=said(language))
            listed[window.item.start, one.clause, one.reason] = one
    return tuple(listed.values())


def _named(window: Window, language: Language) -> str:
    if window.parts == 1:
        return window.label
    part = Wording(
        f" (part {window.part} of {window.parts})",
        f"（第{window.part}部分，共{window.parts}部分）",
    )
    return window.label + part(language)
