"""The harness that compares: what it runs, what it reads, how it sums up."""

from pathlib import Path

import pytest

from bench import machine
from bench.pairs import interleaved, middle
from bench.program import FOLDER, Measured
from bench.programs import LIMIT, PEERS, Program
from bench.runner import ROOT, ProgramFailedError, run


def _measured(rate: float) -> Measured:
    return Measured("some", tasks=100, seconds=100 / rate, durable=True)


def test_pairs_are_interleaved_and_the_ratio_is_the_median_of_pairs() -> None:
    order: list[str] = []
    rates = {"a": iter([10.0, 20.0, 90.0]), "b": iter([10.0, 5.0, 3.0])}

    def program(name: str) -> Measured:
        order.append(name)
        return _measured(next(rates[name]))

    comparison = interleaved(lambda: program("a"), lambda: program("b"), pairs=3)
    assert order == ["a", "b", "a", "b", "a", "b"]
    assert comparison.ratios == pytest.approx([1, 4, 30])
    assert comparison.as_json()["ratio"] == {"median": 4, "min": 1, "max": 30}
    assert comparison.subject.rate == pytest.approx(20)


def test_the_middle_run_is_one_that_was_run() -> None:
    runs = [_measured(rate) for rate in (4, 1, 3, 2)]
    assert middle(runs) is runs[3]


def test_a_program_is_run_to_its_end_and_its_line_is_read(tmp_path: Path) -> None:
    measured = run(LIMIT, tasks=2_500, environment={FOLDER: str(tmp_path)})
    assert (measured.name, measured.tasks, measured.durable) == ("limit", 2_500, True)
    assert measured.rate == pytest.approx(2_500 / measured.seconds)
    assert not list(tmp_path.iterdir())


def test_a_program_that_measures_nothing_is_named() -> None:
    broken = Program("broken", "bench.no_such_module", 10, "project")
    with pytest.raises(ProgramFailedError, match=r"broken measured nothing.*no_such_module"):
        run(broken, tasks=None, environment={})


def test_every_peer_of_the_table_has_its_file() -> None:
    for peer in PEERS:
        assert (ROOT / f"{peer.module.replace('.', '/')}.py").exists()


def test_the_machine_is_told_with_every_figure(tmp_path: Path) -> None:
    facts = machine.facts(tmp_path)
    assert facts["fdatasyncMs"]
    assert facts["cores"]
    assert not list(tmp_path.iterdir())
