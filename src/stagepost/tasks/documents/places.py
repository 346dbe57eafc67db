"""Clause numbers as keys: "Section 7.2(a)" and the clause (a) under 7.2 get the same one."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from stagepost.tasks.documents.clauses import numerals
from stagepost.tasks.documents.document import Clause

_HAN = re.compile(r"第\s?([一二三四五六七八九十百千零〇两\d]{1,8})\s?(编|分编|章|节|条)")
_WORDED = re.compile(r"([A-Za-z.]+|§)\s*([A-Za-z]+|\d+(?:\.\d+)*)")
_ITEM = re.compile(r"[（(]?([A-Za-z]{1,6}|\d{1,3}|[一二三四五六七八九十]{1,4})[)）]")
_KINDS = {  # what a word makes of the number behind it; a section or clause is just its number
    "article": "article ", "chapter": "chapter ", "part": "part ",
    "section": "", "sec.": "", "§": "", "clause": "",
}  # fmt: skip


class Places:
    """Where each number of a document stands. Built once, asked many times."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        self._clauses = clauses
        self._by_key: defaultdict[str, list[int]] = defaultdict(list)
        for index, clause in enumerate(clauses):
            for key in _keys(clause):
                self._by_key[key].append(index)

    def find(self, keys: Sequence[str], near: int) -> int | None:
        """The clause with the first of `keys` that any has; the one nearest to clause `near`.

        Nearest is one in the same annex or under the same outermost number, else the first one.
        """
        for key in keys:
            found = self._by_key.get(key)
            if found:
                root = self._clauses[near].path[:1]
                at_home = (index for index in found[:100] if self._clauses[index].path[:1] == root)
                return next(at_home, found[0])
        return None

    def find_item(self, items: str, near: int) -> int | None:
        """The item, "(b)" or "(b)(ii)", in the clause `near` or in what holds it."""
        path = [part_key(part) for part in self._clauses[near].path]
        for depth in range(len(path), -1, -1):
            found = self._by_key.get("/".join([*path[:depth], ""]) + items)
            if found:
                return found[0]
        return None


def part_key(number: str) -> str:
    """One number of a path as a key: "IV" of an article as `article 4`, "（一）" as `(1)`."""
    han = _HAN.match(number)
    if han:
        return f"{han[2]} {numerals.chinese(han[1])}"
    item = _ITEM.fullmatch(number)
    if item:
        return item_key(item[1])
    if number.replace(".", "").isdecimal():
        return ".".join(str(int(part)) for part in number.split(".") if part)
    word = _WORDED.fullmatch(number)
    kind = _KINDS.get(word[1].lower()) if word else None
    if word and kind is not None:
        if "." in word[2]:
            return part_key(word[2])
        return f"{kind}{numerals.any_numeral(word[2])}"
    if word is None and (value := numerals.chinese(number)):
        return f"条 {value}"
    return " ".join(number.split()).lower()


def item_key(text: str) -> str:
    """An item's number in brackets: letters stay, Chinese numerals become digits."""
    return f"({numerals.chinese(text) or text.lower()})"


def _keys(clause: Clause) -> Iterator[str]:
    """The keys of a clause: by its path, and by its number from the last whole number on."""
    if not clause.number:
        return
    parts = [part_key(part) for part in clause.path]
    items = 0
    while items < len(parts) and parts[-1 - items].startswith("("):
        items += 1
    holder, tail = parts[: len(parts) - items], "".join(parts[len(parts) - items :])
    if items:
        yield "/".join([*holder, ""]) + tail
    if holder:
        yield holder[-1] + tail
        plain = holder[-1].rpartition(" ")[2]
        if plain.isdecimal():
            yield f"any {plain}{tail}"
    elif not items:
        yield parts[-1]
