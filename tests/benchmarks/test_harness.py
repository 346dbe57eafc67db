"""The harness that compares: what it runs, what it reads, how it sums up."""

from pathlib import Path

import pytest

from bench import machine
from bench.pairs import in_turn, interleaved, middle
from bench.program import FOLDER, Figures, Measured, latencies, print_figures
from bench.programs import DISPATCH_PEERS, LIMIT, PEERS, Program
from bench.rounds_table import rounds_table
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


def test_rounds_take_every_program_in_turn_and_compare_round_by_round() -> None:
    order: list[str] = []
    values = {"a": iter([2.0, 30.0, 4.0]), "b": iter([1.0, 10.0, 8.0])}

    def program(name: str) -> Figures:
        order.append(name)
        return Figures(name, {"p50 ms": next(values[name])}, f"note {len(order)}")

    rounds = in_turn({"a": lambda: program("a"), "b": lambda: program("b")}, rounds=3)
    assert order == ["a", "b", "a", "b", "a", "b"]
    assert rounds.spread("a", "p50 ms") == {"median": 4, "min": 2, "max": 30}
    assert rounds.ratio("b", "a", "p50 ms") == pytest.approx(0.5)
    table = rounds_table("title", rounds, {"p50 ms": 1}, compared="p50 ms")
    assert table.columns == ("program", "p50 ms", "p50 ms, ratio", "how")
    assert table.rows == [
        ["a", "4.0 (2.0..30.0)", "1", "note 5"],
        ["b", "8.0 (1.0..10.0)", "0.5", "note 6"],
    ]


def test_the_middle_run_is_one_that_was_run() -> None:
    runs = [_measured(rate) for rate in (4, 1, 3, 2)]
    assert middle(runs) is runs[3]


def test_a_share_of_latencies_is_one_that_occurred() -> None:
    figures = latencies([float(number) for number in range(200, 0, -1)])
    assert figures == {"p50 ms": 100, "p99 ms": 198, "max ms": 200}
    assert latencies([7.0]) == {"p50 ms": 7, "p99 ms": 7, "max ms": 7}


def test_figures_are_read_as_they_were_printed(capsys: pytest.CaptureFixture[str]) -> None:
    figures = Figures("some", {"p50 ms": 1.5, "CPU %": 2.0}, "a note")
    print_figures(figures)
    assert Figures.from_line(capsys.readouterr().out) == figures
    with pytest.raises(ValueError, match="no figures"):
        Figures.from_line('{"name": "some", "values": null}')


def test_a_program_is_run_to_its_end_and_its_line_is_read(tmp_path: Path) -> None:
    environment = {FOLDER: str(tmp_path)}
    measured = run(LIMIT, Measured.from_line, size=2_500, environment=environment)
    assert (measured.name, measured.tasks, measured.durable) == ("limit", 2_500, True)
    assert measured.rate == pytest.approx(2_500 / measured.seconds)
    assert not list(tmp_path.iterdir())


def test_a_program_that_measures_nothing_is_named() -> None:
    broken = Program("broken", "bench.no_such_module", 10, 10)
    with pytest.raises(ProgramFailedError, match=r"broken measured nothing.*no_such_module"):
        run(broken, Measured.from_line, size=1, environment={})


def test_a_line_of_a_program_that_failed_is_not_taken(tmp_path: Path) -> None:
    broken = Program("json.tool", "json.tool", 10, 10, words=(str(tmp_path / "absent"),))
    with pytest.raises(ProgramFailedError, match=r"measured nothing \(code [12]\)"):
        run(broken, str, size=1, environment={})


def test_every_peer_of_the_tables_has_its_file() -> None:
    for peer in (*PEERS, *DISPATCH_PEERS):
        assert (ROOT / f"{peer.module.replace('.', '/')}.py").exists()


def test_the_machine_is_told_with_every_figure(tmp_path: Path) -> None:
    facts = machine.facts(tmp_path)
    assert facts["fdatasyncMs"]
    assert facts["cores"]
    assert not list(tmp_path.iterdir())
