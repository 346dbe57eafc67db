"""The clauses that a contract of its type lacks."""

import re

from stagepost.tasks.contract_review import checklist, special_topics
from stagepost.tasks.contract_review.checklist import Topic
from stagepost.tasks.contract_review.frame import Knowledge
from stagepost.tasks.contract_review.report import MissingClause, rank
from stagepost.tasks.contract_review.view import view
from stagepost.tasks.documents.document import Document, Language

LEAST = 1_500  # characters below which a text is an extract, not a contract to be complete
_LEAST_ZH = 500


def missing_clauses(document: Document, knowledge: Knowledge) -> tuple[MissingClause, ...]:
    """The checklist's topics that the text never touches, the gravest first.

    Recognition leans to the text's favour: one mention is enough. A short text (an extract, an
    amendment) is not measured against the list.
    """
    lower = view(document.text).lower
    if len(lower) < (_LEAST_ZH if document.language == "zh" else LEAST):
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


def _is_missing(topic: Topic, lower: str, language: Language) -> bool:
    shown, condition = (topic.zh, topic.if_zh) if language == "zh" else (topic.en, topic.if_en)
    if condition and not re.search(condition, lower):
        return False
    return re.search(shown, lower) is None
