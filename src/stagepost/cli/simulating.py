"""What `stagepost simulate-provider` does: serves until it is told to stop, and sums up."""

import asyncio
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import orjson
import typer
import uvloop
from pydantic import TypeAdapter, ValidationError

from stagepost.cli.exits import Exit, Usage, complain
from stagepost.cli.output import console, show, table
from stagepost.simulated import Kind, Lending, SimulatedProvider, Simulation, Step, Timing, serve
from stagepost.simulated.faults import rate_of
from stagepost.simulated.journal import LedgerUnreadable
from stagepost.simulated.pointing import environment_lines, models_toml
from stagepost.simulated.provider import MODELS
from stagepost.simulated.quota import Charge
from stagepost.simulated.server import NotServing
from stagepost.simulated.shapes import RetryAfter

_MOST_SCRIPT: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Given:
    """The command's options, as they came."""

    port: int
    rpm: int
    tpm: int
    concurrency: int
    window: bool
    burst: float
    count_refused: bool
    charge: str
    speed: float
    times: tuple[float, float, float, float, float]
    """As Timing has them."""
    length: int
    context: int
    models: Sequence[str]
    faults: Sequence[str]
    script: Path | None
    ledger: Path | None
    headers: bool
    retry_after: str | None
    batch_seconds: float
    seed: int


def simulate(given: Given, *, as_json: bool) -> None:
    """Serve until SIGINT or SIGTERM. Raises Usage; typer.Exit where it can't serve."""
    try:
        provider = _provider(given)
    except ValueError as error:
        raise Usage(_sentence(error)) from error
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            summary = runner.run(_serve(provider, given.port, as_json=as_json))
    except (NotServing, LedgerUnreadable) as error:
        complain(str(error))
        raise typer.Exit(Exit.REFUSED) from error
    if as_json:
        _print_line({"summary": summary})
    else:
        _show(summary)


async def _serve(provider: SimulatedProvider, port: int, *, as_json: bool) -> Mapping[str, Any]:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    async with serve(provider, port=port) as simulation:
        _announce(simulation, as_json=as_json)
        await stop.wait()
    return simulation.summary()


def _provider(given: Given) -> SimulatedProvider:
    lending = Lending(
        requests=given.rpm or None,
        tokens=given.tpm or None,
        concurrency=given.concurrency or None,
        kind=Kind.WINDOW if given.window else Kind.BUCKET,
        charge=_one_of(Charge, "--charge", given.charge),
        burst=given.burst,
        counts_refused=given.count_refused,
    )
    form = given.retry_after
    return SimulatedProvider(
        lending=lending,
        timing=Timing(*given.times),
        speed=given.speed,
        seed=given.seed,
        models=given.models or MODELS,
        length=given.length,
        context=given.context,
        faults=dict(rate_of(text) for text in given.faults),
        script=_steps(given.script),
        headers=given.headers,
        retry_after=None if form is None else _one_of(RetryAfter, "--retry-after", form),
        ledger=given.ledger,
        batch_seconds=given.batch_seconds,
    )


def _one_of(choices: Any, option: str, text: str) -> Any:
    if text not in get_args(choices):
        raise ValueError(f'{option} is "{text}"; give one of {", ".join(get_args(choices))}.')
    return text


def _steps(file: Path | None) -> Sequence[Step]:
    if file is None:
        return ()
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST_SCRIPT + 1)
        if len(text) > _MOST_SCRIPT:
            raise ValueError(f"{file} is larger than {_MOST_SCRIPT} bytes.")
        return TypeAdapter(list[Step]).validate_python(orjson.loads(text))
    except OSError as error:
        raise ValueError(f"{file} can't be read ({error.strerror}).") from error
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{file} is no valid JSON: {error}.") from error
    except ValidationError as error:
        raise ValueError(f"{file}: {_sentence(error)}") from error


def _sentence(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    found = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in found["loc"])
    return f"{place}: {found['msg'].removeprefix('Value error, ')}"


def _announce(simulation: Simulation, *, as_json: bool) -> None:
    if as_json:
        _print_line(
            {
                "ready": simulation.url,
                "baseUrl": simulation.base_url,
                "modelsToml": models_toml(simulation),
            }
        )
        return
    out = console()
    out.print(f"ready {simulation.url}  (any key will do)\n", soft_wrap=True)
    out.print("To point Stagepost at it, a models.toml:\n", soft_wrap=True)
    out.print(models_toml(simulation), soft_wrap=True)
    out.print("To point a client of OpenAI's or Anthropic's at it:\n", soft_wrap=True)
    for line in environment_lines(simulation):
        out.print(line, soft_wrap=True)
    out.print(f"\nWhat it has done: curl -s {simulation.url}/_sim/summary", soft_wrap=True)
    out.file.flush()


def _print_line(value: Any) -> None:
    typer.echo(orjson.dumps(value).decode())


def _show(summary: Mapping[str, Any]) -> None:
    show(table(("", ""), _totals(summary), head=False))
    rows = list(_minutes(summary))
    if rows:
        show(table(("MODEL", "MINUTE", "REQUESTS", "USED", "TOKENS", "USED"), rows))


def _totals(summary: Mapping[str, Any]) -> Iterator[Sequence[object]]:
    billed, twice = summary["billed"], summary["billedTwice"]
    yield "received", summary["received"]
    tokens = f"{billed['inputTokens']} + {billed['outputTokens']} tokens"
    yield "billed", f"{billed['calls']} calls, {tokens}, ${billed['dollars']:.4f}"
    for name, counts in (("refused", summary["refused"]), ("faults", summary["faults"])):
        yield name, ", ".join(f"{why}: {times}" for why, times in counts.items()) or "none"
    yield (
        "billed twice",
        f"{twice['byKey']['excess']} by key, {twice['byContent']['excess']} by content",
    )
    yield "at once", f"at most {summary['concurrency']['peak']}"
    if summary["lost"]:
        yield "lost", f"{summary['lost']} calls were open when it was killed"


def _minutes(summary: Mapping[str, Any]) -> Iterator[Sequence[object]]:
    for used in summary["used"]:
        tokens = {each["minute"]: each for each in used["tokens"]}
        for each in used["requests"]:
            other = tokens.get(each["minute"], {"lent": 0, "share": None})
            yield (
                used["model"], each["minute"], f"{each['lent']:.0f}", _percent(each["share"]),
                f"{other['lent']:.0f}", _percent(other["share"]),
            )  # fmt: skip


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
