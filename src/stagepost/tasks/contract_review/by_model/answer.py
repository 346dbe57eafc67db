"""What a model is asked to answer.

The schema names what is allowed; reading an answer is lenient, so that one faulty finding does not
cost the others. What is let into a report is decided in `screen`, finding by finding.
"""

from collections.abc import Sequence
from typing import Annotated, get_args

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from stagepost.tasks.contract_review import checklist, special_topics
from stagepost.tasks.contract_review.categories import CATEGORIES
from stagepost.tasks.contract_review.playbook import RULES
from stagepost.tasks.contract_review.report import SEVERITIES, Side

OTHER = "Other"
NAMES: tuple[str, ...] = (
    *sorted(
        {rule.category for rule in RULES}
        | {category.name for category in CATEGORIES}
        | {topic.category for topic in (*checklist.TOPICS, *special_topics.TOPICS)}
    ),
    OTHER,
)
"""The categories that a finding may have."""

RISKS, NO_ISSUE, UNCLEAR = VERDICTS = ("risks", "no-issue", "unclear")


def _one_of(names: Sequence[str]) -> JsonDict:
    # Told to the model by the schema, and not held against it by the reading.
    return {"enum": [*names]}


_Level = Annotated[str, Field(json_schema_extra=_one_of(SEVERITIES))]


class _Shape(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class FindingAnswer(_Shape):
    """One risk as a model sees it."""

    quote: str = Field(description="The words that show the risk, copied exactly from the clause.")
    category: str = Field(json_schema_extra=_one_of(NAMES))
    severity: _Level
    risk: str = Field(description="What can happen to whom, in one or two sentences.")
    for_whom: str = Field(
        "neutral",
        description="The side that bears the risk; neutral for both.",
        json_schema_extra=_one_of(get_args(Side)),
    )
    law_reference: str | None = Field(
        None,
        description="The id of one of the articles given, such as A1; null when none fits.",
    )
    suggestion: str = Field(description="What to change, in one or two sentences.")
    negotiability: _Level = Field(
        "MEDIUM", description="How easily the other side agrees to the change."
    )
    confidence: float = Field(0.5, description="From 0 to 1.")


class ClauseAnswer(_Shape):
    """A model's view of one clause."""

    verdict: str = Field(
        description="risks: there are findings; no-issue: the clause was read and holds no risk;"
        " unclear: it could not be judged.",
        json_schema_extra=_one_of(VERDICTS),
    )
    findings: list[FindingAnswer]


class ActionAnswer(_Shape):
    """One thing to do, about one entry of the list."""

    entry: int = Field(description="The entry's number in the list.")
    action: str = Field(description="What to do about it, in one sentence.")


class SummaryAnswer(_Shape):
    """What a model makes of the list of findings."""

    summary: str = Field(description="Three to five sentences for a person who decides.")
    actions: list[ActionAnswer] = Field(
        description="The first five things to do, most urgent first."
    )
