"""A tenant gets no more than its share of a model, and holds nobody else up."""

from pathlib import Path

import pytest

from engine_kit.engine import reached, running
from stagepost import App, Context
from stagepost.caller import Caller
from stagepost.llm.catalogue import BadCatalogue, Catalogue
from stagepost.records import Scope
from stagepost.simulated import SimulatedProvider, serve
from stagepost.task import Status
from stagepost.wiring import Engine

app = App()

MODELS = """\
[providers.main]
kind = "openai"
base_url = "{url}"
[limits."main/sim-large"]
requests_per_minute = 120
tenant_share = 0.025
"""
"""Of a tenant one request in 20 s, of all two in a second."""


@app.task("ask")
async def ask(ctx: Context, request: str) -> str:
    return (await ctx.llm.chat("main/sim-large", request)).text


async def submitted(engine: Engine, tenant: str) -> str:
    caller = Caller(tenant, "ann", Scope(tenant))
    return (await engine.client.submit("ask", "Hello", caller=caller)).task_id


async def test_who_has_used_its_share_waits_and_others_do_not(tmp_path: Path) -> None:
    async with serve(SimulatedProvider()) as simulation:
        file = tmp_path / "models.toml"
        file.write_text(MODELS.format(url=simulation.base_url))
        async with running(app, tmp_path / "data", models=str(file)) as engine:
            first = await submitted(engine, "acme")
            await reached(engine, first, Status.COMPLETED)
            task = await reached(engine, await submitted(engine, "acme"), Status.WAITING)
            assert task.wait is not None
            share = "share:acme:main/sim-large:requests"
            assert (task.wait.kind, task.wait.name) == ("limit", share)
            other = await submitted(engine, "globex")
            await reached(engine, other, Status.COMPLETED)
            assert simulation.ledger.received == 2


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ("tenant_share = 0", "greater than 0"),
        ("tenant_share = 1.5\nrequests_per_minute = 5", "less than or equal to 1"),
        ("tenant_share = 0.5\nconcurrency = 5", "needs tokens_per_minute or requests_per_minute"),
    ],
)
def test_a_share_that_can_t_be_meant_is_told(limits: str, why: str) -> None:
    text = f'[providers.main]\nkind = "openai"\n[limits."main/large"]\n{limits}\n'
    with pytest.raises(BadCatalogue, match=why):
        Catalogue.parse(text)
