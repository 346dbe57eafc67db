"""The clauses that a contract of its type lacks."""

import re

from stagepost.tasks.contract_review import checklist, special_topics
from stagepost.tasks.contract_review.checklist import Topic
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.contract_review.report import MissingClause, rank
from stagepost.tasks.contract_review.view import view
from stagepost.tasks.contract_review.wording import Wording
from stagepost.tasks.documents.document import Document, Language

LEAST = 1_500  # characters below which a text is an extract, not a contract to be complete
_LEAST_ZH = 500
COVER_MOST = 6_000  # characters of a text that may be but the cover of terms kept elsewhere

TERMS_ELSEWHERE = Wording(
    "The file takes in terms that stand elsewhere and were not read, so no clause is called"
    " missing; send them too.",
    "文件引用了未随附的条款，该部分未被审查，因此不列缺失条款；请一并上传。",
)

TOO_SHORT = Wording(
    "The text is too short to be a whole contract, so the list of usual clauses was not held"
    " against it.",
    "文本过短，不足以视为完整合同，故未对照常见条款清单。",
)

_ELSEWHERE = re.compile(
    r"\b(?:terms|agreement|conditions)\b.{0,160}\b(?:available|posted|published|found) at"
    r" (?:https?://|www\.|[\w-]{2,40}\.(?:com|org|net|io)\b)"
    r"|(?:条款|协议|规则).{0,30}(?:见|公布于|载于).{0,12}(?:https?://|www\.|官网|网站)"
)


def missing_clauses(document: Document, knowledge: Knowledge) -> tuple[MissingClause, ...]:
    """The checklist's topics that the text never touches, the gravest first.

    Recognition leans to the text's favour: one mention is enough. A short text (an extract, an
    amendment) is not measured against the list, nor is the cover page of terms kept elsewhere.
    """
    lower = view(document.text).lower
    if has_terms_elsewhere(document) or is_extract(document):
        return ()
    absent = [
        MissingClause(
            category=topic.category,
            severity=topic.severity,
            why=topic.why(knowledge.language),
        )
        for topic in (*checklist.TOPICS, *special_topics.TOPICS)
        if knowledge.contract_type in topic.types and _is_missing(topic, lower, document.language)
    ]
    return tuple(sorted(absent, key=lambda one: rank(one.severity)))


def is_extract(document: Document) -> bool:
    """Whether a text is too short to be measured against the list."""
    return len(view(document.text).lower) < (_LEAST_ZH if document.language == "zh" else LEAST)


def has_terms_elsewhere(document: Document) -> bool:
    """Whether a short text leaves most of the terms to a page of the web."""
    lower = view(document.text).lower
    return len(lower) <= COVER_MOST and _ELSEWHERE.search(lower) is not None


def _is_missing(topic: Topic, lower: str, language: Language) -> bool:
    shown, condition = (topic.zh, topic.if_zh) if language == "zh" else (topic.en, topic.if_en)
    if condition and not re.search(condition, lower):
        return False
    return re.search(shown, lower) is None
