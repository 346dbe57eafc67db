"""One transaction for many intents: as groups, or each for itself when a group can't be applied."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apsw

from stagepost.stores.sqlite.intents import Intent
from stagepost.stores.sqlite.refusals import concerns_all, refusal

Results = list[tuple[Intent, Any]]
"""Each intent's own answer; one that is an exception is raised where the caller awaits."""


class Transaction:
    """What the appliers of one batch share."""

    def __init__(
        self, connection: apsw.Connection, now: int, running: dict[str, tuple[str, str]]
    ) -> None:
        self.connection = connection
        self.now = now
        self.running = running
        """(type, lane) of claimed tasks: what their ends are counted by, without a look-up."""
        self.events: list[str] = []
        """Tasks with new events."""
        self.cancels: list[str] = []
        self.counts: Counter[tuple[str, str, str]] = Counter()
        """Facts by (type, lane, kind); see Committed."""
        self.deltas: dict[str, tuple[int, int]] = {}
        """How many children of a batch have settled, and failed, that it does not know of yet."""
        self.pooled = False
        """Set when something was put into the pool."""
        self.keys: set[tuple[str, str]] = set()
        """(tenant, key) of concurrency keys for which somebody may be next."""
        self.held_back = False
        """Set when a claim found something that a rule holds back."""

    def execute(self, statement: str, bindings: Sequence[Any] = ()) -> None:
        """Run a statement whose rows nobody wants."""
        self.connection.execute(statement, bindings)

    def rows(self, statement: str, bindings: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and take all its rows."""
        return self.connection.execute(statement, bindings).fetchall()

    def value(self, statement: str, bindings: Sequence[Any] = ()) -> Any:
        """Run a statement and take the one value that it gives."""
        return self.connection.execute(statement, bindings).get

    def column(self, statement: str, bindings: Sequence[Any] = ()) -> list[Any]:
        """Run a statement and take the first value of each of its rows."""
        return [row[0] for row in self.rows(statement, bindings)]

    def changes(self) -> int:
        """How many rows the last statement inserted or changed."""
        return self.connection.changes()

    def ended(self, task_id: str) -> tuple[str, str]:
        """(type, lane) of a task whose claim ends."""
        place = self.running.pop(task_id, None)
        if place is None:
            # Forgotten when a transaction that ended it was undone.
            row = self.row("SELECT type, lane FROM tasks WHERE id = ?", (task_id,))
            place = ("", "") if row is None else (row[0], row[1])
        return place

    def count(self, kind: str, places: Iterable[tuple[str, str]]) -> None:
        """Count a fact of this kind for each (type, lane)."""
        for (task_type, lane), number in Counter(places).items():
            self.counts[task_type, lane, kind] += number

    def child_changed(self, batch_id: str, left: int, failed: int) -> None:
        """Children of a batch have changed; see `Delta`."""
        before = self.deltas.get(batch_id, (0, 0))
        self.deltas[batch_id] = (before[0] + left, before[1] + failed)

    def row(self, statement: str, bindings: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Run a statement and take its first row."""
        return self.connection.execute(statement, bindings).fetchone()


def apply_grouped(transaction: Transaction, intents: Sequence[Intent]) -> Results:
    """All intents of one kind at once, kind by kind; any error undoes the whole."""
    groups: dict[Callable[..., Any], list[Intent]] = {}
    for intent in intents:
        groups.setdefault(intent.apply, []).append(intent)
    results: Results = []
    for apply, group in sorted(groups.items(), key=lambda item: item[1][0].kind):
        outcomes = apply(transaction, [intent.argument for intent in group])
        results.extend(zip(group, outcomes, strict=True))
    return results


def apply_singly(transaction: Transaction, intents: Sequence[Intent]) -> Results:
    """Each intent behind a savepoint of its own, so that a bad one harms no neighbour."""
    in_order = sorted(intents, key=lambda intent: intent.kind)
    return [(intent, _alone(transaction, intent)) for intent in in_order]


def _alone(transaction: Transaction, intent: Intent) -> Any:
    events, cancels = len(transaction.events), len(transaction.cancels)
    counts, deltas = transaction.counts.copy(), transaction.deltas.copy()
    transaction.execute("SAVEPOINT intent")
    try:
        ((_, answer),) = apply_grouped(transaction, [intent])
    except Exception as error:
        if concerns_all(error):
            raise
        transaction.execute("ROLLBACK TO intent")
        del transaction.events[events:], transaction.cancels[cancels:]
        transaction.counts, transaction.deltas = counts, deltas
        answer = refusal(error)
    transaction.execute("RELEASE intent")
    return answer
