"""`stagepost simulate-provider`: a model's server for trying and testing without a key."""

from pathlib import Path
from typing import Annotated, Any

import typer

from stagepost.cli.asking import Json


def _option(metavar: str, told: str, *, least: int | None = None, most: int | None = None) -> Any:
    # The defaults stand in the sentences, as with all commands.
    return typer.Option(metavar=metavar, show_default=False, help=told, min=least, max=most)


_CHARGE = "Charge what a call may use (reserved) or has used (actual); else reserved."
_MODELS = "A model that it has; may be repeated. Else sim-large, sim-small, sim-embedding."
_RETRY_AFTER = (
    "How waits are told: both, seconds, ms, date or none. Else both; ms where --speed is not 1."
)

Port = Annotated[int, _option("N", "The port; else any free one.", least=0, most=65_535)]
Requests = Annotated[int, _option("N", "Requests a minute; else 500. 0: no limit.", least=0)]
Tokens = Annotated[int, _option("N", "Tokens a minute; else 200000. 0: no limit.", least=0)]
AtOnce = Annotated[int, _option("N", "Calls at once; else 50. 0: no limit.", least=0)]
Window = Annotated[
    bool, typer.Option("--window", help="Lend all at each minute's begin, not bit by bit.")
]
Burst = Annotated[float, _option("MINUTES", "How much is saved up without --window; else 1.")]
CountRefused = Annotated[
    bool, typer.Option("--count-refused", help="A refusal uses up a request, as OpenAI has it.")
]
Charge = Annotated[str, _option("HOW", _CHARGE)]
Speed = Annotated[float, _option("TIMES", "Shorten its minutes, times and waits; else 1.")]
FirstToken = Annotated[float, _option("SECONDS", "Median time to the first token; else 0.5.")]
Token = Annotated[float, _option("SECONDS", "Median time between tokens; else 0.02.")]
Sigma = Annotated[float, _option("N", "How far both spread (lognormal); else 0.5.")]
Least = Annotated[float, _option("SECONDS", "The first token never comes earlier; else 0.")]
Most = Annotated[float, _option("SECONDS", "The first token never comes later; else 600.")]
Length = Annotated[int, _option("TOKENS", "Of a plain answer, about; else 60.")]
Context = Annotated[int, _option("TOKENS", "Of prompt and answer together; else 128000.")]
Models = Annotated[list[str] | None, _option("NAME", _MODELS)]
Faults = Annotated[
    list[str] | None,
    _option("NAME=RATE", "Give this share of the calls a fault; may be repeated."),
]
Script = Annotated[Path | None, _option("FILE", "Steps as JSON: what happens to the next calls.")]
LedgerFile = Annotated[
    Path | None, _option("FILE", "Keep its ledger here, and go on with it next time.")
]
NoHeaders = Annotated[
    bool, typer.Option("--no-headers", help="Tell in no header what is left of the limits.")
]
RetryAfter = Annotated[str | None, _option("HOW", _RETRY_AFTER)]
BatchSeconds = Annotated[float, _option("SECONDS", "How long a batch takes; else 60.")]
Seed = Annotated[int, _option("N", "Other answers, times and faults for each; else 0.")]


def simulate_provider(
    port: Port = 0,
    rpm: Requests = 500,
    tpm: Tokens = 200_000,
    concurrency: AtOnce = 50,
    window: Window = False,
    burst: Burst = 1.0,
    count_refused: CountRefused = False,
    charge: Charge = "reserved",
    speed: Speed = 1.0,
    first_token: FirstToken = 0.5,
    token: Token = 0.02,
    sigma: Sigma = 0.5,
    least: Least = 0.0,
    most: Most = 600.0,
    length: Length = 60,
    context: Context = 128_000,
    model: Models = None,
    fault: Faults = None,
    script: Script = None,
    ledger: LedgerFile = None,
    no_headers: NoHeaders = False,
    retry_after: RetryAfter = None,
    batch_seconds: BatchSeconds = 60.0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Serve a simulated model on this machine, with limits, faults and a ledger of its own."""
    # What serves is slow to import, and no other command needs it.
    from stagepost.cli.simulating import Given, simulate  # noqa: PLC0415

    given = Given(
        port=port, rpm=rpm, tpm=tpm, concurrency=concurrency, window=window, burst=burst,
        count_refused=count_refused, charge=charge, speed=speed,
        times=(first_token, token, sigma, least, most), length=length, context=context,
        models=model or (), faults=fault or (), script=script, ledger=ledger,
        headers=not no_headers, retry_after=retry_after, batch_seconds=batch_seconds, seed=seed,
    )  # fmt: skip
    simulate(given, as_json=as_json)
