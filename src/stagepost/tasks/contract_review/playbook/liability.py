"""Rules on liability: its caps and its exclusions."""

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.rule import Rule
from stagepost.tasks.contract_review.wording import Wording

_NOT_LIABLE = (
    r"(?:shall|will|is|are|be|do|does) not (?:be )?(?:held )?(?:liable|responsible|have any liability)"
    r"|(?:in no event|under no circumstances?)(?: (?:shall|will))?"
    r"|(?:shall|will) have no (?:liability|responsibility)|no liability (?:shall|for|to|of)"
)
_FREE_ZH = r"(?:不|无需|无须|不再|均不)(?:承担|负|负担)(?:任何|一切)?(?:法律|赔偿|违约)?(?:责任|义务)?|概不负责|免除"

RULES = (
    Rule(
        id="liability-unlimited",
        covers=("joint-liability", "liability-all-losses", "liability-cap-one-sided"),
        category="Uncapped Liability",
        severity="HIGH",
        harms="subject",
        en=(
            r"(?:unlimited|uncapped) (?:liability|indemnit)",
            r"liabilit(?:y|ies) … (?:shall be|is|are|will be|remains?) (?:unlimited|uncapped|without limit)",
            r"(?:liable|responsible) … without (?:any )?(?:limit\b|limitation (?:in|of|as to|on) (?:amount|liability))",
            r"(?:no|without any) (?:limit|limitation|cap|ceiling) (?:shall apply )?(?:on|to|of) (?:the )?(?:its |\w{3,20}'s )?(?:total |aggregate )?liability",
            r"liab(?:le|ility) … (?:not|without being) (?:be )?(?:subject to any|limited by any) (?:cap|limit|ceiling)",
        ),
        unless_en=(
            r"nothing in",
            _NOT_LIABLE,
            r"neither party",
            r"including,? (?:but )?without",
        ),
        zh=(
            r"无限(?:连带)?(?:赔偿)?责任",
            r"(?:赔偿|责任|承担) … (?:不设|没有|无|不受)(?:任何)?(?:最高)?(?:上限|限额|限制|金额限制)",
        ),
        unless_zh=(r"不承担无限",),
        risk=Wording(
            "Liability has no upper limit: one incident can cost more than the whole contract earns.",
            "责任没有上限：一次事故的赔偿可能远超合同的全部收益。",
        ),
        suggestion=Wording(
            "Cap total liability, for example at the fees of twelve months, and keep exceptions to"
            " intent, gross negligence and what the law demands.",
            "约定累计责任上限（如十二个月的合同价款），仅对故意、重大过失及法定情形作例外。",
        ),
        law=law.DAMAGES,
        confidence=0.85,
    ),
    Rule(
        id="liability-all-losses",
        category="Uncapped Liability",
        severity="MEDIUM",
        harms="subject",
        one_sided=True,
        en=(
            r"(?:liable|responsible) for (?:any and )?all (?:direct|loss|damage|costs)\w{0,4} … (?:indirect|consequential|of (?:any|whatever|every) (?:kind|nature))",
            r"compensate … for (?:any and )?all (?:loss|damage)\w{0,4} … (?:indirect|consequential|of (?:any|whatever) (?:kind|nature))",
        ),
        unless_en=(_NOT_LIABLE,),
        zh=(
            r"(?:赔偿|承担) … (?:直接|实际)(?:损失)?(?:和|及|、|以及|与|或)(?:者)?间接(?:的)?(?:经济)?损失",
            r"(?:赔偿|承担) … 间接损失",
            r"(?:承担|负担|赔偿)(?:因此|由此)?(?:产生|引起|造成|导致|给[甲乙]方造成)?(?:的)?(?:一切|所有|全部)(?:法律|经济|赔偿)?(?:责任|损失|后果)(?:和|及|、)(?:一切|所有|全部)",
            r"承担(?:因此|由此)?(?:产生|引起|造成|导致)?(?:的)?一切(?:法律|经济)?(?:责任|后果|损失)",
        ),
        unless_zh=(r"不(?:承担|赔偿|负责)", r"概不"),
        risk=Wording(
            "The duty to compensate covers every loss, indirect ones included, whatever was foreseeable.",
            "赔偿范围涵盖一切损失（包括间接损失），超出可预见范围，风险难以估量。",
        ),
        suggestion=Wording(
            "Limit it to proven direct loss that was foreseeable at signing, up to a cap.",
            "限定为订约时可预见、可举证的直接损失，并设定上限。",
        ),
        law=law.DAMAGES,
    ),
    Rule(
        id="liability-cap-low",
        covers=("liability-cap-one-sided",),
        category="Cap On Liability",
        severity="MEDIUM",
        harms="other",
        en=(
            r"liabilit(?:y|ies) … (?:not|no event|limited) … (?:exceed|to) … (?:one|1|two|2|three|3)[ -](?:\(\d\) )?months?",
            r"liabilit(?:y|ies) … (?:not exceed|limited to) … (?:\d{1,2}|ten|twenty|thirty|fifty) ?(?:\(\d{1,2}%?\) )?(?:%|percent) of",
            r"liabilit(?:y|ies) … (?:not exceed|limited to) … (?:us\$|\$|usd) ?(?:\d{1,3}|1,000|5,000)(?:\.00)?\b(?!,|\.?\d| ?(?:million|m\b))",
        ),
        zh=(
            r"(?:赔偿|责任) … (?:不超过|不得超过|最高不超过|限于|上限为) … (?:百分之[一二三四五]?十?[一二三四五六七八九]?(?!百)|[1-5]?\d%)",
            r"(?:赔偿|责任) … (?:不超过|不得超过|最高不超过|上限为|限于) … (?:[一二三123]个月|当月|最近一期|单次)",
        ),
        unless_zh=(r"违约金",),
        risk=Wording(
            "The cap on liability is so low that it hardly covers a real loss.",
            "责任上限过低，发生实际损失时难以获得足额赔偿。",
        ),
        suggestion=Wording(
            "Raise the cap to at least the fees of twelve months; exclude intent, gross negligence,"
            " data and confidentiality breaches from it.",
            "将上限提高至不低于十二个月价款，并将故意、重大过失、泄密和数据安全排除在上限之外。",
        ),
        law=law.FORM_TERMS_VOID,
    ),
    Rule(
        id="liability-cap-one-sided",
        category="Cap On Liability",
        severity="MEDIUM",
        harms="other",
        one_sided=True,
        en=(
            r"(?:in no event|notwithstanding|under no circumstances) … (?:aggregate|total|entire|maximum|cumulative|liability)\b … exceed",
            r"(?:aggregate|total|entire|maximum|cumulative) liability … (?:not exceed|limited to|exceed)",
            r"liability … (?:shall|will|is|be) (?:not exceed|(?:be )?limited to)",
        ),
        unless_en=(r"insur", r"each party|either party|neither party|both parties"),
        zh=(
            r"[甲乙]方(?:的)?(?:全部|累计|总|最高|赔偿|违约)?(?:赔偿)?(?:责任|金额|总额) … (?:不超过|不得超过|为限|上限)",
            r"[甲乙]方 … (?:赔偿|责任) … (?:为限|不超过|不得超过|上限为)",
        ),
        unless_zh=(r"双方|任何一方", r"违约金(?:总额|累计|最高)?(?:不超过|不得超过)"),
        risk=Wording(
            "Only one party's liability is capped; the other remains liable without a limit.",
            "仅一方的责任设有上限，另一方仍承担无上限责任，权利义务不对等。",
        ),
        suggestion=Wording(
            "Make the cap mutual, with the same amount and the same exceptions for both parties.",
            "改为双方适用同一责任上限及相同例外。",
        ),
        law=law.FORM_TERMS_VOID,
    ),
    Rule(
        id="consequential-one-sided",
        category="Cap On Liability",
        severity="MEDIUM",
        harms="other",
        one_sided=True,
        en=(
            rf"(?:{_NOT_LIABLE}) … (?:consequential|indirect|incidental|special|lost profits|loss of profits?)",
        ),
        unless_en=(r"(?:either|neither|each|any|no) party|both parties|parties",),
        zh=(
            rf"[甲乙]方(?:{_FREE_ZH}|不(?:承担|赔偿)) … (?:间接|可得利益|利润|预期利益|商誉)(?:损失)?",
            r"[甲乙]方 … (?:不承担|不赔偿|不对) … (?:间接损失|可得利益|利润损失|预期利益)",
        ),
        unless_zh=(r"双方|任何一方|各方",),
        risk=Wording(
            "One party alone is freed from indirect and consequential loss; the other bears its own and"
            " remains liable.",
            "仅一方免于承担间接损失和可得利益损失，另一方无对等保护。",
        ),
        suggestion=Wording(
            "Make the exclusion mutual and carve out confidentiality, data and indemnified claims.",
            "改为双方对等排除，并将保密、数据安全及第三方索赔列为例外。",
        ),
        law=law.FORM_TERMS_VOID,
    ),
    Rule(
        id="exclusion-void",
        covers=("liability-none",),
        category="Exclusion Of Liability",
        severity="HIGH",
        harms="other",
        en=(
            rf"(?:{_NOT_LIABLE}) … (?:death|personal injury|bodily injury|gross negligence|wil{1, 2}ful misconduct)",
        ),
        unless_en=(
            r"except|unless|other than|save|to the extent|exclu|limit|arising from|resulting from|caused by|in the absence of|provided|but not",
        ),
        zh=(
            r"(?:人身(?:伤亡|损害|伤害|安全)|伤亡|工伤|生命) … (?:不承担|概不负责|不负(?:任何)?责任|免责|自行承担|自负)",
            r"(?:不承担|概不负责|不负|免除) … (?:人身(?:伤亡|损害|伤害)|伤亡)",
            r"(?:无论|不论) … (?:故意|重大过失|过错|原因) … (?:不承担|概不负责|不负(?:任何)?责任|免责)",
        ),
        unless_zh=(r"(?:不得|不能|不)免除", r"除外"),
        risk=Wording(
            "It excludes liability for injury, intent or gross negligence; such a clause is void in many"
            " laws and invites a dispute.",
            "免除人身损害、故意或重大过失责任的条款依法无效，且容易引发争议。",
        ),
        suggestion=Wording(
            "Delete it, or except injury, intent and gross negligence from every exclusion.",
            "删除该约定，或明确人身损害、故意和重大过失不在免责范围内。",
        ),
        law=law.VOID_EXCLUSIONS,
        negotiability="HIGH",
    ),
    Rule(
        id="liability-none",
        category="Exclusion Of Liability",
        severity="MEDIUM",
        harms="other",
        one_sided=True,
        en=(
            rf"(?:{_NOT_LIABLE}) … (?:any|all) (?:loss|damage|claim|liabilit|cost|delay)\w{{0,4}} … (?:whatsoever|howsoever|of any kind|of whatever|of any nature|regardless|for any reason)",
            r"(?:shall|will) have no (?:liability|responsibility|obligation) (?:whatsoever|of any kind)",
        ),
        unless_en=(
            r"(?:either|neither|each|any|no) party|both parties",
            r"except|unless|other than|to the extent|obligation whatsoever to",
        ),
        zh=(
            r"概不负责",
            r"[甲乙]方(?:对此)?(?:均|概|亦|将)?(?:不|无需|无须)(?:承担|负)(?:任何|一切)(?:形式的)?(?:法律|赔偿|违约|经济|连带)?(?:责任|费用)",
        ),
        unless_zh=(
            r"不可抗力",
            r"双方|任何一方",
            r"因[甲乙]方(?:原因|过错|自身)",
            r"(?:提前|书面)通知",
        ),
        risk=Wording(
            "One party excludes its liability altogether, whatever the cause.",
            "一方概括性排除自身全部责任，属于不合理免责；如为格式条款可能无效。",
        ),
        suggestion=Wording(
            "Replace it by a cap with exceptions, and keep liability for the main duties.",
            "改为有例外的责任限额，并保留对主要合同义务的违约责任。",
        ),
        law=law.FORM_TERMS_VOID,
    ),
)
