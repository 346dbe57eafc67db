"""The task type `contract-review`: its input, and its steps with what watchers see of them."""

import asyncio
from functools import partial
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from stagepost import App, Context, Upload
from stagepost.tasks.contract_review.analyse import analyse_clause
from stagepost.tasks.contract_review.assembly import assemble
from stagepost.tasks.contract_review.by_model.models import Models, Reviewer, chosen
from stagepost.tasks.contract_review.by_model.rounds import RETRY, Read, Reviewing, Rounds
from stagepost.tasks.contract_review.by_model.summing import sum_up
from stagepost.tasks.contract_review.by_model.told import told
from stagepost.tasks.contract_review.clause_item import clause_items
from stagepost.tasks.contract_review.frame import PAGES_MOST, Knowledge, knowledge
from stagepost.tasks.contract_review.page import render_html
from stagepost.tasks.contract_review.report import (
    ContractType,
    Finding,
    ReviewReport,
    Side,
)
from stagepost.tasks.contract_review.summary import ReviewSummary, Told, summarise
from stagepost.tasks.documents import Clause, Document, Limits, read_document, split_clauses

LIMITS: Final = Limits(pages=PAGES_MOST, characters=4_000_000)
"""What is reviewed: 500 pages; the characters keep the parsed document within one checkpoint."""

app = App()


class ReviewRequest(BaseModel):
    """A contract, and how to look at it."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True
    )

    file: Upload = Field(description="The contract: PDF with text, DOCX, TXT or Markdown.")
    side: Side = Field("neutral", description="The party to protect.")
    contract_type: ContractType | None = Field(None, description="Detected when not given.")
    language: Literal["auto", "en", "zh"] = Field(
        "auto", description="The report's language; auto takes the contract's."
    )
    playbook: str = Field("default", max_length=100, description="Whose rules to review by.")
    # Left out at their defaults: so the input of a task that was begun without them is the same.
    reviewer: Reviewer = Field(
        "auto",
        description="Who reads the clauses: a language model with the rules as a second opinion, or"
        " the rules alone; auto takes a model where one is configured.",
        exclude_if=lambda reviewer: reviewer == "auto",
    )
    fallback: bool = Field(
        default=False,
        description="Whether the rules alone may answer when no model does. Else the task waits.",
        exclude_if=lambda allowed: allowed is False,
    )


@app.task("contract-review", lane="interactive", timeout="30m", retry=RETRY)
async def contract_review(ctx: Context, request: ReviewRequest) -> ReviewReport:
    """Find what a party should know before it signs, each finding at its place in the text."""
    models: Models = ctx.llm
    document = await ctx.step("parse", _parse, request.file, progress=10, message="reading")
    clauses = await ctx.step(
        "clauses", split_clauses, document, progress=20, message="finding clauses"
    )
    # Who reviews is settled here, once: another models.toml changes no review that has begun.
    frame = await ctx.step(
        "knowledge",
        partial(_frame, models=tuple(await models.models())),
        document,
        clauses,
        request,
        progress=35,
        message="choosing rules",
    )
    if frame.model is None:
        summary = await _by_rules(ctx, document, clauses, frame)
    else:
        summary = await _by_model(ctx, models, document, clauses, frame, request)

    return await _published(ctx, document, clauses, frame, summary)


async def _by_rules(
    ctx: Context, document: Document, clauses: tuple[Clause, ...], frame: Knowledge
) -> ReviewSummary:
    """The review without a model."""
    findings = await ctx.map(
        "analyse",
        analyse_clause,
        clause_items(document, clauses),
        frame,
        concurrency=8,
        progress=(35, 85),
        message="clause {n} of {total}",
    )
    return await ctx.step(
        "summary", summarise, document, clauses, frame, findings, progress=90, message="summing up"
    )


async def _by_model(
    ctx: Context,
    models: Models,
    document: Document,
    clauses: tuple[Clause, ...],
    frame: Knowledge,
    request: ReviewRequest,
) -> ReviewSummary:
    """The review by a model, the rules beside it."""
    items = clause_items(document, clauses)
    found = await ctx.map(
        "rules",
        analyse_clause,
        items,
        frame,
        concurrency=8,
        progress=(35, 45),
        message="rules: clause {n} of {total}",
    )
    reviewing = Reviewing(document, clauses, items, found)
    rounds = Rounds(ctx, models, frame, request.fallback)
    read = await rounds.read_all(reviewing)
    return await _summed_up(rounds, reviewing, read)


async def _summed_up(rounds: Rounds, reviewing: Reviewing, read: list[Read]) -> ReviewSummary:
    """What the rules and the model have found, as one."""

    async def summed(
        document: Document,
        clauses: tuple[Clause, ...],
        frame: Knowledge,
        found: list[list[Finding]],
        by_models: list[Finding],
        told: Told,
    ) -> ReviewSummary:
        summary = await asyncio.to_thread(
            summarise, document, clauses, frame, found, by_models, told
        )
        if not told.by_model:
            return summary
        secret, allowed = rounds.ctx.task_id, rounds.may_fall_back
        return await sum_up(rounds.models, secret, summary, frame, may_fall_back=allowed)

    return await rounds.ctx.step(
        "summary",
        summed,
        reviewing.document,
        reviewing.clauses,
        rounds.frame,
        reviewing.found,
        [finding for one in read for finding in one.reading.findings],
        told(read, rounds.frame.language),
        progress=90,
        message="summing up",
    )


async def _published(
    ctx: Context,
    document: Document,
    clauses: tuple[Clause, ...],
    frame: Knowledge,
    summary: ReviewSummary,
) -> ReviewReport:
    """The report, saved with its artifacts."""

    async def publish(
        document: Document,
        clauses: tuple[Clause, ...],
        frame: Knowledge,
        summary: ReviewSummary,
    ) -> ReviewReport:
        report = assemble(document, clauses, frame, summary)
        await ctx.save_artifact("document.txt", document.text.encode(), "text/plain; charset=utf-8")
        body = report.model_dump_json(by_alias=True, indent=2).encode()
        await ctx.save_artifact("report.json", body, "application/json")
        page = render_html(report, document).encode()
        await ctx.save_artifact("report.html", page, "text/html; charset=utf-8")
        return report

    return await ctx.step(
        "report",
        publish,
        document,
        clauses,
        frame,
        summary,
        progress=95,
        message="writing the report",
    )


async def _parse(file: Upload) -> Document:
    path = await file.path()
    return await read_document(path, name=file.name, media_type=file.media_type, limits=LIMITS)


def _frame(
    document: Document,
    clauses: tuple[Clause, ...],
    request: ReviewRequest,
    *,
    models: tuple[str, ...],
) -> Knowledge:
    return knowledge(
        document,
        clauses,
        side=request.side,
        contract_type=request.contract_type,
        language=None if request.language == "auto" else request.language,
        playbook=request.playbook,
        model=chosen(request.reviewer, models),
    )
