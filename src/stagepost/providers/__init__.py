"""Adapters of the provider port: one a kind of models.toml. Their SDKs are imported on demand."""

import os
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from stagepost.clock import Clock, SystemClock
from stagepost.llm import catalogue
from stagepost.llm.provider import NotReady, Provider

_ADAPTERS: Final = {"openai": "OpenAIProvider", "anthropic": "AnthropicProvider"}

# What a header can carry, without what JSON would write otherwise: a key is looked for in texts.
_KEY: Final = re.compile(r'[^\s"\\\x00-\x1f\x7f-\uffff]{1,4096}')


def provider_for(
    spec: catalogue.Provider,
    environment: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> Provider:
    """The provider that a table of models.toml describes; close it when done.

    Reads its key from the environment. Raises NotReady where the key or the SDK is missing. The
    first of a kind imports its SDK, which takes a second or two: make it before there is work.
    """
    key = _key(spec, os.environ if environment is None else environment)
    adapter = _adapter(spec.kind)
    found: Provider = adapter(spec, key, SystemClock() if clock is None else clock)
    return found


def _key(spec: catalogue.Provider, environment: Mapping[str, str]) -> str:
    name = spec.api_key_env
    if name is None:
        return ""
    key = environment.get(name, "").strip()
    if not key:
        raise NotReady(f"models.toml takes a key from {name}, which is not set: set it.")
    if not _KEY.fullmatch(key):
        raise NotReady(f"{name} holds no key: a key is one word of printable ASCII characters.")
    return key


def _adapter(kind: str) -> Any:
    try:
        module = import_module(f"stagepost.providers.{kind}")
    except ModuleNotFoundError as error:
        raise NotReady(
            f'models.toml has a provider of the kind "{kind}", whose SDK is not installed '
            f'({error.name} is missing): pip install "stagepost[{kind}]".'
        ) from error
    return getattr(module, _ADAPTERS[kind])
