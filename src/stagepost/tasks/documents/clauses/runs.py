"""Runs: candidates of one style whose numbers rise. What is in no run is no clause's number.

A line that happens to begin with "12." or "(c)" is exposed by its neighbours: nothing before it
counts up to it. Each style is looked at on its own; how styles nest is `outline.py`'s concern.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from stagepost.tasks.documents.clauses.markers import Marker

MOST_OPEN = 8  # runs of one style inside one another that are followed at once
_MOST_SKIPPED = 2  # numbers that may be missing in a row: struck out, or not recognised
_FEWEST_INLINE = 3  # members of a run that is never at the start of a line
_MOST_HEADINGS_WITHOUT = 20  # between two headings that have clauses three or more levels deep
_FIRST = frozenset({0, 1})

# Styles that say what they are: one alone counts.
STRONG = frozenset({"编", "分编", "章", "节", "条", "article", "section", "part", "chapter"})


@dataclass(frozen=True, slots=True)
class Run:
    """Members in the order of the text; their numbers rise."""

    style: str
    members: tuple[Marker, ...]


def runs_of(markers: Iterable[Marker]) -> list[Run]:
    """Every run among the candidates, by the place of its first member."""
    by_style: defaultdict[str, list[Marker]] = defaultdict(list)
    for marker in markers:
        by_style[marker.style].append(marker)
    runs = [
        Run(style, tuple(members))
        for style, found in by_style.items()
        for members in (_dotted(found) if style.startswith("dotted") else _counted(found))
        if _counts(style, members)
    ]
    return sorted(runs, key=lambda run: run.members[0].start)


def _counts(style: str, members: list[Marker]) -> bool:
    """Whether a run is long enough to be meant as numbering."""
    at_starts = sum(not member.inline for member in members)
    if not at_starts:
        return len(members) >= _FEWEST_INLINE
    return (
        len(members) > 1 or style.startswith("dotted") or (style in STRONG and _starts(members[0]))
    )


def _counted(found: list[Marker]) -> list[list[Marker]]:
    """Runs of single numbers. A nested list of the same style interrupts a run, then it goes on."""
    runs: list[list[Marker]] = []
    open_runs: list[list[Marker]] = []
    for marker in found:
        home = _home(open_runs, marker)
        if home is not None:
            del open_runs[home + 1 :]
            open_runs[home].append(marker)
        elif _starts(marker) or (marker.style in STRONG and marker.fresh and not open_runs):
            run = [marker]
            runs.append(run)
            open_runs.append(run)
            if len(open_runs) > MOST_OPEN:
                del open_runs[1]
    return runs


def _home(open_runs: list[list[Marker]], marker: Marker) -> int | None:
    """The innermost open run that the candidate continues: exactly, or with a small gap."""
    value = marker.values[0]
    for skipped in range(_MOST_SKIPPED + 1):
        for at in range(len(open_runs) - 1, -1, -1):
            run = open_runs[at]
            if run[-1].values[0] + 1 + skipped == value and skipped <= _patience(marker, len(run)):
                return at
    return None


def _patience(marker: Marker, members: int) -> int:
    """How many numbers may be missing before a candidate that continues a run of `members`."""
    if not marker.fresh or "roman" in marker.style or marker.style == "bare":
        return 0
    if marker.inline:
        return int(members > 1)
    return _MOST_SKIPPED


def _starts(marker: Marker) -> bool:
    return marker.values[0] == 1 and marker.fresh


def _dotted(found: list[Marker]) -> list[list[Marker]]:
    """Runs of dotted numbers: each greater than the one before, without a leap in its first part.

    A number that begins anew (1.1 after 9.4) opens another run: a second document in the file.
    """
    runs: list[list[Marker]] = []
    for marker in found:
        last = runs[-1][-1].values if runs else None
        if last is not None and _follows(last, marker, len(runs[-1])):
            runs[-1].append(marker)
        elif (marker.fresh and _begins(marker.values) and not (marker.inline and runs)) or (
            last is None and marker.fresh and marker.values[-1] in _FIRST
        ):
            runs.append([marker])
    return runs


def _begins(values: tuple[int, ...]) -> bool:
    return values[0] in _FIRST and all(value in _FIRST for value in values[1:])


def _follows(last: tuple[int, ...], marker: Marker, members: int) -> bool:
    values = marker.values
    if values <= last:
        return False
    at = next(
        place for place, pair in enumerate(zip(last, values, strict=True)) if pair[0] != pair[1]
    )
    most = 0 if marker.inline else _patience(marker, members)
    step = values[at] - last[at] - 1
    if at == len(values) - 1:
        return step <= most
    near = step <= most + 1 if len(values) == 2 else values[0] - last[0] <= _MOST_HEADINGS_WITHOUT
    return near and values[-1] <= 1 + most
