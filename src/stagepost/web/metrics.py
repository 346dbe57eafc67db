"""What /metrics tells. docs/metrics.md is printed from the table of this module.

No label's values grow without bound: types are those that are registered, lanes, limits and models
those that are configured, routes are path templates, methods and statuses come from fixed sets.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import generate_latest

from stagepost.bus import Committed, Token
from stagepost.limiter import LimitState
from stagepost.records import LaneRecord, WorkerRecord
from stagepost.store.schedules import Standing
from stagepost.versions import Stamped
from stagepost.web import call_metrics
from stagepost.web.call_metrics import CallMetrics
from stagepost.web.metric_row import Maker, Row
from stagepost.web.parts import Parts

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


TABLE: Final[Mapping[str, Row]] = {
    "stagepost_tasks_total": Row(
        "counter", ("type", "status"), "How often a task of the type came into the status."
    ),
    "stagepost_queue_tasks": Row("gauge", ("lane",), "Tasks that wait for a worker."),
    "stagepost_queue_oldest_seconds": Row(
        "gauge", ("lane",), "How long the first of them has waited; 0 when none waits."
    ),
    "stagepost_running_tasks": Row("gauge", ("lane",), "Tasks that run."),
    "stagepost_lane_paused": Row("gauge", ("lane",), "1 while an operator has paused the lane."),
    "stagepost_stranded_tasks": Row(
        "gauge", ("type",), "Queued tasks of a version of their code that no live worker runs."
    ),
    "stagepost_workers": Row("gauge", (), "Workers that are alive."),
    "stagepost_worker_slots": Row("gauge", (), "How many tasks they can run at once."),
    "stagepost_http_requests_total": Row(
        "counter", ("route", "method", "status"), "Requests answered."
    ),
    "stagepost_http_request_seconds": Row(
        "histogram", ("route",), "Time to answer; long polls included, streams left out."
    ),
    "stagepost_streams": Row("gauge", (), "Live streams that are open in this process."),
    "stagepost_streams_refused_total": Row("counter", (), "Streams refused over a limit."),
    "stagepost_streams_cut_total": Row("counter", (), "Streams cut because nobody read them."),
    "stagepost_limit_used_units": Row(
        "gauge", ("limit",), "Units of the limit that were used in its window."
    ),
    "stagepost_limit_held_units": Row("gauge", ("limit",), "Units that are held at once."),
    "stagepost_limit_waiting": Row("gauge", ("limit",), "Who has a place in line before it."),
    "stagepost_limiter_up": Row("gauge", (), "1 if the limiter could be asked for this scrape."),
    "stagepost_schedules": Row("gauge", ("state",), "Schedules, active or paused."),
    "stagepost_schedule_runs_waiting": Row(
        "gauge", (), "Runs of schedules that wait for the run before them."
    ),
    "stagepost_schedule_late_seconds": Row(
        "gauge", (), "How long the first schedule has been due; 0 when none is."
    ),
    "stagepost_store_up": Row("gauge", (), "1 if the store could be asked for this scrape."),
    **call_metrics.TABLE,
}

_STATUS_OF: Final = {
    "queued": "QUEUED",
    "redriven": "QUEUED",
    "started": "RUNNING",
    "waiting": "WAITING",
    "retrying": "FAILED",
    "completed": "COMPLETED",
    "failed": "DEAD_LETTER",
    "cancelled": "CANCELLED",
}
_METHODS: Final = frozenset({"GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"})
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_STREAMS: Final = "/progress"


class Metrics:
    """The process's own counts, and gauges that are filled from the store at a scrape.

    It listens on the bus (see bus.Listener) for what this process committed.
    """

    def __init__(self, types: Iterable[str], models: Iterable[str] = ()) -> None:
        self._registry = CollectorRegistry()
        self._types = frozenset(types)
        make = Maker(TABLE, self._registry)
        self.calls = CallMetrics(self._registry, self._types, models)
        """Those of calls to models."""
        self._tasks = make.counter("stagepost_tasks_total")
        self._requests = make.counter("stagepost_http_requests_total")
        self._seconds = make.histogram("stagepost_http_request_seconds", _BUCKETS)
        self._refused = make.counter("stagepost_streams_refused_total")
        self._cut = make.counter("stagepost_streams_cut_total")
        self._streams = make.gauge("stagepost_streams")
        self._store_up = make.gauge("stagepost_store_up")
        self._queued = make.gauge("stagepost_queue_tasks")
        self._oldest = make.gauge("stagepost_queue_oldest_seconds")
        self._running = make.gauge("stagepost_running_tasks")
        self._limits = [
            make.gauge("stagepost_limit_used_units"),
            make.gauge("stagepost_limit_held_units"),
            make.gauge("stagepost_limit_waiting"),
        ]
        self._limiter_up = make.gauge("stagepost_limiter_up")
        self._paused = make.gauge("stagepost_lane_paused")
        self._stranded = make.gauge("stagepost_stranded_tasks")
        self._workers = make.gauge("stagepost_workers")
        self._slots = make.gauge("stagepost_worker_slots")
        self._schedules = make.gauge("stagepost_schedules")
        self._schedule_runs = make.gauge("stagepost_schedule_runs_waiting")
        self._schedule_late = make.gauge("stagepost_schedule_late_seconds")
        # The children of labels, kept because looking them up costs more than counting.
        self._request_children: dict[tuple[str, str, int], Counter] = {}
        self._seconds_children: dict[str, Histogram] = {}

    def committed(self, news: Committed) -> None:
        """Count what this process committed."""
        for (type_name, _, kind), number in news.counts.items():
            status = _STATUS_OF.get(kind)
            if status is not None:
                # A type whose handler has been removed may still have tasks in the store.
                known = type_name if type_name in self._types else "other"
                self._tasks.labels(known, status).inc(number)

    def token(self, task_id: str, token: Token) -> None:
        """A piece of text: nothing to count."""

    def missed(self) -> None:
        """Others' bells: what this process commits is counted all the same."""

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request; status 0: the client went before it was answered."""
        key = (route, method if method in _METHODS else "other", status)
        child = self._request_children.get(key)
        if child is None:
            child = self._requests.labels(*map(str, key))
            self._request_children[key] = child
        child.inc()
        if not route.endswith(_STREAMS):
            self._timed(route, seconds)

    def _timed(self, route: str, seconds: float) -> None:
        child = self._seconds_children.get(route)
        if child is None:
            child = self._seconds.labels(route)
            self._seconds_children[route] = child
        child.observe(seconds)

    def stream_refused(self) -> None:
        """A limit of streams was reached."""
        self._refused.inc()

    def stream_cut(self) -> None:
        """A stream was cut because its reader was too slow."""
        self._cut.inc()

    def streams_from(self, count: Callable[[], int]) -> None:
        """Where the number of open streams comes from."""
        self._streams.set_function(count)

    def store_down(self) -> None:
        """The store did not answer; the gauges keep their last values."""
        self._store_up.set(0)

    def gauges(
        self,
        lanes: Sequence[LaneRecord],
        workers: Sequence[WorkerRecord],
        paused: Collection[str],
        stamped: Sequence[Stamped],
        now: int,
    ) -> None:
        """Fill in what the store knows at this instant."""
        self._store_up.set(1)
        for lane in lanes:
            oldest = now if lane.oldest_pooled_at is None else lane.oldest_pooled_at
            self._queued.labels(lane.name).set(lane.queued)
            self._oldest.labels(lane.name).set(max(0, now - oldest) / 1000)
            self._running.labels(lane.name).set(lane.running)
            self._paused.labels(lane.name).set(lane.name in paused)
        self._workers.set(len(workers))
        self._fill_stranded([each for each in stamped if not each.served_by(workers)])
        self._slots.set(sum(worker.slots for worker in workers))

    def limits(self, states: Sequence[LimitState] | None) -> None:
        """Fill in what the limiter knows; None: it did not answer, and the gauges stay."""
        self._limiter_up.set(states is not None)
        if states is None:
            return
        for gauge in self._limits:
            # Those that were taken away are told no more.
            gauge.clear()
        for state in states:
            facts = (state.used, state.held, state.waiting)
            for gauge, value in zip(self._limits, facts, strict=True):
                gauge.labels(state.name).set(value)

    def schedules(self, standing: Standing) -> None:
        """Fill in how the schedules stand."""
        self._schedules.labels("active").set(standing.active)
        self._schedules.labels("paused").set(standing.paused)
        self._schedule_runs.set(standing.waiting)
        self._schedule_late.set(standing.late / 1000)

    def _fill_stranded(self, stranded: Sequence[Stamped]) -> None:
        counts = dict.fromkeys((*self._types, "other"), 0)
        for each in stranded:
            counts[each.type if each.type in self._types else "other"] += each.count
        for type_name, count in counts.items():
            self._stranded.labels(type_name).set(count)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)


@contextmanager
def listening(metrics: Metrics, parts: Parts) -> Iterator[None]:
    """While this lasts they count what this process commits, and the calls that it sends."""
    with ExitStack() as stops:
        stops.callback(parts.bus.listen(metrics))
        if parts.asking is not None:
            stops.callback(parts.asking.watchers.listen(metrics.calls))
        yield
