"""Which adapter a table of models.toml gives, and what it takes from the environment."""

import subprocess
import sys
from typing import Any

import pytest

from stagepost.llm.catalogue import Provider as Spec
from stagepost.llm.dialect import Dialect
from stagepost.llm.provider import NotReady
from stagepost.providers import provider_for
from stagepost.providers.anthropic import AnthropicProvider
from stagepost.providers.openai import OpenAIProvider
from support.asking import HELLO, KEY, asked_at, refused_by, spec_of
from support.given_answers import GIVEN
from support.scripted_provider import scripted, whole

DIALECTS = [Dialect.OPENAI, Dialect.ANTHROPIC]


async def test_each_kind_has_its_adapter() -> None:
    for kind, adapter in (("openai", OpenAIProvider), ("anthropic", AnthropicProvider)):
        provider = provider_for(Spec.model_validate({"kind": kind}), {})
        assert isinstance(provider, adapter)
        await provider.close()


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({}, "takes a key from PROVIDER_KEY, which is not set"),
        ({"PROVIDER_KEY": "  "}, "which is not set"),
        ({"PROVIDER_KEY": "sk-secret\nsk-other"}, "PROVIDER_KEY holds no key"),
        ({"PROVIDER_KEY": "sk-sëcret"}, "PROVIDER_KEY holds no key"),
        ({"PROVIDER_KEY": '"sk-secret"'}, "PROVIDER_KEY holds no key"),
        ({"PROVIDER_KEY": "s" * 5_000}, "PROVIDER_KEY holds no key"),
    ],
)
def test_a_key_that_is_none_is_told_by_its_variable(environment: dict[str, str], says: str) -> None:
    with pytest.raises(NotReady, match=says) as raised:
        provider_for(spec_of("http://127.0.0.1:1/v1", Dialect.OPENAI), environment)
    assert "sk-" not in str(raised.value)


@pytest.mark.parametrize("dialect", [*DIALECTS, Dialect.AZURE])
async def test_the_key_goes_where_the_provider_looks_for_it(dialect: Dialect) -> None:
    async with scripted(whole("", 500)) as server, asked_at(server.address, dialect) as asked:
        await refused_by(asked, "chat")
    headers = server.asked[0].headers
    azure = dialect is Dialect.AZURE
    assert headers.get("api-key") == (KEY if azure else None)
    told = [headers.get("authorization"), headers.get("x-api-key")]
    assert (f"Bearer {KEY}" in told or KEY in told) is not azure


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_the_sdks_find_for_themselves_is_not_sent(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "AUTH_TOKEN"):
        monkeypatch.setenv(f"OPENAI_{name}", f"ambient-{name}")
        monkeypatch.setenv(f"ANTHROPIC_{name}", f"ambient-{name}")
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    async with (
        scripted(whole("", 500)) as server,
        asked_at(server.address, dialect, key=False) as asked,
    ):
        await refused_by(asked, "chat")
    headers = server.asked[0].headers
    assert not {"authorization", "x-api-key", "openai-organization"} & set(headers)
    assert not any("ambient" in value for value in headers.values())


@pytest.mark.parametrize(
    ("kind", "address"),
    [("openai", "https://api.openai.com/v1"), ("anthropic", "https://api.anthropic.com")],
)
async def test_who_names_no_address_means_the_providers_own(
    kind: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{kind.upper()}_BASE_URL", "http://127.0.0.1:1/")
    provider = provider_for(Spec.model_validate({"kind": kind}), {})
    assert isinstance(provider, (OpenAIProvider, AnthropicProvider))
    assert str(provider._client.base_url).rstrip("/") == address
    await provider.close()


async def test_the_query_of_an_azure_address_goes_behind_the_path() -> None:
    given = GIVEN["azure"]
    async with scripted(whole(given.body)) as server:
        address = f"{server.address}/deployments/mine?api-version=2024-10-21"
        async with asked_at(address, Dialect.AZURE) as asked:
            await asked.chat(HELLO)
    path = "/v1/deployments/mine/chat/completions?api-version=2024-10-21"
    assert server.asked[0].path == path


def run(code: str) -> Any:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )


def test_no_sdk_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, stagepost, stagepost.wiring, stagepost.providers, stagepost.llm.structured\n"
        "print({'openai', 'anthropic', 'httpx2'} & set(sys.modules))"
    )
    done = run(code)
    assert (done.stdout, done.stderr) == ("set()\n", "")


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_missing_sdk_is_told_with_its_extra(kind: str) -> None:
    code = (
        f"import sys; sys.modules['{kind}'] = None\n"
        "from stagepost.llm.catalogue import Provider\n"
        "from stagepost.providers import provider_for\n"
        f"provider_for(Provider(kind='{kind}'), {{}})"
    )
    assert f'pip install "stagepost[{kind}]"' in run(code).stderr
