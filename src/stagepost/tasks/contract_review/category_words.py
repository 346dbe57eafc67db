"""Categories as a person reads them; in the data they keep CUAD's names."""

import re

from stagepost.tasks.documents.document import Language

_CHINESE = {
    "Uncapped Liability": "无上限责任",
    "Cap On Liability": "责任限制",
    "Exclusion Of Liability": "免责",
    "Indemnification": "赔偿",
    "Warranty Disclaimer": "保证免除",
    "Warranty Duration": "质保",
    "Termination For Convenience": "任意解除",
    "Termination": "解除与终止",
    "Renewal Term": "续期",
    "Expiration Date": "期限",
    "Post-Termination Services": "终止后义务",
    "Unilateral Change": "单方变更",
    "Price Restrictions": "价格调整",
    "Acceptance": "验收",
    "Waiver": "弃权",
    "Payment": "付款",
    "Late Payment": "逾期付款",
    "Liquidated Damages": "违约金",
    "Deposit": "定金与押金",
    "Minimum Commitment": "最低承诺",
    "Most Favored Nation": "最惠条款",
    "Exclusivity": "排他",
    "Non-Compete": "竞业限制",
    "No-Solicit Of Employees": "不招揽员工",
    "No-Solicit Of Customers": "不招揽客户",
    "Anti-Assignment": "转让与分包",
    "Change Of Control": "控制权变更",
    "Rofr/Rofo/Rofn": "优先权",
    "Non-Disparagement": "不贬损",
    "Ip Ownership Assignment": "知识产权归属",
    "Joint Ip Ownership": "共有知识产权",
    "Irrevocable Or Perpetual License": "永久或不可撤销许可",
    "Covenant Not To Sue": "不起诉承诺",
    "Publicity": "宣传使用",
    "Data Protection": "数据与个人信息",
    "Confidentiality": "保密",
    "Audit Rights": "审计",
    "Insurance": "保险",
    "Force Majeure": "不可抗力",
    "Governing Law": "法律适用与管辖",
    "Dispute Resolution": "争议解决",
    "Limitation Period": "时效",
    "Employment": "劳动用工",
    "Lease": "租赁",
    "Breach": "违约责任",
    "Delivery": "交付",
    "Notice": "通知送达",
    "Invoice": "发票",
    "Lease Term": "租赁期限",
    "Maintenance": "维修",
    "Social Insurance": "社会保险",
    "Remuneration": "劳动报酬",
    "Working Hours": "工作时间",
    "Duties And Place": "工作内容与地点",
    "Interest": "利息",
    "Repayment": "还款",
    "Guarantee Period": "保证期间",
    "Purpose": "使用目的",
    "Exceptions To Secrecy": "保密例外",
    "Duration Of Secrecy": "保密期限",
}
_ENGLISH = {
    "Rofr/Rofo/Rofn": "Right of first refusal, offer or negotiation",
    "No-Solicit Of Employees": "No poaching of employees",
    "No-Solicit Of Customers": "No poaching of customers",
    "Ip Ownership Assignment": "IP ownership",
    "Joint Ip Ownership": "Joint IP ownership",
    "Non-Compete": "Non-compete",
}
_CAPITAL = re.compile(r"(?<=[ -])[A-Z]")


def word(category: str, language: Language) -> str:
    """A category in plain words: "Cap on liability" for `Cap On Liability`."""
    if language == "zh":
        return _CHINESE.get(category, category)
    return _ENGLISH.get(category) or _CAPITAL.sub(lambda found: found[0].lower(), category)
