"""The outline: which numbered clause lies within which.

A stack of open clauses is walked with the members of all runs in the order of the text. Which style
is the outer one is told by the document itself, wherever it shows a list of one style between two
neighbours of another; otherwise by what is usual.
"""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

from stagepost.tasks.documents.clauses.markers import Marker
from stagepost.tasks.documents.clauses.runs import Run

MOST_LEVELS = 12

# From the outside in, as is usual in contracts; styles in one row are equally far in.
_USUAL = (
    ("编", "part"),
    ("分编",),
    ("章", "chapter", "article"),
    ("节", "section"),
    ("条",),
    ("han、",),
    ("upper-roman",),
    ("han()",),
    ("decimal", "bare"),
    ("dotted2",),
    ("dotted3",),
    ("dotted4",),
    ("dotted5",),
    ("dotted6",),
    ("upper",),
    ("decimal)", "decimal()"),
    ("circled",),
    ("lower", "lower)", "lower()"),
    ("lower-roman", "lower-roman)", "lower-roman()"),
    ("upper)", "upper()"),
    ("upper-roman)", "upper-roman()"),
)
_RANK = {style: rank for rank, styles in enumerate(_USUAL) for style in styles}
_HEADS = frozenset({"decimal", "bare", "section", "article", "条", "章"})  # whose 7 holds 7.2
_FIXED = _RANK["条"]  # styles that say what they are, down to here, never lie within others


@dataclass(frozen=True, slots=True)
class Numbered:
    """A clause's number in its place: `path` are the numbers from the outermost down to its own."""

    marker: Marker
    path: tuple[str, ...]


@dataclass(slots=True)
class _Open:
    run: int
    member: int
    marker: Marker


def outline_of(runs: list[Run]) -> list[Numbered]:
    """The runs' members in the order of the text, each with its path."""
    return _Outline(runs).walk()


class _Outline:
    """One walk over the members of all runs."""

    def __init__(self, runs: list[Run]) -> None:
        self._runs = _without_rivals(runs)
        self._within = _nestings(self._runs)
        self._main = _longest(self._runs)
        self._stack: list[_Open] = []

    def walk(self) -> list[Numbered]:
        places = sorted(
            (marker.start, index, member)
            for index, run in enumerate(self._runs)
            for member, marker in enumerate(run.members)
        )
        return [self._place(index, member) for _, index, member in places]

    def _place(self, index: int, member: int) -> Numbered:
        marker = self._runs[index].members[member]
        own = next((at for at, entry in enumerate(self._stack) if entry.run == index), None)
        if own is not None:
            del self._stack[own:]
        else:
            while self._stack and self._ends(self._stack[-1], index, marker):
                self._stack.pop()
        del self._stack[MOST_LEVELS - 1 :]
        self._stack.append(_Open(index, member, marker))
        return Numbered(marker, tuple(entry.marker.number for entry in self._stack))

    def _ends(self, entry: _Open, index: int, marker: Marker) -> bool:
        """Whether the clause on top of the stack is over when `marker` of run `index` comes."""
        if _is_dotted(marker.style) and marker.style != entry.marker.style:
            kin = _kinship(entry.marker, marker)
            if kin is not None:
                return not kin
        if _RANK[marker.style] <= _FIXED or _RANK[entry.marker.style] <= _FIXED:
            return _RANK[marker.style] <= _RANK[entry.marker.style]
        following = self._runs[entry.run].members[entry.member + 1 : entry.member + 2]
        if index == self._main and not following:
            return True  # recitals (A) to (D) are over when the clauses 1 to 19 begin
        if following and self._runs[index].members[-1].start < following[0].start:
            return False
        if entry.run == self._main and not _is_dotted(entry.marker.style):
            return False
        return not self._is_outer(entry.marker.style, marker.style)

    def _is_outer(self, one: str, other: str) -> bool:
        """Whether clauses of style `one` hold those of style `other`."""
        holds, held = self._within[one, other], self._within[other, one]
        return holds > held if holds != held else _RANK[one] < _RANK[other]


def _longest(runs: list[Run]) -> int:
    """The run that spans the most text; -1 without any."""
    spans = [run.members[-1].start - run.members[0].start for run in runs]
    return max(range(len(runs)), key=spans.__getitem__, default=-1)


def _is_dotted(style: str) -> bool:
    return style.startswith("dotted")


def _kinship(outer: Marker, marker: Marker) -> bool | None:
    """Whether 7.2 lies within an open 7, 7.1 or Article VII; None where numbers do not tell."""
    if not _is_dotted(outer.style) and outer.style not in _HEADS:
        return None
    depth = len(outer.values)
    if depth >= len(marker.values):
        return False
    if outer.values == marker.values[:depth]:
        return True
    missed = marker.values[:1] == (outer.values[0] + 1,)  # 4.1 in 3: the heading 4 is missing
    return False if depth > 1 or missed else None


def _without_rivals(runs: list[Run]) -> list[Run]:
    """Gives each number with two readings, (i) as a letter and as a Roman one, to one run.

    The Roman run has it, because its (ii) needs an (i) before it, unless the letters go on first:
    (h), (i), (j).
    """
    letters = {
        member.start: (run, at)
        for run in runs
        if _has_letters(run)
        for at, member in enumerate(run.members)
    }
    taken: set[int] = set()
    lost: set[int] = set()
    for run in runs:
        rival, at = letters.get(run.members[0].start, (None, 0))
        if "roman" not in run.style or rival is None:
            continue
        following = rival.members[at + 1 : at + 2]
        goes_on = at > 0 and following and following[0].start < run.members[-1].start
        (lost if goes_on else taken).update(member.start for member in run.members)
    return [
        Run(run.style, members)
        for run in runs
        if (members := _left(run, taken if _has_letters(run) else lost - taken))
    ]


def _has_letters(run: Run) -> bool:
    return run.style.startswith(("upper", "lower")) and "roman" not in run.style


def _left(run: Run, gone: set[int]) -> tuple[Marker, ...]:
    """The members of a run that it keeps, if they are still a run."""
    if not run.style.startswith(("upper", "lower")):
        return run.members
    members = tuple(member for member in run.members if member.start not in gone)
    return members if len(members) == len(run.members) or len(members) > 1 else ()


def _nestings(runs: list[Run]) -> defaultdict[tuple[str, str], int]:
    """How often runs of one style begin between two neighbours of a run of another."""
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    starts: defaultdict[str, list[int]] = defaultdict(list)
    for run in runs:
        starts[run.style].append(run.members[0].start)
    for run in runs:
        for style, places in starts.items():
            if style != run.style:
                first = bisect_left(places, run.members[0].start)
                last = bisect_left(places, run.members[-1].start)
                counts[run.style, style] += last - first
    return counts
