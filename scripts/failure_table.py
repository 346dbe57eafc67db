"""Print the tables of docs/model-failures.md from those of the code, or write them into the page.

python scripts/failure_table.py           prints them
python scripts/failure_table.py --write   puts them in their places in the page
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from stagepost.failure import REACTIONS as ATTEMPTS
from stagepost.failure import FailureKind, Then
from stagepost.llm.breaker import IN_A_ROW
from stagepost.llm.reactions import MOST_SENT, REACTIONS, Breaks, Reaction
from stagepost.llm.refusal import RULES, Rule
from stagepost.llm.structured import MOST_REPAIRS

PAGE: Final = Path(__file__).parents[1] / "docs" / "model-failures.md"

_BREAKS: Final = {
    Breaks.NEVER: "",
    Breaks.IN_A_ROW: f"after {IN_A_ROW} in a row",
    Breaks.AT_ONCE: "at once",
}
_ASKED: Final = {
    FailureKind.RATE_LIMIT: ", or as long as was asked for",
    FailureKind.QUOTA: "until the date that the provider names, if it does",
}
_BEGIN: Final = "<!-- {}: printed by scripts/failure_table.py -->\n"
_END: Final = "<!-- end of {} -->"


def reactions() -> Iterator[str]:
    """What follows by kind, and what follows where the attempt has failed, too."""
    yield "| kind | seen as | waits | tries | then | opens the breaker | a redrive helps |"
    yield "|---|---|---|---|---|---|---|"
    for kind, row in REACTIONS.items():
        waits = "" if row.patience is None else f"{row.patience.first:g} to {row.patience.most:g} s"
        if kind in _ASKED:
            waits += _ASKED[kind]
        tries = 1 if row.patience is None else row.patience.tries
        yield _line(
            kind, row.seen, waits, tries, _then(kind, row), _BREAKS[row.breaks], _help(kind)
        )
    budget, bad = FailureKind.BUDGET, FailureKind.BAD_OUTPUT
    yield _line(
        budget,
        "a budget of ours is used up",
        "until it turns",
        "",
        _after(budget),
        "",
        _help(budget),
    )
    seen = "an answer that does not fit `response_model`; each repair names the faults"
    yield _line(bad, seen, "", 1 + MOST_REPAIRS, _after(bad), "", _help(bad))


def _then(kind: FailureKind, row: Reaction) -> str:
    if row.larger:
        return f"once a model of the chain with a larger `context`, then {_after(kind)}"
    if row.elsewhere:
        return f"the next model, else {_after(kind)} until the breaker lets a probe through"
    if row.patience is None or row.patience.another_after >= MOST_SENT:
        return _after(kind)
    after = row.patience.another_after
    return f"the next model after {after}; when all are spent {_after(kind)}"


def _after(kind: FailureKind) -> str:
    match ATTEMPTS[kind].then:
        case Then.PARK:
            return "a wait without a worker"
        case Then.RETRY:
            return "the attempt fails"
        case Then.DEAD_LETTER:
            return "dead letter"


def _help(kind: FailureKind) -> str:
    return ATTEMPTS[kind].redrive.value


def rules() -> Iterator[str]:
    """By what an answer is known, in the order in which it is looked for."""
    yield "| kind | status | code | words (regular expression) | only at |"
    yield "|---|---|---|---|---|"
    for rule in RULES:
        yield _line(
            rule.kind,
            _ranges(rule.statuses),
            _names(rule.codes),
            _words(rule),
            _names(rule.dialects),
        )


def _ranges(statuses: Iterable[int]) -> str:
    found: list[list[int]] = []
    for status in sorted(statuses):
        if found and status == found[-1][1] + 1:
            found[-1][1] = status
        else:
            found.append([status, status])
    return ", ".join(f"{a}" if a == b else f"{a} to {b}" for a, b in found)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _words(rule: Rule) -> str:
    # In two backticks, since a pattern may have one.
    pattern = "" if rule.says is None else rule.says.pattern.replace("|", r"\|")
    words = [f"`` {pattern} ``"] if pattern else []
    words += [f"a `quotaId` with `{rule.quota}`"] if rule.quota else []
    words += ["asks for no wait"] if rule.quiet else []
    return ", ".join(words)


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


TABLES: Final[Mapping[str, Callable[[], Iterator[str]]]] = {"reactions": reactions, "rules": rules}


def written(page: str) -> str:
    """The page with its tables as they are in the code. Raises ValueError without their places."""
    for name, lines in TABLES.items():
        place = re.compile(
            re.escape(_BEGIN.format(name)) + "(?s:.*?)" + re.escape(_END.format(name))
        )
        table = "".join(f"{line}\n" for line in lines())
        whole = f"{_BEGIN.format(name)}{table}{_END.format(name)}"
        page, count = place.subn(whole.replace("\\", "\\\\"), page)
        if count != 1:
            raise ValueError(f"The page has {count} places for the table {name}; it needs one.")
    return page


def main() -> None:
    """Print the tables, or write them."""
    if "--write" in sys.argv[1:]:
        PAGE.write_text(written(PAGE.read_text()))
        return
    for lines in TABLES.values():
        print("\n".join(lines()), end="\n\n")


if __name__ == "__main__":
    main()
