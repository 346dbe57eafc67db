"""Rules on indemnity, joint liability and warranty."""

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.playbook.judges import between
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
        id="indemnity-regardless",
        covers=("indemnity-one-sided",),
        reach=260,
        category="Indemnification",
        severity="HIGH",
        harms="subject",
        en=(
            r"indemnif … (?:regardless of|whether or not|irrespective of|even if|including) … (?:negligence|fault|negligent) (?:of|by) (?:the )?(?:indemnif|indemnitee|such|supplier|customer|company|buyer|client|other|owner|landlord)",
            r"indemnif … (?:regardless of|irrespective of|without regard to) (?:the )?(?:cause|fault|negligence)",
        ),
        unless_en=(r"except|to the extent|excluding|proportion",),
        zh=(
            r"(?:无论|不论)(?:是否)?(?:有|存在)?(?:过错|过失|责任|何种原因|任何原因) … (?:赔偿|承担)",
        ),
        unless_zh=(r"不承担|概不|不赔偿|不负",),
        one_sided=True,
        risk=Wording(
            "The indemnity is owed whoever is at fault, even for the other party's own negligence.",
            "不论过错均须赔偿，甚至包括对方自身过失造成的损失。",
        ),
        suggestion=Wording(
            "Tie the indemnity to the own breach or fault, and reduce it by the other's share.",
            "赔偿以自身违约或过错为前提，并按对方过错比例减轻。",
        ),
        law=law.DAMAGES,
    ),
    Rule(
        id="indemnity-one-sided",
        category="Indemnification",
        severity="MEDIUM",
        harms="subject",
        one_sided=True,
        en=(
            r"(?:shall|will|agrees? to|hereby|must) (?:fully |at its (?:own |sole )?(?:cost|expense),? |promptly |also )?(?>(?:defend,? |protect,? |save,? |hold harmless,? |and |to ){0,6})indemnif(?:y|ies)",
            r"(?:shall|will|agrees? to|must) … (?:defend|indemnify),? … hold (?:\w{2,20} ){0,3}harmless",
        ),
        unless_en=(
            r"(?:each|either|both) part",
            r"shall not (?:be (?:obligated|required) to )?indemnify",
            r"indemnifying party",
            r"each of|applicable",
        ),
        zh=(
            r"[甲乙]方(?:应|须|应当|需|必须)(?:全额)?(?:赔偿|补偿)(?:[甲乙]方)?(?:因此|由此)?(?:遭受|受到|产生|造成)?(?:的)?(?:全部|一切|所有)(?:经济)?损失",
            r"(?:使|保证|确保)[甲乙]方免(?:受|于|除)",
            r"赔偿[甲乙]方(?:因此|由此)?(?:遭受|受到|产生|造成|支出)?(?:的)?(?:全部|一切|所有)(?:经济)?损失",
        ),
        risk=Wording(
            "Only one party indemnifies the other, and for every loss.",
            "仅一方承担全面赔偿义务，且范围为全部损失，缺乏对等安排。",
        ),
        suggestion=Wording(
            "Ask for a mutual indemnity limited to third-party claims caused by the own breach, under"
            " the cap and with control of the defence.",
            "改为双方对等的赔偿义务，限于因自身违约引起的损失，并适用责任上限。",
        ),
        law=law.DAMAGES,
        confidence=0.65,
    ),
    Rule(
        id="joint-liability",
        category="Uncapped Liability",
        severity="MEDIUM",
        harms="subject",
        en=(
            r"jointly and severally (?:liable|responsible|obligated)",
            r"joint and several (?:liability|obligation)",
        ),
        unless_en=(r"several,? (?:and )?not joint", r"not (?:be )?joint"),
        zh=(r"承担连带(?:保证|清偿|赔偿|担保|法律)?(?:责任|义务)", r"连带责任保证|连带保证责任"),
        unless_zh=(r"不承担", r"双方承担"),
        risk=Wording(
            "Liability is joint and several: the creditor may claim the whole from any one debtor.",
            "约定连带责任：债权人可向任一责任人主张全部债务。",
        ),
        suggestion=Wording(
            "Limit it to the own share, or cap amount and period of the security.",
            "改为按份责任或一般保证，并明确金额上限和期间。",
        ),
        law=law.JOINT_GUARANTEE,
        confidence=0.75,
    ),
    Rule(
        id="warranty-disclaimer",
        category="Warranty Disclaimer",
        severity="MEDIUM",
        harms="payer",
        en=(
            r"(?:provided|delivered|licensed|sold|accepts?|purchased|supplied|furnished|made available|on an?|leased) … (?:\"as[ -]is\"?|as[ -]is,? (?:where|basis|condition|without|and with)|as-is\b)",
            r"disclaims? (?:any and )?all (?:other )?(?:express|implied|warrant|representation|conditions)",
            r"(?:makes?|gives?|provides?) no (?:other )?(?:express or implied )?(?:warrant|representation)",
            r"(?:makes?|gives?) no (?:representations?|warranties) (?:or|and) (?:warrant|representation)",
        ),
        unless_en=(
            r"(?:neither|each|either) party|both parties",
            r"no representations? or warrant\w{1,3} that",
            r"not \"?as is",
            r"third part",
        ),
        zh=(
            r"(?:按|以)(?:其)?(?:现状|现有状态|现有状况|现状态)(?:交付|提供|出租|出售|转让|接受)?",
            r"不(?:作|做|提供|承诺)(?:出)?(?:任何|明示|一切)(?:形式的|明示)?(?:或(?:者)?(?:默示|暗示))?(?:的)?(?:保证|担保|承诺)",
        ),
        unless_zh=(r"双方",),
        risk=Wording(
            "Delivery is as it is, without the usual warranties: defects are the recipient's loss.",
            "按现状提供且不作质量保证，瑕疵风险由接受方承担。",
        ),
        suggestion=Wording(
            "Keep at least a warranty of conformity, title and fitness for the agreed purpose, with a"
            " period and remedies.",
            "至少保留符合约定、权属无瑕疵和适用约定用途的保证，并约定期限和救济。",
        ),
        law=law.FORM_TERMS_VOID,
    ),
    Rule(
        id="warranty-short",
        category="Warranty Duration",
        severity="MEDIUM",
        harms="payer",
        en=(
            r"warrant(?:s|y|ies|ed)? … (?:for|period of|within) … (?:days?|months?|weeks?) (?:from|after|of|following)",
            r"warranty period … (?:days?|months?|weeks?)",
        ),
        zh=(r"(?:质保期|保修期|质量保证期|保证期|免费维护期|质保)(?:限)? … (?:日|天|个月|月)",),
        unless_zh=(r"保证期间", r"保证金|质保金", r"内"),
        judge=between(1, 91, "MEDIUM"),
        risk=Wording(
            "The warranty period is short; hidden defects will show after its end.",
            "质保期过短，隐蔽瑕疵往往在期满后才显现。",
        ),
        suggestion=Wording(
            "Ask for at least twelve months from acceptance, restarting after a repair.",
            "争取自验收合格起不少于十二个月，修复后重新起算。",
        ),
        confidence=0.6,
    ),
)
