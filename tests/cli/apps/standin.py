"""Stands in for the review of contracts where the demo is tested without it."""

from typing import Any

from pydantic import BaseModel

from stagepost import App, Context, InvalidInput, Upload

app = App()


class Contract(BaseModel):
    """A file."""

    file: Upload


async def _read(file: Upload) -> str:
    return (await file.read()).decode("utf-8", "replace")


@app.task("contract-review")
async def review(ctx: Context, request: Contract) -> dict[str, Any]:
    text = await ctx.step("parse", _read, request.file, progress=10)
    if not text.strip():
        raise InvalidInput("This document has no text; send one with words in it.")
    findings = [
        {"severity": severity, "clause": "1", "risk": f"A {severity} risk.", "quote": text}
        for severity in ("LOW", "HIGH", "MEDIUM")
    ]
    await ctx.save_artifact("report.html", b"<html></html>", "text/html")
    return {"engine": "a stand-in", "riskLevel": "HIGH", "findings": findings}
