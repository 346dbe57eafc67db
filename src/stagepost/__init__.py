"""Stagepost runs long AI tasks behind a product: submit, 202 at once, live progress, result."""

from stagepost.caller import Caller
from stagepost.client import Client
from stagepost.context import Context
from stagepost.errors import (
    AmbiguousStep,
    CallFailed,
    ChildFailed,
    CodeChanged,
    Conflict,
    ContentPolicy,
    Invalid,
    InvalidInput,
    Overloaded,
    RateLimited,
    Retryable,
    ServerError,
    StagepostError,
    Terminal,
)
from stagepost.model_calls import Reply
from stagepost.options import Options
from stagepost.registry import App
from stagepost.retry import Retry
from stagepost.upload import Upload

__all__ = [
    "AmbiguousStep",
    "App",
    "CallFailed",
    "Caller",
    "ChildFailed",
    "Client",
    "CodeChanged",
    "Conflict",
    "ContentPolicy",
    "Context",
    "Invalid",
    "InvalidInput",
    "Options",
    "Overloaded",
    "RateLimited",
    "Reply",
    "Retry",
    "Retryable",
    "ServerError",
    "StagepostError",
    "Terminal",
    "Upload",
]
