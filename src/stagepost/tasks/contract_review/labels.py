"""The words of the report itself, in both languages."""

from stagepost.tasks.contract_review.report import CheckKind, ContractType, Severity, Side
from stagepost.tasks.contract_review.wording import Wording

DISCLAIMER = Wording(
    "This report was made by fixed rules without a language model. It points to wording that deserves a"
    " look; it is no legal advice, and what it does not mention may still be a risk. Have a lawyer read"
    " the contract before you sign.",
    "本报告由固定规则自动生成，未使用语言模型。其作用是提示值得关注的措辞，不构成法律意见；未提及的内容仍可能存在风险。"
    "签署前请由律师审阅。",
)
DISCLAIMER_MODEL = Wording(
    "This report was made by a language model and by fixed rules. Both can be wrong, and what they do not"
    " mention may still be a risk; it is no legal advice. Have a lawyer read the contract before you sign.",
    "本报告由语言模型和固定规则自动生成。二者均可能出错，未提及的内容仍可能存在风险；本报告不构成法律意见。"
    "签署前请由律师审阅。",
)
LEVEL: dict[Severity, Wording] = {
    "HIGH": Wording("high", "高"),
    "MEDIUM": Wording("medium", "中"),
    "LOW": Wording("low", "低"),
}
SIDE: dict[Side, Wording] = {
    "partyA": Wording("Party A", "甲方"),
    "partyB": Wording("Party B", "乙方"),
    "neutral": Wording("both", "双方"),
}
TYPE: dict[ContractType, Wording] = {
    "services": Wording("services agreement", "服务合同"),
    "software": Wording("software agreement", "软件合同"),
    "license": Wording("licence agreement", "许可合同"),
    "sale": Wording("supply or sales agreement", "买卖合同"),
    "distribution": Wording("distribution agreement", "经销代理合同"),
    "lease": Wording("lease", "租赁合同"),
    "employment": Wording("employment contract", "劳动合同"),
    "nda": Wording("non-disclosure agreement", "保密协议"),
    "loan": Wording("loan agreement", "借款合同"),
    "guarantee": Wording("guarantee", "担保合同"),
    "construction": Wording("construction contract", "建设工程合同"),
    "collaboration": Wording("collaboration agreement", "合作协议"),
    "other": Wording("contract", "合同"),
}
CHECK: dict[CheckKind, Wording] = {
    "amount-words": Wording("Words and figures", "大小写金额"),
    "date-impossible": Wording("Impossible date", "不存在的日期"),
    "date-contradiction": Wording("Contradicting dates", "日期矛盾"),
    "undefined-term": Wording("Undefined term", "未定义术语"),
    "dangling-reference": Wording("Dangling reference", "引用落空"),
    "missing-annex": Wording("Missing annex", "附件缺失"),
    "blank": Wording("Blank to fill in", "空白未填"),
    "party-drift": Wording("Drifting party name", "主体名称不一致"),
    "precedence": Wording("Contradicting precedence", "优先顺序矛盾"),
    "legal-cap": Wording("Beyond a legal cap", "超过法定上限"),
}
TERM = {
    "partyA": Wording("Party A", "甲方"),
    "partyB": Wording("Party B", "乙方"),
    "agreementDate": Wording("Date of agreement", "签订日期"),
    "effectiveDate": Wording("Effective date", "生效日期"),
    "term": Wording("Term", "期限"),
    "renewal": Wording("Renewal", "续期"),
    "noticePeriod": Wording("Notice period", "通知期"),
    "price": Wording("Price", "价款"),
    "paymentTerms": Wording("Payment", "付款期限"),
    "liabilityCap": Wording("Cap on liability", "责任上限"),
    "deposit": Wording("Deposit", "定金/押金"),
    "liquidatedDamages": Wording("Liquidated damages", "违约金"),
    "confidentialityTerm": Wording("Secrecy", "保密期限"),
    "governingLaw": Wording("Governing law", "适用法律"),
    "disputeForum": Wording("Forum", "争议解决"),
}
PAGE = {
    "title": Wording("Contract review", "合同审查报告"),
    "overall": Wording("Overall risk", "整体风险"),
    "protects": Wording("Protected side", "保护立场"),
    "type": Wording("Type", "合同类型"),
    "pages": Wording("Pages", "页数"),
    "engine": Wording("Engine", "引擎"),
    "knowledge": Wording("Law as of", "法律知识日期"),
    "hash": Wording("File (SHA-256)", "文件哈希（SHA-256）"),
    "summary": Wording("Summary", "摘要"),
    "actions": Wording("What to do first", "优先行动"),
    "facts": Wording("Key terms", "关键条款"),
    "findings": Wording("Findings", "风险清单"),
    "checks": Wording("Mechanical checks", "机械校验"),
    "missing": Wording("Missing clauses", "缺失条款"),
    "text": Wording("The contract, with the findings beside it", "合同原文与对应风险"),
    "not_analysed": Wording("Not analysed", "未分析部分"),
    "warnings": Wording("Warnings", "提示"),
    "none": Wording(
        "None found. That is not a promise that there is none.", "未发现，但不代表不存在。"
    ),
    "clause": Wording("Clause", "条款"),
    "page": Wording("page", "第"),
    "suggestion": Wording("Suggestion", "修改建议"),
    "law": Wording("Legal basis", "法律依据"),
    "negotiability": Wording("Negotiable", "可谈判性"),
    "confidence": Wording("Confidence", "置信度"),
    "bears": Wording("Harms", "不利方"),
    "found_by": Wording("Found by", "发现者"),
    "rule": Wording("rule", "规则"),
    "unverified": Wording(
        "The law that the model cited could not be verified and is left out.",
        "模型引用的法律无法核实，已删去。",
    ),
    "formula": Wording(
        "Level: HIGH with three or more HIGH entries, or 40 points with at least one HIGH; MEDIUM with any"
        " HIGH entry or 10 points; else LOW. An entry counts HIGH 10, MEDIUM 3, LOW 1; MEDIUM and LOW"
        " together at most 30 a list.",
        "评级规则：高风险项不少于3项，或总分不低于40分且至少有1项高风险，为“高”；有任一高风险项或总分不低于10分，为“中”；"
        "其余为“低”。高/中/低每项计10/3/1分，每个清单的中低项合计最多30分。",
    ),
}
