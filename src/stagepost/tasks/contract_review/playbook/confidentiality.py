"""Rules on secrets, audits, insurance, events beyond control."""

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.playbook.judges import unless_clause_says
from stagepost.tasks.contract_review.rule import Rule
from stagepost.tasks.contract_review.wording import Wording

_BOTH_ZH = r"双方|任何一方|任一方|各方|一方|对方"

RULES = (
    Rule(
        id="confidentiality-unlimited",
        category="Confidentiality",
        severity="LOW",
        harms="both",
        en=(
            r"(?:confidential\w{0,5}|non-?disclosure|secrecy) … (?:in perpetuity|perpetual(?:ly)?|indefinite(?:ly)?|forever|no (?:time )?limit|without limit(?:ation)? (?:in|of) time)",
        ),
        unless_en=(r"trade secrets?|not (?:be )?perpetual",),
        zh=(
            r"保密(?:义务|责任|期限|条款)? …24 (?:永久|无限期|长期有效|无期限|不受\S{0,8}期限|没有期限)",
            r"(?:永久|无限期)(?:地)?(?:承担|履行|负有)?保密",
        ),
        unless_zh=(r"商业秘密(?:部分)?",),
        risk=Wording(
            "The duty of secrecy never ends, whatever becomes of the information.",
            "保密义务无期限，管理成本高且难以履行。",
        ),
        suggestion=Wording(
            "End it three to five years after the contract, longer only for trade secrets.",
            "约定终止后三至五年，仅商业秘密可更长。",
        ),
        confidence=0.75,
    ),
    Rule(
        id="confidentiality-one-sided",
        category="Confidentiality",
        severity="LOW",
        harms="subject",
        one_sided=True,
        en=(
            r"(?:shall|will|agrees? to|must) (?:\w{2,14} ){0,4}(?:keep|hold|maintain|treat|protect|preserve) … (?:confidential|in (?:strict(?:est)? )?confidence|secret\b)",
            r"(?:shall|will|agrees?) not (?:\w{2,14} ){0,4}(?:disclose|divulge|reveal) … (?:confidential information|trade secrets?|proprietary information)",
        ),
        unless_en=(
            r"(?:each|either|neither|both|receiving|no) part|recipient|the parties|auditor|accountant",
        ),
        zh=(
            r"[甲乙]方(?:应|须|应当|必须|负有|承诺)(?:当)?(?:对)? …40 (?:保密|严守|不得泄露)",
            r"[甲乙]方(?:不得|不能)(?:向\S{1,12}?)?(?:泄露|披露|透露)",
            r"[甲乙]方对 …40 (?:负有|承担|履行) …6 保密",
        ),
        unless_zh=(_BOTH_ZH,),
        risk=Wording(
            "Only one party must keep secrets; the information of the other side's partner is unprotected.",
            "仅一方承担保密义务，另一方的信息得不到保护。",
        ),
        suggestion=Wording(
            "Make the duty mutual, with the usual exceptions.",
            "改为双方对等保密，并列明通常例外。",
        ),
        types=("services", "software", "license", "sale", "distribution", "collaboration", "other"),
        confidence=0.55,
    ),
    Rule(
        id="audit-unlimited",
        category="Audit Rights",
        severity="MEDIUM",
        harms="other",
        en=(
            r"(?:audit|inspect|examine)\w{0,4} … (?:at any time|at all times|without (?:any )?(?:prior )?notice|unannounced|from time to time in its sole|as often as)",
            r"(?:at any time|without (?:any )?(?:prior )?notice|unannounced),? … (?:audit|inspect|examine)\w{0,4} … (?:books|records|premises|accounts|facilit)",
            r"(?:access to|enter) … (?:books|records|premises|facilit)\w{0,3} … (?:at any time|at all times|without (?:prior )?notice)",
        ),
        unless_en=(
            r"reasonable (?:prior )?notice|business hours|mutually|once (?:per|a|in|each)|at any time within",
        ),
        zh=(
            r"(?:有权|可以?) … 随时 … (?:审计|检查|查阅|查验|核查|抽查|监督|进入)",
            r"随时 … (?:有权|可) … (?:审计|检查|查阅|查验|核查)",
            r"(?:审计|检查|查阅|核查) … (?:不受限制|无需通知|无须通知|无需提前)",
        ),
        unless_zh=(r"提前|合理(?:时间|通知)|工作时间|双方", r"租赁房屋|房屋"),
        risk=Wording(
            "Audits may come at any time and without limit, with the cost and exposure that brings.",
            "可随时、不限次数审计或检查，干扰经营并可能泄露商业秘密。",
        ),
        suggestion=Wording(
            "Allow one audit a year, ten business days' notice, in business hours, under secrecy and at the auditor's cost.",
            "限定每年一次、提前十个工作日通知、工作时间内进行、负保密义务并自担费用。",
        ),
    ),
    Rule(
        id="insurance-one-sided",
        category="Insurance",
        severity="LOW",
        harms="subject",
        one_sided=True,
        en=(
            r"(?:shall|will|agrees? to|must) (?:\w{2,14},? ){0,6}(?:maintain|procure|obtain|carry|purchase|secure|keep) … insurance",
        ),
        unless_en=(
            r"(?:each|either|both|neither) part|the parties",
            r"not be required|health|unemployment",
        ),
        zh=(
            r"[甲乙]方(?:应|须|应当|必须|负责)(?:自费|自行)? …12 (?:购买|投保|办理) …30 (?:保险|险)",
        ),
        unless_zh=(r"社会保险|双方",),
        types=(
            "services",
            "software",
            "license",
            "sale",
            "distribution",
            "collaboration",
            "construction",
            "other",
        ),
        risk=Wording(
            "Insurance must be bought and kept, which costs money and may not be available on these terms.",
            "须自费投保并持续有效，增加成本。",
        ),
        suggestion=Wording(
            "Check cover and limits with the broker before signing, and accept existing policies.",
            "签约前核对现有保单及保额，争取以现有保险满足要求。",
        ),
        confidence=0.6,
    ),
    Rule(
        id="force-majeure-one-sided",
        category="Force Majeure",
        severity="MEDIUM",
        harms="other",
        one_sided=True,
        en=(
            r"(?:shall|will) not be (?:liable|responsible|deemed|in default|considered) … (?:force majeure|(?:beyond|outside) (?:its|the|their)? ?(?:reasonable )?control|acts? of god)",
            r"(?:force majeure|acts? of god|(?:beyond|outside) (?:its|the) (?:reasonable )?control) … (?:shall|will) not be (?:liable|responsible|in default)",
        ),
        unless_en=(
            r"(?:neither|either|no|each|a|any|affected|non-?performing|such|the other) party|parties",
        ),
        zh=(
            r"不可抗力 … [甲乙]方(?:不承担|免除|免于|不负|可免)",
            r"[甲乙]方(?:因|遇|遭遇|由于)(?:发生)?不可抗力 … (?:不承担|免除|免责|不负)",
        ),
        unless_zh=(_BOTH_ZH,),
        risk=Wording(
            "Only one party is excused by events beyond its control.",
            "仅一方享有不可抗力免责，权利义务不对等。",
        ),
        suggestion=Wording(
            "Make the relief mutual, with notice, mitigation and a right to end after 60-90 days.",
            "改为双方对等适用，并约定通知、减损义务及持续60至90日后的解除权。",
        ),
        law=law.FORCE_MAJEURE,
    ),
    Rule(
        id="force-majeure-waived",
        category="Force Majeure",
        severity="MEDIUM",
        harms="subject",
        en=(
            r"(?:force majeure|beyond (?:its|the) (?:reasonable )?control) … (?:shall not (?:excuse|relieve|release)|no(?:t)? (?:excuse|relief))",
            r"notwithstanding (?:any )?(?:event of )?force majeure",
        ),
        unless_en=(
            r"(?:payment|pay) (?:of )?(?:money|amounts|any|sums|obligation)|obligations? to (?:pay|make)",
            r"to the extent|longer|negligen|either party|each party",
        ),
        zh=(
            r"不可抗力 …24 (?:不得|不能|也不|亦不|不)(?:免除|减轻|免责|影响|作为免责|解除)",
            r"(?:即使|即便|无论是否)(?:发生|因|遇)?不可抗力 …24 (?:仍|也|亦|均)(?:应|须|需|不)",
        ),
        unless_zh=(
            r"迟延履行(?:后|期间)|延迟履行(?:后|期间)|金钱|付款义务",
            r"不影响 …8 (?:效力|其他条款)",
        ),
        risk=Wording(
            "Events beyond control do not excuse; the risk of them is taken over.",
            "约定不可抗力不免责，承担了法律本可免除的风险。",
        ),
        suggestion=Wording(
            "Restore the statutory relief, with duties to notify and to mitigate.",
            "恢复法定不可抗力免责，并约定通知与减损义务。",
        ),
        law=law.FORCE_MAJEURE,
    ),
    Rule(
        id="force-majeure-broad",
        category="Force Majeure",
        severity="LOW",
        harms="both",
        en=(
            r"force majeure … (?:lack of funds|financial|market conditions?|price (?:increase|change)|increased? costs?|supplier failure|failure of (?:its )?(?:suppliers?|subcontractors?)|shortage of (?:labou?r|materials?))",
        ),
        unless_en=(r"not include|exclud|shall not|does not|other than|except",),
        zh=(
            r"不可抗力 … (?:包括|指|如) … (?:市场(?:变化|行情|波动)|价格(?:上涨|波动)|资金|供应商|停电|员工|经营(?:困难|状况)|原材料)",
        ),
        unless_zh=(r"不(?:属于|包括|构成)|除外",),
        risk=Wording(
            "Force majeure covers ordinary business risks such as markets, funds or suppliers.",
            "不可抗力范围过宽，涵盖市场、资金、供应商等普通商业风险。",
        ),
        suggestion=Wording(
            "Limit it to events that could not be foreseen, avoided or overcome.",
            "限定为不能预见、不能避免且不能克服的客观情况。",
        ),
        law=law.FORCE_MAJEURE,
    ),
    Rule(
        id="data-transfer-unsafe",
        category="Data Protection",
        severity="MEDIUM",
        harms="both",
        en=(
            r"personal (?:data|information) … (?:transfer|process|share|disclos|collect|access)\w{0,4}",
            r"(?:transfer|process|shar|disclos|collect)\w{0,4} … personal (?:data|information)",
        ),
        unless_en=(r"confidential information means|not |breach",),
        zh=(r"(?:收集|处理|提供|使用|共享|传输) …16 个人信息",),
        unless_zh=(r"不得|未经|泄露",),
        judge=unless_clause_says(
            r"data protection|applicable law|privacy (?:law|policy)|gdpr|secur|safeguard|encrypt|consent"
            r"|个人信息保护|数据安全|安全措施|同意|合法|最小|必要|加密|保密",
            "MEDIUM",
        ),
        risk=Wording(
            "Personal data is handled without any word on purpose, security or the persons' consent.",
            "涉及处理个人信息，但未约定目的、安全措施和个人同意。",
        ),
        suggestion=Wording(
            "Add purpose, kinds of data, security measures, sub-processors, breach notice and deletion.",
            "补充处理目的、信息种类、安全措施、再委托、泄露通知及删除条款。",
        ),
        law=law.PERSONAL_DATA,
        confidence=0.6,
    ),
)
