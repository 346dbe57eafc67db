"""Text as a PDF stores it, made text as it is printed.

PDF producers store the shapes of letters: ligatures, radicals in place of characters, a Greek
question mark for a semicolon. A reader sees no difference, a search does.
"""

import re
import unicodedata

# Latin ligatures, CJK compatibility forms of ordinary characters.
_SHAPES = (range(0x2F00, 0x2FE0), range(0xF900, 0xFB00), range(0xFB00, 0xFB07))
_SPACES = (0x00A0, *range(0x2000, 0x200B), 0x202F, 0x205F)
_NOTHING = (*range(9), 0x0B, *range(0x0E, 0x20), 0x7F, 0x200B, 0x2060, 0xFEFF)
_HYPHENATED = "\x02"  # how PDFium marks a hyphen at the end of a line whose word goes on
_PLAIN: dict[int, str | None] = {
    **{code: unicodedata.normalize("NFKC", chr(code)) for codes in _SHAPES for code in codes},
    **dict.fromkeys(_SPACES, " "),
    **dict.fromkeys(_NOTHING, None),
    ord(_HYPHENATED): _HYPHENATED,
    0xFFFE: _HYPHENATED,
    0x0C: "\n",
    0x0D: "\n",
    0x00AD: "-",
    0x037E: ";",
}
_WORD = re.compile(r"[^\W\d_]+")
_BROKEN = re.compile(rf"([^\W\d_]*){_HYPHENATED}([^\W\d_]*)")


def plain(text: str) -> str:
    """One page's text with newlines between lines and ordinary characters in place of shapes.

    Hyphens at line ends stay marked for `unhyphenated`.
    """
    return text.replace("\r\n", "\n").translate(_PLAIN)


def unhyphenated(texts: list[str]) -> list[str]:
    """The texts with every hyphen at a line end resolved by what the document writes elsewhere.

    "agree-|ment" becomes one word if "agreement" occurs somewhere; otherwise the hyphen is taken
    for one that belongs there, as in "non-|exclusive".
    """
    if not any(_HYPHENATED in text for text in texts):
        return texts
    known = {word.lower() for text in texts for word in _WORD.findall(text)}

    def resolve(broken: re.Match[str]) -> str:
        left, right = broken.groups()
        whole = f"{left}{right}".lower()
        glue = "" if left and right.islower() and whole in known else "-"
        return f"{left}{glue}{right}"

    return [_BROKEN.sub(resolve, text) for text in texts]
