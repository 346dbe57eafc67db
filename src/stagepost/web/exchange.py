"""One request and its answer: what the layers of the application tell each other about it."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stagepost.caller import LOCAL, Caller
from stagepost.records import Scope
from stagepost.web.roles import FIRST_TENANT, Role

_TRACEPARENT: Final = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
_KEY: Final = "stagepost"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks. `by_id` is what a read by task id may see, `caller.scope` what all else may."""

    caller: Caller
    by_id: Scope
    role: Role
    key_hash: str | None = None

    @property
    def acts_for_all(self) -> bool:
        """Whether it may change what tenants share: on the machine itself, or by an own key."""
        return self.key_hash is None or self.caller.tenant == FIRST_TENANT


ANYBODY_HERE: Final = Identity(LOCAL, Scope(None), Role.ADMIN)
"""A request without headers to a server that only this machine reaches."""


@dataclass(slots=True)
class Exchange:
    """Set up by the envelope. `route` is the path's template once it is known."""

    headers: Mapping[bytes, bytes]
    trace_id: str
    span_id: str
    route: str = "unmatched"
    identity: Identity = field(default=ANYBODY_HERE)

    @property
    def request_id(self) -> str:
        """The value of X-Request-Id: the trace, and this request's own part of it."""
        return f"{self.trace_id}-{self.span_id}"

    def text(self, name: bytes) -> str | None:
        """A header's value."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")


def begin(scope: Any) -> Exchange:
    """Start an exchange in a request's scope."""
    headers = dict(scope["headers"])
    trace_id, span_id = new_ids()
    given = headers.get(b"traceparent")
    if given is not None:
        trace_id = _trace_of(given) or trace_id
    exchange = Exchange(headers, trace_id, span_id)
    scope[_KEY] = exchange
    return exchange


def new_ids() -> tuple[str, str]:
    """A new trace id and span id."""
    fresh = os.urandom(24).hex()
    return fresh[:32], fresh[32:]


def exchange_of(scope: Any) -> Exchange:
    """The exchange of a request's scope."""
    exchange: Exchange = scope[_KEY]
    return exchange


def _trace_of(given: bytes) -> str | None:
    # W3C Trace Context: version ff, zero ids and a version 00 with more behind it are invalid.
    match = _TRACEPARENT.fullmatch(given)
    if match is None or match[1] == b"ff" or (match[1] == b"00" and match[4]):
        return None
    if not match[2].strip(b"0") or not match[3].strip(b"0"):
        return None
    return match[2].decode()
