"""`stagepost usage`: what tasks have spent on models."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from stagepost.cli.asking import Json, Url, ask
from stagepost.cli.exits import Usage
from stagepost.cli.listing import show_rows
from stagepost.cli.output import console, money, print_json
from stagepost.cli.rows import Columns
from stagepost.cli.spent import spent_text
from stagepost.remote import Remote, UsageWhere
from stagepost.spending import GROUPS

if TYPE_CHECKING:
    from stagepost.web.call_schemas import UsageReport, UsageSums

_SUMS: Final = ("CALLS", "FAILED", "UNKNOWN", "TOKENS IN", "OUT", "COST")
_DAYS_MOST: Final = 366


def show_usage(
    by: Annotated[
        str, typer.Option(help="day, tenant, user, type, model, or some of them: day,model.")
    ] = "type,model",
    days: Annotated[
        int, typer.Option(min=1, max=_DAYS_MOST, help="Today and those before it, by UTC.")
    ] = 7,
    type_name: Annotated[str | None, typer.Option("--type", help="Only of this task type.")] = None,
    tenant: Annotated[
        str | None, typer.Option(help="Only of this tenant, where the key sees others.")
    ] = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Show what tasks have spent on models: calls, tokens and US dollars."""
    names = _checked(by)
    today = datetime.now(UTC).date()
    first = (today - timedelta(days=days - 1)).isoformat()
    where = UsageWhere(first, today.isoformat(), ",".join(names), type_name, tenant)

    async def work(remote: Remote) -> "UsageReport":
        return await remote.spending.usage(where)

    report = ask(url, work)
    if as_json:
        print_json(report)
        return
    show_rows(_columns(names), (_row(each, names) for each in report["items"]), "No calls.")
    if report["items"]:
        console().print(_total(report), soft_wrap=True)


def _checked(by: str) -> Sequence[str]:
    named = [name.strip() for name in by.split(",")]
    unknown = [name for name in named if name not in GROUPS]
    if unknown:
        raise Usage(f'--by has "{unknown[0]}"; it takes {", ".join(GROUPS)}.')
    return [name for name in GROUPS if name in named]


def _columns(names: Sequence[str]) -> Columns:
    heads = tuple(name.upper() for name in names)
    return Columns((*heads, *_SUMS), narrow=(*heads, "CALLS", "COST"), below=("FAILED", "UNKNOWN"))


def _row(each: "UsageSums", names: Sequence[str]) -> Sequence[object]:
    told: Mapping[str, Any] = {**each, "model": f"{each['provider']}/{each['model']}"}
    return (
        *(told[name] for name in names),
        each["calls"],
        (each["rejected"] + each["refused"]) or "",
        each["unknown"] or "",
        f"{each['inputTokens']:,}",
        f"{each['outputTokens']:,}",
        money(each["cost"]),
    )


def _total(report: "UsageReport") -> str:
    text = f"{report['from']} to {report['to']}: {spent_text(report['total'])}"
    if not report["complete"]:
        text += f"; the first {len(report['items'])} sums are shown, fewer days or --type say more"
    return text
