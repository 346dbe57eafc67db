"""The task type `contract-review`: its input, and its steps with what watchers see of them."""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from stagepost import App, Context, Upload
from stagepost.tasks.contract_review.analyse import analyse_clause
from stagepost.tasks.contract_review.assembly import assemble
from stagepost.tasks.contract_review.clause_item import clause_items
from stagepost.tasks.contract_review.frame import PAGES_MOST, Knowledge, knowledge
from stagepost.tasks.contract_review.page import render_html
from stagepost.tasks.contract_review.report import ContractType, ReviewReport, Side
from stagepost.tasks.contract_review.summary import ReviewSummary, summarise
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


@app.task("contract-review", lane="interactive", timeout="30m")
async def contract_review(ctx: Context, request: ReviewRequest) -> ReviewReport:
    """Find what a party should know before it signs, each finding at its place in the text."""
    document = await ctx.step("parse", _parse, request.file, progress=10, message="reading")
    clauses = await ctx.step(
        "clauses", split_clauses, document, progress=20, message="finding clauses"
    )
    frame = await ctx.step(
        "knowledge", _frame, document, clauses, request, progress=35, message="choosing rules"
    )
    findings = await ctx.map(
        "analyse",
        analyse_clause,
        clause_items(document, clauses),
        frame,
        concurrency=8,
        progress=(35, 85),
        message="clause {n} of {total}",
    )
    summary = await ctx.step(
        "summary", summarise, document, clauses, frame, findings, progress=90, message="summing up"
    )

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


def _frame(document: Document, clauses: tuple[Clause, ...], request: ReviewRequest) -> Knowledge:
    return knowledge(
        document,
        clauses,
        side=request.side,
        contract_type=request.contract_type,
        language=None if request.language == "auto" else request.language,
        playbook=request.playbook,
    )
