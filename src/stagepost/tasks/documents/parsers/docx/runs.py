"""The text inside a paragraph: what a reader sees of its runs."""

from collections.abc import Iterator

from lxml import etree

from stagepost.tasks.documents.parsers.docx.tags import attribute, is_on, local, only_child

_MOST_DEPTH = 100  # of elements within a paragraph; libxml2 itself stops at 256
_DROPPED = {
    "del",
    "moveFrom",
    "pPr",
    "rPr",
    "instrText",
    "delText",
    "delInstrText",
    "rt",
    "Fallback",
}
_BOXES = {"txbxContent"}
# Check boxes of the symbol fonts that forms are made with (Wingdings and its kin).
_SYMBOLS = {
    0xA8: "☐", 0x6F: "☐", 0x71: "☐", 0xFD: "☒", 0x78: "☒", 0x53: "☒", 0xFE: "☑", 0x52: "☑",
    0xFC: "✓", 0x50: "✓", 0xFB: "✗", 0xB7: "•", 0xA7: "▪", 0xD8: "➢",
}  # fmt: skip


class Runs:
    """Reads paragraph after paragraph; remembers notes and what it left out."""

    def __init__(self) -> None:
        self.tracked = False
        self.hidden = False
        self._marks: list[tuple[str, str, str | None]] = []

    def marks(self, kind: str) -> list[tuple[str, str | None]]:
        """The note marks seen so far of a kind (`footnote` or `endnote`), with the notes' ids."""
        return [(mark, ident) for of, mark, ident in self._marks if of == kind]

    def read(self, paragraph: etree._Element) -> tuple[str, list[etree._Element]]:
        """The paragraph's own text, and the text boxes anchored in it, each of them once."""
        boxes: list[etree._Element] = []
        return "".join(self._pieces(paragraph, boxes, 0)), boxes

    def _pieces(
        self, parent: etree._Element, boxes: list[etree._Element], depth: int
    ) -> Iterator[str]:
        if depth > _MOST_DEPTH:
            return
        for element in parent:
            name = local(element)
            if name in _DROPPED:
                self.tracked |= name in {"del", "moveFrom"}
            elif name in _BOXES:
                boxes.append(element)
            elif name == "r" and is_on(only_child(element, "rPr", "vanish")):
                self.hidden = True
            elif name in {"footnoteReference", "endnoteReference"}:
                yield self._mark(name.removesuffix("Reference"), element)
            else:
                self.tracked |= name in {"ins", "moveTo"}
                piece = _piece(name, element)
                yield from self._pieces(element, boxes, depth + 1) if piece is None else (piece,)

    def _mark(self, kind: str, element: etree._Element) -> str:
        mark = f"[{len(self._marks) + 1}]"
        self._marks.append((kind, mark, attribute(element, "id")))
        return mark


def _piece(name: str, element: etree._Element) -> str | None:
    """The text of a leaf; None for an element whose children hold the text."""
    match name:
        case "t":
            return (element.text or "").replace("\n", " ")
        case "tab" | "ptab":
            return "\t"
        case "br" | "cr":
            return "\n"
        case "noBreakHyphen":
            return "-"
        case "softHyphen":
            return ""
        case "sym":
            return _symbol(attribute(element, "char"))
        case _:
            return None


def _symbol(code: str | None) -> str:
    """A symbol font's character: check boxes and ticks by their meaning, else a plain square."""
    try:
        value = int(code or "", 16)
    except ValueError:
        return ""
    if 0xF000 <= value <= 0xF0FF or value < 0x100:
        return _SYMBOLS.get(value & 0xFF, "□")
    return chr(value) if value < 0xD800 else "□"
