"""Rules on term, renewal and termination."""

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.playbook.judges import (
    by_length,
    shorter_than,
    unless_sentence_says,
)
from stagepost.tasks.contract_review.rule import Rule
from stagepost.tasks.contract_review.wording import Wording

_MAY = (
    r"(?:may|(?:shall |will )?(?:have|has|reserves?|retains?) the (?:sole )?(?:right|discretion|option)(?:,[^,]{1,60}+,)? to"
    r"|(?:is|shall be) (?:entitled|authori[sz]ed) to|can)"
)
_CAUSE = (
    r"breach|default|fail|cure|remed(?:y|ied)|insolv|bankrupt|violat|non-?payment|illegal|force majeure"
    r"|in the event|upon the occurrence|if (?:the|any|such)|change (?:of|in) control|safety"
)
_CAUSE_ZH = (
    r"违约|违反|逾期|未按|未能|不履行|破产|不可抗力|情形之一|严重|丧失|经催告|如果|如[甲乙]|未经"
)

RULES = (
    Rule(
        id="termination-convenience-one-sided",
        covers=("termination-immediate",),
        category="Termination For Convenience",
        severity="MEDIUM",
        harms="other",
        one_sided=True,
        en=(
            rf"{_MAY}(?:,[^,]{{1,60}},)? … terminate … (?:at any time|for (?:its )?convenience|without cause|for any (?:reason|or no)|in its (?:sole|absolute)|at its (?:sole )?(?:discretion|option|election)|with or without)",
            rf"(?:at any time|in its sole discretion|for any reason),? … {_MAY} … terminate",
            r"may be terminated … (?:at any time|for convenience|without cause|for any reason) … by (?:the )?\w",
            r"may be terminated by … (?:at any time|for convenience|without cause|for any reason)",
        ),
        unless_en=(
            r"(?:either|each|any|both) part|the parties|mutual",
            r"(?:may|shall|can) ?not",
            _CAUSE,
            r"\bif\b|following (?:a|the|any)|failure",
            r"terminate (?:the|any|such) (?!agreement|contract|lease|licen|engagement|services?|term|order)\w",
        ),
        zh=(
            r"(?:有权|可|可以) … (?:随时|任意|单方(?:面)?|无理由|提前|自行) … (?:解除|终止)(?:本)?(?:合同|协议|合作|劳动|租赁|服务)?",
            r"(?:随时|任意时间|单方(?:面)?) … (?:有权|可|可以) … (?:解除|终止)",
        ),
        unless_zh=(_CAUSE_ZH, r"双方|任何一方|任一方", r"不得|无权"),
        judge=unless_sentence_says(
            r"^\W{0,3}(?:\(?\w{1,4}[.)] )?(?:if|should|in the event|where|upon)\b|\bif (?:the )?\w{2,20} fails?",
            "MEDIUM",
        ),
        risk=Wording(
            "Only one party may end the contract at will; the other plans and invests without security.",
            "仅一方享有任意解除权，另一方的投入与预期缺乏保障。",
        ),
        suggestion=Wording(
            "Make the right mutual, or require 60-90 days' notice and payment for work done and costs"
            " that cannot be cancelled.",
            "改为双方对等，或要求提前60至90日书面通知，并补偿已完成工作及不可撤销的费用。",
        ),
        law=law.AGREED_TERMINATION,
        confidence=0.75,
    ),
    Rule(
        id="termination-short-notice",
        category="Termination For Convenience",
        severity="MEDIUM",
        harms="both",
        en=(
            r"terminat(?:e|ed) … (?:upon|on|by|with|giving|provid\w{2,3}|at least|less than) … days?'? (?:\w{3,8} ){0,3}notice",
            r"terminat(?:e|ed) … (?:upon|on|by|with|giving|provid\w{2,3}|at least|less than) … days? (?:in advance|prior|before)",
        ),
        unless_en=(_CAUSE,),
        zh=(
            r"提前 … (?:日|天) … (?:通知|告知) … (?:解除|终止)",
            r"(?:解除|终止) … 提前 … (?:日|天) … 通知",
        ),
        unless_zh=(_CAUSE_ZH, r"试用期", r"到期|期满|届满|续"),
        judge=shorter_than(15, "MEDIUM"),
        risk=Wording(
            "The notice for ending the contract without cause is too short to arrange a replacement.",
            "无因解除的通知期过短，来不及安排替代或交接。",
        ),
        suggestion=Wording(
            "Ask for at least 30, better 60 days.",
            "争取不少于30日、最好60日的书面通知期。",
        ),
        law=law.TERMINATION_NOTICE,
    ),
    Rule(
        id="termination-immediate",
        category="Termination For Convenience",
        severity="MEDIUM",
        harms="other",
        one_sided=True,
        en=(
            rf"{_MAY} … terminate … (?:immediately|forthwith|with immediate effect) … without (?:any )?(?:prior )?(?:notice|cause|liability|compensation)",
            rf"{_MAY} … terminate … without (?:any )?(?:prior |advance )?(?:written )?notice",
        ),
        unless_en=(r"(?:either|each|any) part", r"material(?:ly)? breach|bankrupt|insolven"),
        zh=(
            r"(?:有权|可|可以) … (?:立即|即时) … (?:解除|终止) … (?:无需|无须|不必|不)(?:提前)?(?:通知|承担|支付|赔偿|补偿)",
            r"(?:解除|终止)(?:本)?(?:合同|协议)(?:，|而|且|并){0,3}(?:无需|无须|不必|不)(?:提前)?(?:通知|承担|支付|向|给予|赔偿|补偿)",
        ),
        unless_zh=(r"双方|任何一方",),
        risk=Wording(
            "One party may end the contract at once, without notice or compensation.",
            "一方可立即解除合同且无须通知或补偿，对方无补救机会。",
        ),
        suggestion=Wording(
            "Require a written notice and a time to remedy (15-30 days) before termination takes effect.",
            "要求书面通知并给予15至30日补救期后方可解除。",
        ),
        law=law.TERMINATION_NOTICE,
    ),
    Rule(
        id="termination-barred",
        category="Termination For Convenience",
        severity="MEDIUM",
        harms="subject",
        one_sided=True,
        en=(
            r"(?:may|shall|can)(?:not| not) (?:terminate|cancel) (?:this|the) (?:agreement|contract|lease|license) (?:for any reason|under any|at any time|before|prior|during)",
            r"(?:waives?|relinquish(?:es)?) (?:any|its|all) rights? (?:to|of) (?:terminat|rescind|rescission|cancel)",
        ),
        zh=(
            r"(?:不得|无权|不能)(?:以任何(?:理由|方式|原因))?(?:单方(?:面)?|提前|擅自|中途)?(?:要求)?(?:解除|终止)",
            r"放弃 … (?:解除权|解除合同)",
        ),
        unless_zh=(r"双方|任何一方|任一方", r"用人单位|甲方不得解除劳动"),
        risk=Wording(
            "One party gives up its right to end the contract, even where the law would give it one.",
            "一方被排除解除权，可能连法定解除权也受到限制。",
        ),
        suggestion=Wording(
            "Keep the right to terminate for material breach, insolvency and lasting force majeure.",
            "保留因根本违约、破产及持续不可抗力解除合同的权利。",
        ),
        law=law.STATUTORY_TERMINATION,
    ),
    Rule(
        id="termination-fee",
        category="Liquidated Damages",
        severity="MEDIUM",
        harms="payer",
        en=(
            r"(?:early )?(?:termination|cancellation) (?:fee|charge|penalty|payment)s? (?:equal|of|in the amount|shall)",
            r"(?:early )?terminat … (?:pay|liable for|remit) … (?:remaining|balance of|remainder of) … (?:term|fees|rent|charges)",
        ),
        zh=(
            r"提前(?:解除|终止|退租|解约|离职) … (?:支付|承担|赔偿) … (?:剩余|全部|未到期|个月)(?:租金|服务费|费用|合同)?",
            r"提前(?:解除|终止|退租|解约) … (?:已付|已支付|预付|剩余)(?:的)?(?:费用|款项|租金|服务费) … (?:不予退还|不退)",
        ),
        risk=Wording(
            "Leaving early costs a fee or the payments of the whole remaining term.",
            "提前解除须支付高额费用或剩余期间的全部款项。",
        ),
        suggestion=Wording(
            "Let the fee fall with time and cover only proven cost; no fee after the other's breach.",
            "约定费用随时间递减、以实际损失为限；因对方违约解除的不支付。",
        ),
        law=law.AGREED_DAMAGES,
        confidence=0.65,
    ),
    Rule(
        id="auto-renewal",
        category="Renewal Term",
        severity="LOW",
        harms="both",
        en=(
            r"automatic(?:ally)? (?:be )?(?:renew|extend)",
            r"(?:renew(?:ed|s)?|extend(?:ed|s)?|renewal|extension) (?:\w{2,12} ){0,3}automatically",
            r"(?:renew|extend)(?:ed|s)? … unless … notif(?:y|ies)|notice of (?:its intention )?not to renew",
        ),
        unless_en=(
            r"not (?:be )?automatically",
            r"number of days|period of (?:the )?delay",
        ),
        zh=(r"自动(?:续期|续约|续签|续展|延续|延长|顺延|展期|延期)",),
        unless_zh=(r"不(?:再)?自动", r"节假日|工作日"),
        judge=by_length(((89, "MEDIUM"),), "LOW"),
        risk=Wording(
            "The contract renews by itself; a missed notice binds for another term.",
            "合同自动续期，错过通知期限即被绑定至下一期。",
        ),
        suggestion=Wording(
            "Renew only in writing, or allow notice up to 30 days before the end and a reminder.",
            "改为书面确认后续期，或约定期满前30日均可通知不续，并由对方提前提醒。",
        ),
        negotiability="HIGH",
        confidence=0.85,
    ),
    Rule(
        id="term-indefinite",
        covers=("survival-unlimited",),
        category="Expiration Date",
        severity="LOW",
        harms="both",
        en=(
            r"(?:this agreement|the term|this lease|licen[sc]es?) … (?:shall|will) … (?:continue|remain|be) … (?:perpetual(?:ly)?|in perpetuity|indefinitely)",
        ),
        unless_en=(r"until (?:terminated|this)", r"terminated by", r"confidential|surviv|not "),
        zh=(r"(?:本合同|本协议|合作期限|有效期) … (?:长期有效|永久有效|无限期|永久)",),
        unless_zh=(r"保密",),
        risk=Wording(
            "The contract has no end, so its duties bind for an unknown time.",
            "合同无固定期限，义务存续时间无法预期。",
        ),
        suggestion=Wording(
            "Set a term, or a right for both to end it with reasonable notice.",
            "约定明确期限，或赋予双方合理期限内通知解除的权利。",
        ),
        law=law.STATUTORY_TERMINATION,
    ),
    Rule(
        id="survival-unlimited",
        category="Post-Termination Services",
        severity="LOW",
        harms="both",
        en=(
            r"(?:surviv|continue) … (?:indefinitely|in perpetuity|perpetually|forever|without (?:time )?limit)",
            r"all (?:the )?(?:provisions|terms|obligations) (?:of|under|in) this (?:agreement|contract) … shall survive",
        ),
        unless_en=(r"confidential|trade secret",),
        zh=(
            r"(?:本合同|本协议)(?:的)?(?:全部|所有)(?:条款|义务) … (?:终止|解除|期满)后 … (?:继续有效|仍然有效)",
        ),
        risk=Wording(
            "Duties survive the end of the contract without any limit in time.",
            "义务在合同终止后无限期存续。",
        ),
        suggestion=Wording(
            "List the clauses that survive and for how long (two to five years).",
            "逐条列明终止后继续有效的条款及期限（如二至五年）。",
        ),
    ),
)
