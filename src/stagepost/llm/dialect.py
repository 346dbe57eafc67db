"""Whose words a provider uses. Most speak OpenAI's language, and mean different things by it."""

from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit


class Dialect(StrEnum):
    """A provider whose answers have a meaning of their own."""

    OPENAI = "openai"
    AZURE = "azure"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    DASHSCOPE = "dashscope"
    DEEPSEEK = "deepseek"
    OTHER = "other"  # vLLM, llama.cpp, Ollama and all that speak OpenAI's language


class Structured(StrEnum):
    """How a provider is asked for an answer in a form."""

    SCHEMA = "schema"  # it holds the model to the schema
    OBJECT = "object"  # it holds the model to JSON; the schema is in the prompt
    TOOL = "tool"  # the answer is the input of a tool that has to be called
    PROMPT = "prompt"  # by words alone


_STRUCTURED: Final = {
    Dialect.ANTHROPIC: Structured.TOOL,  # which its older models know too
    Dialect.DASHSCOPE: Structured.OBJECT,  # a few of its models know schemas
    Dialect.DEEPSEEK: Structured.OBJECT,
}

_BY_HOST: Final = (
    ("api.openai.com", Dialect.OPENAI),
    (".openai.azure.com", Dialect.AZURE),
    (".services.ai.azure.com", Dialect.AZURE),
    (".cognitiveservices.azure.com", Dialect.AZURE),
    ("api.anthropic.com", Dialect.ANTHROPIC),
    ("generativelanguage.googleapis.com", Dialect.GEMINI),
    ("aiplatform.googleapis.com", Dialect.GEMINI),
    (".aliyuncs.com", Dialect.DASHSCOPE),
    ("api.deepseek.com", Dialect.DEEPSEEK),
)


def dialect_of(base_url: str | None, *, default: Dialect = Dialect.OPENAI) -> Dialect:
    """Who answers at an address; OTHER for one that is nobody's, `default` without an address."""
    if base_url is None:
        return default
    host = (urlsplit(base_url).hostname or "").lower()
    for name, dialect in _BY_HOST:
        if host == name.removeprefix(".") or host.endswith(name if name[0] == "." else f".{name}"):
            return dialect
        if name == "aiplatform.googleapis.com" and host.endswith(f"-{name}"):
            return dialect
    return Dialect.OTHER


def structured_by(dialect: Dialect) -> Structured:
    """How a provider of this dialect is asked for forms where nothing else is said."""
    return _STRUCTURED.get(dialect, Structured.SCHEMA)
