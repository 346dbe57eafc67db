"""Rules on one party's power to change, read or accept the bargain alone."""

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.playbook.judges import by_length
from stagepost.tasks.contract_review.report import Severity
from stagepost.tasks.contract_review.rule import Hit, Rule
from stagepost.tasks.contract_review.wording import Wording

_MAY = (
    r"(?:may|(?:shall |will )?(?:have|has|reserves?|retains?) the (?:sole )?(?:right|discretion|option)(?:,[^,]{1,60}+,)? to"
    r"|(?:is|shall be) (?:entitled|authori[sz]ed) to|can)"
)
_ALONE = (
    r"(?:at any time|in its (?:sole|absolute)|at its (?:sole )?(?:discretion|option)|from time to time"
    r"|without (?:any )?(?:prior )?(?:written )?(?:notice|consent|the consent)|unilaterally)"
)
_AGREED = r"mutual|by agreement of|(?:written )?(?:agreement|consent) of (?:both|the) part|signed by (?:both|each|the parties)|both parties|neither party|either party|the parties"


def _short_silence(hit: Hit) -> Severity | None:
    """Silence of a few days is a trap; of weeks it is usual."""
    return by_length(((14, "LOW"), (0, "MEDIUM")), "MEDIUM")(hit)


RULES = (
    Rule(
        id="unilateral-change",
        category="Unilateral Change",
        severity="MEDIUM",
        harms="other",
        one_sided=True,
        en=(
            rf"{_MAY} … (?:modify|amend|change|revise|vary|alter|update) … (?:this agreement|these terms|terms|conditions|agreement|polic(?:y|ies)|specifications?|services?|scope|manual)\b … {_ALONE}",
            rf"{_MAY},? {_ALONE} …40 (?:modify|amend|change|revise|vary|alter|update) … (?:this agreement|terms|conditions|polic(?:y|ies)|specifications?|services?|scope)\b",
            rf"{_ALONE},? … {_MAY} … (?:modify|amend|revise|vary|alter) … (?:this agreement|terms|conditions|polic(?:y|ies)|specifications?|services?)\b",
        ),
        unless_en=(_AGREED, r"(?:may|shall) not\b|cannot", r"passwords?|preferences"),
        zh=(
            r"(?:有权|可以?|可) … (?:单方(?:面)?|随时|自行|根据(?:自身|其|经营)?(?:需要|情况)) … (?:变更|修改|调整|修订)",
            r"(?:有权|可以) … (?:变更|修改|修订)(?:本)?(?:合同|协议|条款|规则|服务内容|标准|方案) … (?:无需|无须|不必|不另行)",
            r"(?:保留)(?:随时)?(?:变更|修改|调整|修订)(?:本)?(?:合同|协议|条款|规则) … 权利",
        ),
        unless_zh=(
            r"协商一致|双方(?:书面)?(?:同意|确认)|双方可",
            r"不得|无权",
            r"(?:变更|修改|调整|上调) …6 (?:价格|费用|单价|租金|收费)",
        ),
        risk=Wording(
            "One party may change the bargain alone; what was agreed today may not hold tomorrow.",
            "一方可单方变更合同内容，约定的稳定性无法保障。",
        ),
        suggestion=Wording(
            "Require a written amendment signed by both, or a right to leave without cost when a change"
            " is to one's detriment.",
            "要求变更须经双方书面一致，或约定不利变更时对方可无偿解除。",
        ),
        law=law.CHANGE_BY_AGREEMENT,
    ),
    Rule(
        id="price-change",
        category="Price Restrictions",
        severity="MEDIUM",
        harms="other",
        one_sided=True,
        en=(
            rf"{_MAY} (?:\w{{2,14}},? ){{0,6}}(?:increase|adjust|change|revise|modify|raise) (?:\w{{2,14}} ){{0,5}}(?:price|fee|rate|charge|rent)s?\b",
            r"(?:price|fee|rate|charge|rent)s? … (?:subject to change|may be (?:increased|changed|adjusted|revised)) … (?:by (?:the )?\w|at any time|without)",
        ),
        unless_en=(
            _AGREED,
            r"consumer price|cpi\b|index|not (?:to )?exceed|no more than|by more than|up to|may not|shall not|only (?:if|when|to|pursuant)|interest|exchange rate|decrease",
        ),
        zh=(
            r"(?:有权|可以?) … (?:调整|上调|提高|变更|修改|单方调整)(?:本合同|合同|产品|服务|货物|商品|年度)?(?:的)?(?:价格|费用|单价|租金|收费|资费|费率|服务费)",
            r"(?:价格|单价|租金|服务费|费用) … (?:由|以)[甲乙]方 … (?:调整|通知为准|确定|公布)",
        ),
        unless_zh=(r"协商|双方", r"不得|无权", r"不超过|上限|幅度", r"指数"),
        risk=Wording(
            "One party may raise the price during the term without the other's consent.",
            "一方可在合同期内单方调整价格，成本不可控。",
        ),
        suggestion=Wording(
            "Fix prices for the term, or tie increases to an index with a cap, 60 days' notice and a right"
            " to terminate.",
            "约定期内价格固定，或与指数挂钩并设涨幅上限、提前60日通知及解除权。",
        ),
        law=law.CHANGE_BY_AGREEMENT,
    ),
    Rule(
        id="interpretation-reserved",
        category="Unilateral Change",
        severity="MEDIUM",
        harms="other",
        en=(
            r"(?:sole|final|exclusive|absolute) (?:right|authority|power|discretion) (?:to|of|over|in)(?: the)? (?:final )?(?:interpret|construe|construction)",
            r"right (?:to|of) (?:the )?(?:final|sole|exclusive) interpretation",
            r"(?:'s|its) interpretation … (?:shall be|is) (?:final|conclusive|binding)",
            r"(?:decision|determination)s? (?:of|by) (?:the )?(?:company|supplier|franchisor|licensor|landlord|owner|vendor|provider)(?:,[^,]{1,60},)? (?:shall be|is|are) (?:final|conclusive)",
        ),
        zh=(
            r"(?:最终)?解释权(?:均|全部)?(?:归|由|属)",
            r"以[甲乙]方(?:的)?(?:解释|最终解释|单方认定|认定结果)为准",
        ),
        risk=Wording(
            "One party reserves the last word on what the contract means.",
            "一方保留最终解释权，可单方决定条款含义；作为格式条款可能无效。",
        ),
        suggestion=Wording(
            "Delete it: disputes on meaning belong before the agreed court or tribunal.",
            "删除该约定，争议应由约定的法院或仲裁机构裁判。",
        ),
        law=law.FORM_TERMS_READING,
        negotiability="HIGH",
        confidence=0.85,
    ),
    Rule(
        id="acceptance-silence",
        category="Acceptance",
        severity="MEDIUM",
        harms="payer",
        en=(
            r"(?:shall be |is |are |be |will be )?(?:deemed|considered) (?:to (?:have been|be) )?(?:irrevocably )?(?:accepted|approved|acceptance|acknowledged)\b",
            r"(?:deemed|constitute) … (?:acceptance|approval) (?:of|by)",
            r"fail(?:s|ure|ed)? to (?:respond|object|reject|notify|give notice) … (?:deemed|constitute|considered)",
            r"deemed (?:as |to have |that )?(?:\w{2,12} ){0,4}(?:no objections?|not objected|agreed to|agrees? with)",
            r"continued use … (?:constitutes?|deemed) … (?:accept|consent|agree)",
        ),
        unless_en=(
            r"not (?:be )?(?:deemed|considered|constitute)",
            r"notice|assign|shall not|consent|waive|law|purchase orders?|offer|upon (?:passing|successful)",
        ),
        zh=(
            r"(?:逾期|未) … (?:异议|验收|答复|回复|确认|反馈|通知)(?:的)?(?:，|即)?(?:则)?(?:即)?(?:视为|视同) …12 (?:验收|认可|同意|接受|确认|合格|通过|无异议|放弃)",
            r"(?:视为|视同)(?:[甲乙]方)?(?:已)?(?:验收(?:合格|通过)|默认|质量合格)",
        ),
        judge=_short_silence,
        risk=Wording(
            "Silence counts as acceptance: a missed deadline ends the right to complain.",
            "沉默即视为验收或同意，错过期限将丧失异议权。",
        ),
        suggestion=Wording(
            "Require written acceptance, or at least 15 working days and a reminder; keep hidden defects"
            " out of it.",
            "改为书面验收，或给予不少于15个工作日并先行催告；隐蔽瑕疵除外。",
        ),
        law=law.INSPECTION,
    ),
    Rule(
        id="acceptance-subjective",
        category="Acceptance",
        severity="MEDIUM",
        harms="other",
        en=(
            r"(?:acceptance|approval|satisfaction) (?:\w{2,14} ){0,8}(?:in|at|to) (?:its|the|\w{3,15}'s)? ?sole (?:and absolute )?(?:discretion|satisfaction|judgment)",
            r"(?:reject|disapprove|refuse) (?:\w{2,14} ){0,8}(?:for any reason|in its sole)",
        ),
        unless_en=(
            r"reasonabl",
            r"assign|settle|counsel|press|publicity|advertis|sublicens|terminat",
        ),
        one_sided=True,
        zh=(
            r"(?:直至|直到|至|以|须经|经)[甲乙]方(?:完全)?(?:满意|认可|主观)(?:为止|为准|后)?",
            r"以[甲乙]方(?:的)?(?:单方|最终)?(?:验收|确认|判断|评价|检验)(?:意见|结果|结论)?为准",
        ),
        risk=Wording(
            "Acceptance depends on one party's mere satisfaction, not on agreed criteria.",
            "验收以一方主观满意为准，缺乏客观标准，付款与交付风险大。",
        ),
        suggestion=Wording(
            "Agree on objective criteria, a test procedure and a deadline for the decision.",
            "约定客观验收标准、测试程序和答复期限。",
        ),
        law=law.FORM_TERMS_VOID,
    ),
    Rule(
        id="rights-waived",
        category="Waiver",
        severity="MEDIUM",
        harms="subject",
        one_sided=True,
        en=(
            r"(?:hereby )?(?:irrevocably|unconditionally|expressly|forever) (?:and \w{5,20} )?waives? (?:any and )?all (?:rights?|claims?|defen[cs]es?|remed)",
        ),
        unless_en=(r"jury|immunit|inconvenient|venue|forum|moral rights|each party|parties",),
        zh=(
            r"(?:自愿|不可撤销地|无条件)?放弃 … (?:追索|索赔|抗辩|异议|追究|赔偿请求|起诉|诉讼|优先购买|先诉抗辩|主张)(?:的)?(?:权|责任|一切权利)?",
            r"不得(?:向[甲乙]方)?(?:以任何(?:理由|方式|形式))(?:向[甲乙]方)?(?:主张|要求|提出|拒绝|拒付)",
        ),
        unless_zh=(r"双方|任何一方|视为放弃|不得视为|不构成|不视为|逾期",),
        risk=Wording(
            "One party gives up rights or defences in advance that the law would leave it.",
            "一方预先放弃法律赋予的权利或抗辩，日后难以维权。",
        ),
        suggestion=Wording(
            "Delete the waiver, or limit it to a named and known claim.",
            "删除该放弃约定，或限于明确、已知的具体事项。",
        ),
        law=law.FORM_TERMS_VOID,
    ),
)
