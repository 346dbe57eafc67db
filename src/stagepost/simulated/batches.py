"""Batches: many calls as one file, answered after a while at half the price.

They go beside the limits of a minute, as at OpenAI. Each call is judged like any other; what the
script or a rate refuses comes as a line of the error file.
"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from stagepost.clock import Clock
from stagepost.simulated.asked import BadRequest
from stagepost.simulated.batch_lines import Line, lines_of, made_whole
from stagepost.simulated.files import File, Files, NoSuchThing

MOST_BATCHES: Final = 200
_ENDPOINTS: Final = ("/v1/chat/completions", "/v1/embeddings")
_WINDOW: Final = 24 * 3600


@dataclass(slots=True)
class Batch:
    """One of them. `at` has the second of each state that it has been in."""

    id: str
    endpoint: str
    input: str
    metadata: Any
    lines: Sequence[Line] = ()
    status: str = "validating"
    at: dict[str, int] = field(default_factory=dict)
    answers: list[bytes] = field(default_factory=list)
    errors: list[bytes] = field(default_factory=list)
    output_file: str | None = None
    error_file: str | None = None
    fault: str | None = None
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it is cancelled."""

    @property
    def over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.status in {"completed", "failed", "cancelled"}

    def told(self) -> Mapping[str, Any]:
        """As OpenAI tells it."""
        made = self.at["created"]
        states = ("in_progress", "finalizing", "completed", "failed", "cancelling", "cancelled")
        faults = [{"code": "invalid_request", "message": self.fault, "line": None, "param": None}]
        return {
            "id": self.id, "object": "batch", "endpoint": self.endpoint,
            "errors": {"object": "list", "data": faults} if self.fault else None,
            "input_file_id": self.input, "completion_window": "24h", "status": self.status,
            "output_file_id": self.output_file, "error_file_id": self.error_file,
            "created_at": made, "expires_at": made + _WINDOW, "expired_at": None,
            **{f"{state}_at": self.at.get(state) for state in states},
            "request_counts": {
                "total": len(self.lines), "completed": len(self.answers),
                "failed": len(self.errors),
            },
            "metadata": self.metadata,
        }  # fmt: skip


@dataclass(slots=True)
class Batches:
    """All of them."""

    files: Files
    clock: Clock
    _by_id: dict[str, Batch] = field(default_factory=dict, init=False)

    def create(self, body: Mapping[str, Any]) -> Batch:
        """Begin one; somebody must run it. Raises BadRequest."""
        endpoint = body.get("endpoint")
        if endpoint not in _ENDPOINTS:
            raise BadRequest(f"'endpoint' must be one of {', '.join(_ENDPOINTS)}.", "endpoint")
        if body.get("completion_window") != "24h":
            raise BadRequest("'completion_window' must be 24h.", "completion_window")
        if len(self._by_id) >= MOST_BATCHES:
            raise BadRequest(f"This provider keeps at most {MOST_BATCHES} batches.")
        source = self.files.get(str(body.get("input_file_id")))
        if source.purpose != "batch":
            raise BadRequest("The input file's purpose must be batch.", "input_file_id")
        identity = f"batch_{secrets.token_hex(12)}"
        batch = Batch(identity, str(endpoint), source.id, body.get("metadata"))
        self._enter(batch, "created", status="validating")
        self._by_id[identity] = batch
        return batch

    def get(self, identity: str) -> Batch:
        """One of them. Raises NoSuchThing."""
        found = self._by_id.get(identity)
        if found is None:
            raise NoSuchThing(f"No batch found with id '{identity[:100]}'.", "id")
        return found

    def newest(self, most: int) -> Sequence[Batch]:
        """The newest first."""
        return list(reversed(self._by_id.values()))[:most]

    def validate(self, batch: Batch) -> bool:
        """Read its lines; False where it fails by them."""
        try:
            source = self.files.get(batch.input)
            batch.lines = lines_of(source.content, batch.endpoint)
        except BadRequest as error:
            self.fail(batch, str(error))
            return False
        if batch.status == "validating":
            self._enter(batch, "in_progress")
        return True

    def fail(self, batch: Batch, fault: str) -> None:
        """It can't go on."""
        batch.fault = fault
        self._enter(batch, "failed")

    def cancel(self, batch: Batch) -> None:
        """Answer no more of its calls. Raises BadRequest where it is over."""
        if batch.over:
            raise BadRequest(f"Cannot cancel a batch with status '{batch.status}'.")
        if batch.status != "cancelling":
            self._enter(batch, "cancelling")
            batch.stopped.set()

    def end(self, batch: Batch) -> None:
        """Write its files."""
        cancelled = batch.status == "cancelling"
        if not cancelled:
            self._enter(batch, "finalizing")
        try:
            batch.output_file = self._written(batch, "output", batch.answers)
            batch.error_file = self._written(batch, "error", batch.errors)
        except BadRequest as error:
            self.fail(batch, str(error))
            return
        self._enter(batch, "cancelled" if cancelled else "completed")

    def _written(self, batch: Batch, kind: str, lines: Sequence[bytes]) -> str | None:
        if not lines:
            return None
        found: File = self.files.put(f"{batch.id}_{kind}.jsonl", "batch_output", made_whole(lines))
        return found.id

    def _enter(self, batch: Batch, state: str, status: str = "") -> None:
        batch.status = status or state
        batch.at[state] = self.clock.now() // 1000
