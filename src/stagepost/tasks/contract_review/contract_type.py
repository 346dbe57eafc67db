"""What kind of contract a text is, from its title first and its vocabulary second."""

import re

from stagepost.tasks.contract_review.report import ContractType
from stagepost.tasks.contract_review.view import view
from stagepost.tasks.documents.document import Document

TITLE = 300  # characters in which the title stands
BODY = 60_000  # characters whose vocabulary counts
_TITLE_WEIGHT = 40
_OWN_NAME = 15  # more for a word of the line that names the contract
_NAME_LINE = re.compile(
    r"^[^\n。]{0,80}(?:agreement|contract|合同|协议)[^\n。]{0,40}$", re.IGNORECASE | re.MULTILINE
)

_WORDS: dict[ContractType, str] = {
    "nda": r"non-?disclosure|confidentiality agreement|\bnda\b|保密协议|保密合同",
    "employment": r"employment agreement|offer of employment|executive employment|劳动合同|聘用合同|用工协议|雇佣合同|劳动者|用人单位",
    "lease": r"\blease\b|\btenan(?:t|cy)\b|landlord|\blessee\b|rental agreement|租赁|出租[方人]|承租[方人]|租金",
    "loan": r"loan agreement|credit agreement|promissory note|\bborrower\b|\blender\b|借款(?:合同|协议|人)|贷款(?:合同|协议|人)|出借",
    "guarantee": r"guarant(?:y|ee) agreement|\bguarantor\b|保证合同|担保合同|保证人|抵押合同",
    "construction": r"construction (?:contract|agreement)|general contractor|建设工程|施工合同|承包合同|发包人|承包人|工程款",
    "distribution": r"distribut(?:or|ion) agreement|reseller agreement|\bdistributor\b|franchis(?:e|ee|or)\b|agency agreement|经销|代理(?:合同|协议)|特许经营|加盟",
    "software": r"software|\bsaas\b|hosting agreement|source code|软件|系统开发|技术开发|信息系统|源代码",
    "license": r"licen[sc]e agreement|\blicensor\b|\blicensee\b|许可(?:合同|协议|方)|授权(?:合同|协议)|被许可方",
    "sale": r"(?:purchase|sales?|supply|manufactur\w{2,3}) (?:agreement|contract|order)|\bpurchaser\b|\bbuyer\b|买卖|购销|采购(?:合同|协议)|供货|销售合同|出卖人|买受人|需方|供方",
    "collaboration": r"collaboration|joint venture|strategic alliance|co-?(?:branding|promotion|development)|sponsorship|endorsement agreement|合作(?:协议|合同)|合资|联合开发|战略合作",
    "services": r"services? agreement|consult(?:ing|ancy)|outsourcing|maintenance|master services|statement of work|服务(?:合同|协议)|委托(?:合同|协议)|咨询(?:合同|协议)|受托[方人]|外包|物业",
}  # fmt: skip


def detect(document: Document) -> ContractType:
    """The type whose words stand in the title or fill the text; `other` when none stands out."""
    title = view(document.text[:TITLE]).lower
    body = view(document.text[:BODY]).lower
    line = _NAME_LINE.search(document.text[:TITLE])
    named = line[0].lower() if line else ""
    scores: dict[ContractType, int] = {}
    for kind, words in _WORDS.items():
        pattern = re.compile(words)
        in_title = [found.start() for found in pattern.finditer(title)]
        early = _TITLE_WEIGHT - in_title[0] // 20 if in_title else 0
        early += _OWN_NAME if pattern.search(named) else 0
        scores[kind] = early + min(25, len(pattern.findall(body)))
    best = max(scores, key=lambda kind: scores[kind])
    return best if scores[best] >= 5 else "other"
