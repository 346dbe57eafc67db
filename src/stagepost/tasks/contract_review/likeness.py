"""Whether a text looks like a contract at all; a manual or a letter gets a warning, no refusal.

Four signs count, each of which another kind of text may show: what it calls itself, parties, words
of obligation, and subjects that contracts regulate. Two are enough, but not for a statute.
"""

import re

from stagepost.tasks.contract_review.report import Party
from stagepost.tasks.contract_review.view import view
from stagepost.tasks.contract_review.wording import Wording
from stagepost.tasks.documents.document import Document

SIGNS_LEAST = 2
READ = 200_000  # characters
_TITLE_WITHIN = 2_500
_PARTIES_LEAST = 2
_SUBJECTS_LEAST = 3
_DUTIES_LEAST = 2.0  # words of obligation in a thousand characters

NOT_A_CONTRACT = Wording(
    "This does not look like a contract: the level and the lists below say little. Check that you"
    " sent the right file.",
    "该文件看起来不是合同，以下评级和清单参考意义有限，请确认上传的文件是否正确。",
)

_TITLE = re.compile(
    r"\b(?:this|the) (?:[\w-]{2,20} ){0,4}(?:agreement|contract|lease|deed|amendment|guaranty)\b"
    r"|^[^a-z\n]{0,60}(?:AGREEMENT|CONTRACT|LEASE|DEED)\b"
    r"|^[^\n.]{0,80}\b(?:Agreement|Contract)[ \t]{0,20}$|\bthis is an? [\w ]{0,40}agreement\b"
    r"|(?:合同|协议书?|承诺书|订立|签订)(?:编号|$|[^\w]|，|。|条款)",
    re.MULTILINE,
)
_DUTY = re.compile(
    r"\b(?:shall|hereby|hereto|herein|hereof|agrees? (?:to|that)|undertakes?|party|parties)\b"
    r"|[甲乙丙]方|双方|应当|不得|有权|违约"
)
_STATUTE = re.compile(r"本法|本条例|本办法")
_STATUTE_LEAST = 5  # times that a statute speaks of itself
_SUBJECTS = (
    r"governing law|governed by|law of (?:the )?(?:state|england)|适用法律|管辖|仲裁|人民法院",
    r"terminat(?:e|ion) (?:of )?(?:this|the) (?:agreement|contract)|解除(?:本)?(?:合同|协议)|终止",
    r"indemnif|hold harmless|liabilit(?:y|ies)|赔偿|违约责任|违约金",
    r"confidential|non-?disclosure|保密",
    r"in witness whereof|counterparts|signed (?:by|for)|by:|盖章|签章|一式",
    r"whereas|now,? therefore|entire agreement|鉴于",
    r"effective date|initial term|生效|有效期|期限",
    r"payable|invoice|compensation|price|rent\b|fees?\b|royalt|价款|租金|费用|工资|支付",
)


def looks_like_contract(document: Document, parties: tuple[Party, ...]) -> bool:
    """Whether at least two of the four signs of a contract show."""
    shown = view(document.text)
    lower = shown.lower[:READ]
    if len(_STATUTE.findall(lower)) >= _STATUTE_LEAST:
        return False
    subjects = sum(re.search(subject, lower) is not None for subject in _SUBJECTS)
    duties = len(_DUTY.findall(lower)) * 1_000 / max(1, len(lower))
    signs = (
        _TITLE.search(document.text[:_TITLE_WITHIN]) is not None
        or _TITLE.search(shown.lower[:_TITLE_WITHIN]) is not None,
        len(parties) >= _PARTIES_LEAST,
        duties >= _DUTIES_LEAST,
        subjects >= _SUBJECTS_LEAST,
    )
    return sum(signs) >= SIGNS_LEAST
