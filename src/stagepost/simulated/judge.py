"""The ledger with its file: each fact is on the disk before anybody is told of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stagepost.clock import Clock
from stagepost.simulated.asked import Asked
from stagepost.simulated.journal import Journal, replay
from stagepost.simulated.ledger import Ledger, Record


class Judge:
    """Keeps the ledger. With a file it goes on where the file ends."""

    def __init__(self, clock: Clock, price: tuple[float, float], file: Path | None = None) -> None:
        self.ledger = Ledger()
        self._clock, self._price, self._file = clock, price, file
        self._journal = Journal(file)
        self._last = 0

    def open(self) -> None:
        """Read what the file has, and go on with it. Raises LedgerUnreadable."""
        history = _History(self.ledger)
        replay(self._file, history.take)
        history.end()
        self._last = history.last
        self._journal.open()

    async def close(self) -> None:
        """Write the last lines."""
        await self._journal.close()

    async def receive(self, asked: Asked) -> Record:
        """A request has come."""
        self._last += 1
        record = Record(
            self._last, self._clock.now(), asked.path, asked.model, asked.call_key, asked.digest
        )
        self.ledger.receive(record)
        self._journal.add(
            "received", call=record.call, at=record.at, path=record.path, model=record.model,
            key=record.key, digest=record.digest,
        )  # fmt: skip
        if self._journal.crowded:
            await self._journal.synced()
        return record

    def fault(self, record: Record, name: str) -> None:
        """A fault was chosen for it."""
        record.why = name
        self.ledger.faults[name] += 1
        self._journal.add("fault", call=record.call, why=name)

    async def bill(
        self, record: Record, tokens: tuple[int, int], *, price: float = 1.0, whole: bool = True
    ) -> None:
        """The model has worked for it: tokens of input and output, at a part of the usual price.

        `whole` says whether all of the answer is to go out.
        """
        record.status, record.delivered = 200, whole
        dollars = sum(count * each for count, each in zip(tokens, self._price, strict=True))
        dollars = round(dollars * price / 1_000_000, 9)
        self.ledger.bill(record, tokens, dollars, at=self._clock.now())
        self._journal.add(
            "billed", call=record.call, at=record.ended, inputTokens=tokens[0],
            outputTokens=tokens[1], dollars=record.dollars, delivered=whole,
        )  # fmt: skip
        await self._journal.synced()

    async def refuse(self, record: Record, status: int | None, why: str) -> None:
        """Nothing was done for it; without a status it had not even an answer."""
        self.ledger.refuse(record, status, why, at=self._clock.now())
        self._journal.add("refused", call=record.call, at=record.ended, status=status, why=why)
        await self._journal.synced()


class _History:
    """The ledger as a file's lines tell it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._open: dict[int, Record] = {}
        self.last = 0

    def take(self, line: Mapping[str, Any]) -> None:
        """One line. Raises KeyError, TypeError for what is none."""
        call = int(line["call"])
        self.last = max(self.last, call)
        match line["event"]:
            case "received":
                record = Record(
                    call, line["at"], line["path"], line["model"], line["key"], line["digest"]
                )
                self._open[call] = record
                self._ledger.receive(record)
            case "fault":
                self._open[call].why = line["why"]
                self._ledger.faults[line["why"]] += 1
            case "billed":
                self._bill(self._open.pop(call), line)
            case "refused":
                self._ledger.refuse(
                    self._open.pop(call), line["status"], line["why"], at=line["at"]
                )
            case other:
                raise KeyError(other)

    def end(self) -> None:
        """Whatever is open now, its provider has died."""
        for record in self._open.values():
            self._ledger.lose(record)

    def _bill(self, record: Record, line: Mapping[str, Any]) -> None:
        record.status, record.delivered = 200, line["delivered"]
        self._ledger.bill(
            record, (line["inputTokens"], line["outputTokens"]), line["dollars"], at=line["at"]
        )
