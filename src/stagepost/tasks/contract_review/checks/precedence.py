"""Two clauses that give the last word to different papers."""

import re
from collections.abc import Iterator

from stagepost.tasks.contract_review.checks.material import Material
from stagepost.tasks.contract_review.report import Check
from stagepost.tasks.contract_review.wording import Wording

_CONFLICT = re.compile(r"conflict|inconsisten|discrepan|contradict|不一致|冲突|抵触|矛盾|不符")
_PAPER = (
    r"(?P<annex>exhibits?|schedules?|annex(?:es)?|appendi(?:x|ces)|attachments?|附件|补充协议)"
    r"|(?P<order>statements? of work|sows?|purchase orders?|order forms?|work orders?|orders?"
    r"|订单|工作说明书)"
    r"|(?P<main>this agreement|the agreement|this contract|main body|terms of this|本合同"
    r"|本协议|合同正文|正文)"
)
_WINS = re.compile(
    rf"(?:the )?(?:terms (?:and conditions )?of |provisions of )?(?:the |such |any "
    rf"|applicable )?(?:{_PAPER})(?: \w{{1,3}})?,? (?:shall |will )?(?:prevail|control|govern"
    rf"|take precedence|have precedence)"
)
_WINS_ZH = re.compile(rf"以(?:{_PAPER})(?:的)?(?:约定|内容|规定|条款)?为准")
_EXCEPT = re.compile(r"unless|except|expressly (?:states|overrid)|specifically|除非|除外|另有约定")


def precedence(material: Material) -> Iterator[Check]:
    """A check on the second clause that contradicts the first (MEDIUM)."""
    first: str | None = None
    for span, words in material.read():
        if not _CONFLICT.search(words) or _EXCEPT.search(words):
            continue
        found = _WINS.search(words) or _WINS_ZH.search(words)
        if not found:
            continue
        winner = next(name for name, value in found.groupdict().items() if value)
        if first is not None and winner != first:
            message = Wording(
                "Another clause gives precedence to a different document.",
                "与其他条款约定的文件优先顺序相矛盾。",
            )
            place = span[0] + found.start(), span[0] + found.end()
            yield material.check("precedence", place, message, "MEDIUM")
            return
        first = first or winner
