"""Law that a text cites: statutes, articles and cases, in English and Chinese.

It is taken out of what a model writes, since a model may cite from memory. Recognition leans to the
strict side: a name that only looks like a statute's goes too. What a contract calls its own clauses
("Section 7", 第七条) stays.
"""

import re
from typing import Final

_NUMBER_ZH = r"[零〇一二三四五六七八九十百千\d]{1,9}+"
_PARTS_ZH = (
    rf"第{_NUMBER_ZH}条(?>(?:之{_NUMBER_ZH})?)(?>(?:第{_NUMBER_ZH}款)?)(?>(?:第{_NUMBER_ZH}项)?)"
)
_NAMED_ZH = (
    r"(?:民法典|合同法|民法通则|民法总则|担保法|公司法|劳动法|劳动合同法|著作权法|专利法|商标法|刑法|电子商务法"
    r"|消费者权益保护法|个人信息保护法|数据安全法|网络安全法|反垄断法|反不正当竞争法|招标投标法|建筑法|民事诉讼法"
    r"|仲裁法|税收征收管理法)"
)
_LAW_ZH = r"(?:法|法典|通则|条例|规定|办法|规则|解释|公约|决定)(?>(?:[（(][^（）()]{0,30}+[）)])?)"

_LAW = r"(?:Acts?|Code|Laws?|Statutes?|Ordinance|Directive|Regulations?|Convention|Rules)\b"
_NAME = rf"(?>(?:(?!{_LAW})[A-Z][\w’'&.-]{{0,30}}+ (?>(?:(?:of|and|the|on|for|to|in) )?)){{1,8}})"
_PLACE = r"(?>(?: of (?>(?:the )?)(?>(?:People[’']s )?)[A-Z][\w’']{0,20}+)?)"
_ARTICLE = (
    r"(?:Articles?+|Arts?+\.?+|Sections?+|Secs?+\.?+|§{1,2}+|Rules?+|Chapters?+)"
    r" ?+\d{1,5}+[\w().-]{0,12}+(?>(?:(?:, ?+| and | to )\d{1,5}+[\w().-]{0,8}+){0,4})"
)
_SHORT = r"(?:UCC|CISG|GDPR|BGB|CCPA|HGB|ICC Rules)\b"
_STATUTES = r"(?:Civil|Commercial|Labou?+r|Contract|Penal|Criminal|Bankruptcy|Revenue|Tax|Copyright|Patent|Company)"

CITATIONS: Final = tuple(
    map(
        re.compile,
        (
            rf"《(?=[^《》]{{0,80}}+》)(?>(?:(?!{_LAW_ZH}》)[^《》]){{1,80}}){_LAW_ZH}》(?>(?:{_PARTS_ZH})?)",
            rf"(?>(?:中华人民共和国)?){_NAMED_ZH}(?>(?:的)?)(?>(?:{_PARTS_ZH})?)",
            rf"(?:法|法典|条例|司法解释){_PARTS_ZH}",
            rf"{_ARTICLE},?+ ?+(?>(?:(?:of|in|under) )?)(?>(?:the )?)(?:{_NAME}{_LAW}{_PLACE}(?>(?:,?+ \d{{4}})?)|{_SHORT})",
            rf"{_NAME}{_LAW}{_PLACE},?+ (?:\(?+\d{{4}}\)?+|{_ARTICLE})(?>(?:,?+ {_ARTICLE})?)",
            rf"{_NAME}(?:Act|Statute|Ordinance|Convention)\b",
            rf"\b{_STATUTES} (?:Code|Law)\b{_PLACE}(?>(?:,?+ {_ARTICLE})?)",
            rf"\b{_SHORT}(?>(?:,?+ (?:{_ARTICLE}|\d{{1,4}}+(?>(?:[-.:]\d{{1,4}}+){{0,3}})))?)",
            r"\b\d{1,3} (?:U\.?S\.?C\.?|C\.?F\.?R\.?|U\.S\.|F\.(?:2d|3d|4th)) ?+§{0,2}+ ?+\d{1,6}+[\w().-]{0,10}+",
            r"\b[A-Z][\w’'&-]{1,30}+ v\.? [A-Z][\w’'&-]{1,30}+(?>(?:,? [\[(]\d{4}[\])])?)",
        ),
    )
)


def without_law(text: str, instead: str) -> tuple[str, bool]:
    """A text with `instead` for every citation in it, and whether it had any."""
    cited = 0
    for citation in CITATIONS:
        text, times = citation.subn(instead, text)
        cited += times
    return text, cited > 0
