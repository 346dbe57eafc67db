"""Sentences that a simulated model says. Pure."""

from random import Random
from typing import Final

_SENTENCES: Final = (
    "The clause is clear and leaves little to interpretation.",
    "Notice must be given in writing at least thirty days before the end of the term.",
    "Liability is limited to the fees that were paid in the twelve months before the claim.",
    "Neither party may assign its rights without the consent of the other.",
    "The payment period is longer than is usual in contracts of this kind.",
    "No cap is named, so the exposure is not limited.",
    "Both parties keep confidential what they learn of each other.",
    "The supplier answers for its subcontractors as for itself.",
    "It would be safer to name the event and the date separately.",
    "Data is to be returned or erased when the contract ends.",
    "The renewal is automatic unless one of the parties objects in time.",
    "A dispute goes to mediation first and to the courts after that.",
    "The wording follows the usual practice of the trade.",
    "Two of the definitions overlap and should be joined.",
    "The warranty covers defects that appear within a year.",
    "What happens after the end of the term is not said.",
)
_PHRASES: Final = (
    "usual wording", "term of notice", "limited liability", "written consent", "automatic renewal",
    "payment within thirty days", "place of jurisdiction", "duty of confidentiality",
    "no cap is named", "both parties agree", "subject to review", "as set out in the annex",
)  # fmt: skip
_LONGEST_EXCERPT: Final = 160


def sentences(draw: Random, tokens: int) -> str:
    """Some sentences of about so many tokens; at least one."""
    wanted, size = [draw.choice(_SENTENCES)], 0
    size = len(wanted[0])
    while size < tokens * 4:
        wanted.append(draw.choice(_SENTENCES))
        size += len(wanted[-1]) + 1
    return " ".join(wanted)


def phrase(draw: Random) -> str:
    """A few words."""
    return draw.choice(_PHRASES)


def excerpt(draw: Random, text: str) -> str:
    """A piece of a text as it stands there, whole words where there are any."""
    start = draw.randrange(max(1, len(text) - _LONGEST_EXCERPT))
    piece = text[start : start + _LONGEST_EXCERPT]
    if start:
        piece = piece.partition(" ")[2] or piece
    if start + _LONGEST_EXCERPT < len(text):
        piece = piece.rpartition(" ")[0] or piece
    return piece.strip() or text.strip()[:_LONGEST_EXCERPT]
