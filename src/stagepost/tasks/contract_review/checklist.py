"""What a contract of each type should regulate: topics, how to recognise them, why they matter."""

from dataclasses import dataclass

from stagepost.tasks.contract_review.report import ContractType, Severity
from stagepost.tasks.contract_review.wording import Wording

_BUSINESS: tuple[ContractType, ...] = (
    "services", "software", "license", "sale", "distribution", "construction", "collaboration", "other",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A clause to expect: `en` and `zh` are expressions of which one shows that it is there.

    `if_en` and `if_zh`, when set, must occur for the topic to be expected at all.
    """

    category: str
    severity: Severity
    types: tuple[ContractType, ...]
    en: str
    zh: str
    why: Wording
    if_en: str = ""
    if_zh: str = ""


TOPICS = (
    Topic(
        category="Governing Law",
        severity="MEDIUM",
        types=(*_BUSINESS, "nda", "loan", "guarantee"),
        en=r"govern(?:ed|ing) (?:\w{2,12} ){0,4}(?:by|law)|laws? of|construed in accordance",
        zh=r"适用.{0,12}法律?|法律适用|争议|管辖|仲裁|人民法院",
        why=Wording(
            "Without a choice of law the parties may first have to argue which law applies.",
            "未约定适用法律与争议解决，争议发生后需先就法律适用产生分歧。",
        ),
    ),
    Topic(
        category="Dispute Resolution",
        severity="MEDIUM",
        types=(*_BUSINESS, "nda", "loan", "guarantee", "lease"),
        en=r"arbitrat|jurisdiction|courts? of|venue|mediation|dispute",
        zh=r"仲裁|人民法院|诉讼|管辖|争议(?:的)?解决|争议",
        why=Wording(
            "No court or tribunal is named; a claim may have to be brought abroad.",
            "未约定管辖法院或仲裁机构，维权地点与成本不可控。",
        ),
    ),
    Topic(
        category="Cap On Liability",
        severity="MEDIUM",
        types=(
            "services",
            "software",
            "license",
            "sale",
            "distribution",
            "collaboration",
            "construction",
        ),
        en=r"liabilit(?:y|ies).{0,160}(?:exceed|limited to|limitation)|limit\w{0,6} (?:of|on) (?:\w{2,10} )?liabilit|(?:consequential|indirect|incidental|special).{0,40}damages|(?:not|no event).{0,40}liab",
        zh=r"(?:责任|赔偿|违约金).{0,24}(?:不超过|不得超过|为限|上限|限额)|不(?:承担|赔偿).{0,24}间接",
        why=Wording(
            "Nobody's liability is limited: one mistake may cost more than the contract is worth.",
            "未约定责任上限，任何一方都可能承担超出合同价值的赔偿。",
        ),
    ),
    Topic(
        category="Termination",
        severity="MEDIUM",
        types=(*_BUSINESS, "lease", "employment", "nda"),
        en=r"terminat",
        zh=r"解除|终止",
        why=Wording(
            "Nothing says how the contract ends before its time, not even for breach.",
            "未约定解除与终止条件，对方违约时难以及时退出。",
        ),
    ),
    Topic(
        category="Breach",
        severity="MEDIUM",
        types=(*_BUSINESS, "lease", "loan"),
        en=r"breach|default|remed(?:y|ies)|liabilit|damages",
        zh=r"违约|赔偿",
        why=Wording(
            "No consequence of breach is agreed.",
            "未约定违约责任，违约后损失难以主张。",
        ),
    ),
    Topic(
        category="Force Majeure",
        severity="LOW",
        types=_BUSINESS,
        en=r"force majeure|acts? of god|beyond (?:its|their|the|such party's) (?:reasonable )?control",
        zh=r"不可抗力|不能预见",
        why=Wording(
            "Relief for events beyond control depends on the law alone; notice and exit are open.",
            "未约定不可抗力的通知、减损和解除规则。",
        ),
    ),
    Topic(
        category="Confidentiality",
        severity="LOW",
        types=("services", "software", "license", "distribution", "collaboration", "employment"),
        en=r"confidential|non-?disclosure|trade secret|proprietary information",
        zh=r"保密|商业秘密|不得(?:泄露|披露)",
        why=Wording(
            "What is disclosed in performance is not protected as secret.",
            "未约定保密义务，履行中披露的信息缺乏保护。",
        ),
    ),
    Topic(
        category="Payment",
        severity="MEDIUM",
        types=("services", "software", "sale", "distribution", "construction", "license", "lease"),
        en=r"\bpay(?:s|ment|able)?\b|\bfees?\b|\bprice|royalt|rent\b|compensation|invoice|consideration",
        zh=r"支付|付款|价款|费用|租金|报酬|金额|价格",
        why=Wording(
            "Price, due date or manner of payment is not agreed.",
            "未约定价款、付款时间或方式。",
        ),
    ),
    Topic(
        category="Late Payment",
        severity="LOW",
        types=("services", "software", "sale", "construction", "lease"),
        en=r"late (?:payment|charge|fee)|overdue|past due|interest (?:at|of|on)|delinquent|not paid when due|default",
        zh=r"逾期(?:付款|支付|缴)|迟延付款|延迟支付|未按(?:时|期|约定).{0,10}(?:支付|付款)|滞纳金|违约",
        why=Wording(
            "Late payment has no agreed consequence.",
            "未约定逾期付款的违约责任。",
        ),
    ),
    Topic(
        category="Acceptance",
        severity="MEDIUM",
        types=("software", "sale", "construction"),
        en=r"accept(?:ance|ed)? (?:test|criteria|of (?:the )?(?:goods|products?|deliverables|work|services))|inspect|reject|conform|specifications",
        zh=r"验收|检验|质量(?:标准|要求|异议)",
        why=Wording(
            "Without acceptance criteria it is open when the work is done and the price due.",
            "未约定验收标准与程序，交付是否合格及付款条件易生争议。",
        ),
    ),
    Topic(
        category="Warranty Duration",
        severity="LOW",
        types=("software", "sale", "construction"),
        en=r"warrant|guarantee|defect",
        zh=r"质保|保修|质量保证|维护|售后|瑕疵",
        why=Wording(
            "No warranty period or remedy for defects is agreed.",
            "未约定质保期与瑕疵救济。",
        ),
    ),
    Topic(
        category="Delivery",
        severity="LOW",
        types=("sale",),
        en=r"deliver|ship(?:ment|ped)?\b|incoterms|f\.?o\.?b|risk of loss|title",
        zh=r"交付|交货|运输|风险",
        why=Wording(
            "Place and time of delivery and the passing of risk are open.",
            "未约定交货时间地点与风险转移。",
        ),
    ),
    Topic(
        category="Ip Ownership Assignment",
        severity="MEDIUM",
        types=("software", "license", "collaboration"),
        en=r"intellectual property|ownership|copyright|patent|work product|proprietary rights|title to",
        zh=r"知识产权|著作权|版权|专利|成果|所有权",
        why=Wording(
            "Who owns the results is open.",
            "未约定成果及知识产权归属。",
        ),
    ),
    Topic(
        category="Data Protection",
        severity="MEDIUM",
        types=("services", "software", "collaboration", "other"),
        if_en=r"personal (?:data|information)|user data|customer data|patient",
        if_zh=r"个人信息|用户数据|客户数据|隐私",
        en=r"data protection|privacy (?:law|polic)|gdpr|hipaa|security (?:measures|incident|breach)|data security|safeguards?|applicable laws?",
        zh=r"个人信息保护|数据安全|安全措施|保密|泄露|删除|脱敏",
        why=Wording(
            "Data about persons is handled, but nothing secures it.",
            "涉及个人信息或数据处理，但未约定安全与合规要求。",
        ),
    ),
    Topic(
        category="Anti-Assignment",
        severity="LOW",
        types=("services", "software", "license", "distribution", "collaboration", "construction"),
        en=r"assign(?:ment|able|ed)?\b|transfer (?:this|its)|successors",
        zh=r"转让|转包|分包",
        why=Wording(
            "It is open whether the other party may hand the contract to somebody else.",
            "未约定合同能否转让或转包。",
        ),
    ),
    Topic(
        category="Notice",
        severity="LOW",
        types=("services", "software", "license", "sale", "distribution", "collaboration", "lease"),
        en=r"\bnotices?\b",
        zh=r"通知|送达|联系(?:方式|人)",
        why=Wording(
            "No address or form for notices is agreed.",
            "未约定通知与送达方式。",
        ),
    ),
    Topic(
        category="Invoice",
        severity="LOW",
        types=("services", "software", "sale", "construction", "lease"),
        if_zh=r"支付|付款",
        if_en=r"(?!)",
        en=r"invoice",
        zh=r"发票|税票",
        why=Wording(
            "Nothing is said about invoices, their kind or tax rate.",
            "未约定发票类型、税率及开具时间。",
        ),
    ),
)
