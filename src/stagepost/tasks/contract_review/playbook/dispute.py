"""Rules on law, courts, arbitration and the time to claim."""

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.playbook.judges import by_length, unless_clause_says
from stagepost.tasks.contract_review.rule import Rule
from stagepost.tasks.contract_review.wording import Wording

_SEAT = (
    r"\b(?:aaa|icc|jams|lcia|hkiac|siac|cietac|icdr|uncitral|cpr|scc|cas)\b|american arbitration"
    r"|international (?:chamber|court|centre|center)|chamber of commerce|(?:seat|place|venue|location) of"
    r"|(?:held|conducted|take place|located|arbitrated|arbitration|sitting|proceedings?|hearing) (?:\w{2,12} ){0,4}(?:in|at) (?!accordance|the event|writing|its|such|connection|any|law|equity|respect|good)\w"
)

RULES = (
    Rule(
        id="forum-home",
        category="Governing Law",
        severity="MEDIUM",
        harms="other",
        en=(
            r"(?:courts?|arbitrat\w{1,4}|venue|jurisdiction|proceedings?) … (?:where|in which|of|at) … (?:principal (?:place of business|office)|headquarters|domicile|registered office|is located|resides)",
            r"courts? (?:in|at|of) (?:the )?(?:place|location|domicile|city|county|state) (?:of|where|in which) ",
        ),
        unless_en=(r"defendant|respondent|either party|each party|other party|responding",),
        one_sided=True,
        zh=(
            r"(?:向|由|提交|提请|到|在)?[甲乙丙]方(?:住所地|所在地|注册地|所在|经营地)(?:有管辖权)?(?:的)?(?:基层|中级)?(?:人民)?(?:法院|仲裁)",
        ),
        unless_zh=(r"被告|或者?[乙甲]方",),
        risk=Wording(
            "Disputes are heard where the other party is at home: more cost and less familiarity.",
            "争议由对方所在地法院管辖，异地维权成本高。",
        ),
        suggestion=Wording(
            "Choose the defendant's place, the place of performance, or a neutral court.",
            "改为被告住所地、合同履行地或中立地法院管辖。",
        ),
        confidence=0.75,
    ),
    Rule(
        id="law-foreign",
        category="Governing Law",
        severity="MEDIUM",
        harms="both",
        zh=(
            r"适用(?:中国)?(?:香港|澳门|台湾|美国|英国|英格兰|新加坡|日本|韩国|德国|法国|瑞士|瑞典|加拿大|澳大利亚|开曼|英属维尔京|特拉华|纽约州|加利福尼亚|外国) …16 法律?",
        ),
        unless_zh=(r"不适用|排除",),
        risk=Wording(
            "A foreign law governs: its content must be proved, and it may not hold between domestic parties.",
            "适用域外法律，查明成本高；无涉外因素的合同约定适用外国法可能无效。",
        ),
        suggestion=Wording(
            "Choose the law of the place of performance, or a neutral law both can advise on.",
            "约定适用中国法律，或双方均熟悉的中立法律。",
        ),
        law=law.CHOICE_OF_LAW,
    ),
    Rule(
        id="forum-abroad",
        category="Governing Law",
        severity="MEDIUM",
        harms="both",
        zh=(
            r"(?:提交|由|向|在)(?:中国)?(?:香港|澳门|台湾|美国|英国|伦敦|新加坡|日本|东京|纽约|瑞士|巴黎|斯德哥尔摩|加利福尼亚) …16 (?:法院|仲裁)",
        ),
        unless_zh=(r"不得",),
        risk=Wording(
            "Disputes are decided abroad: cost, language and enforcement become harder.",
            "争议在境外解决，成本、语言和执行难度显著增加。",
        ),
        suggestion=Wording(
            "Agree on a domestic institution, or the place of the respondent.",
            "约定境内仲裁机构或被申请人所在地解决争议。",
        ),
    ),
    Rule(
        id="jurisdiction-unilateral",
        covers=("arbitration-no-seat", "arbitration-or-court"),
        category="Governing Law",
        severity="MEDIUM",
        harms="other",
        one_sided=True,
        en=(
            r"(?:may|(?:have|has|reserves?) the right to|entitled to|at (?:its|the) (?:sole )?(?:option|election|discretion) of) … (?:bring|commence|institute|choose|elect|pursue|initiate) … (?:in any (?:other )?(?:court|jurisdiction|competent)|any court of competent|between arbitration|arbitration or)",
        ),
        unless_en=(
            r"(?:either|each|any|the other) part|injuncti|equitable|interim|enforce|judgment",
        ),
        zh=(r"[甲乙]方有权(?:自行|单方)?选择 …20 (?:法院|仲裁|诉讼|管辖)",),
        risk=Wording(
            "Only one party may choose where to sue.",
            "仅一方有权选择争议解决方式或法院，不对等。",
        ),
        suggestion=Wording(
            "Give both the same choice, or fix one forum.",
            "改为双方对等或约定唯一的争议解决机构。",
        ),
        law=law.FORM_TERMS_VOID,
    ),
    Rule(
        id="arbitration-no-seat",
        category="Governing Law",
        severity="MEDIUM",
        harms="both",
        en=(
            r"(?:submitted to|settled by|resolved by|decided by|determined by|referred to|subject to|by) (?:final |and |binding |mandatory |an? ){0,4}arbitrat",
        ),
        unless_en=(r"(?:not|no) (?:be )?(?:submitted|subject)|labor|union|prior to",),
        zh=(
            r"(?:提交|提请|申请|由|向|通过) …10 (?:当地|有关|相关|所在地|有管辖权的|上级|仲裁机构|第三方)(?:的)? …6 仲裁(?:机构|委员会|机关)?",
            r"(?:通过|以|采取|采用|申请|提交|提起)仲裁(?:的)?(?:方式)?(?:解决|处理|裁决)?(?=[，。；])",
        ),
        unless_zh=(
            r"劳动(?:人事)?争议|劳动仲裁",
            r"(?:国际经济贸易|国际|市|北京|上海|深圳|广州|海事|华南|[^\W相关地构]{2})仲裁(?:委员会|院|中心)",
        ),
        judge=unless_clause_says(
            _SEAT
            + r"|(?:国际|贸易|北京|上海|深圳|广州|天津|重庆|杭州|南京|武汉|成都|海事|市)仲裁(?:委员会|院|中心)|仲裁地",
            "MEDIUM",
        ),
        risk=Wording(
            "Arbitration is agreed without an institution or seat; the clause may fail or breed a dispute of its own.",
            "仲裁条款未明确具体仲裁机构，可能因约定不明而无效。",
        ),
        suggestion=Wording(
            "Use an institution's model clause: institution, rules, seat, language and number of arbitrators.",
            "采用仲裁机构示范条款，明确机构、规则、仲裁地、语言和仲裁员人数。",
        ),
        confidence=0.75,
    ),
    Rule(
        id="arbitration-or-court",
        covers=("arbitration-no-seat",),
        category="Governing Law",
        severity="MEDIUM",
        harms="both",
        en=(
            r"(?:by|to|through) (?:binding )?arbitration or (?:by )?(?:litigation|the courts?|court proceedings)",
        ),
        zh=(
            r"仲裁(?:委员会|机构)?(?:申请)?(?:仲裁)?(?:，|、)?(?:或者?|也可(?:以)?|亦可) …12 (?:向\S{0,14}?)?(?:起诉|诉讼|法院)",
            r"(?:起诉|诉讼|法院)(?:，|、)?(?:或者?|也可(?:以)?|亦可) …16 仲裁",
        ),
        unless_zh=(r"劳动|不服|撤销|执行|保全",),
        risk=Wording(
            "Arbitration and courts are both named; such a choice may void the arbitration clause.",
            "同时约定仲裁和诉讼（“或裁或审”），仲裁条款可能无效。",
        ),
        suggestion=Wording(
            "Choose one of the two.",
            "二者择一，明确约定仲裁或者诉讼。",
        ),
        confidence=0.8,
    ),
    Rule(
        id="jury-waiver",
        category="Governing Law",
        severity="LOW",
        harms="both",
        en=(
            r"waiv\w{1,4} … (?:trial by jury|jury trial|right to (?:a )?jury)",
            r"(?:trial by jury|jury trial) … waive",
        ),
        risk=Wording(
            "The right to a jury trial is given up.",
            "放弃陪审团审判的权利。",
        ),
        suggestion=Wording(
            "Confirm that this is meant and mutual.",
            "确认该约定系双方真实且对等的意思。",
        ),
        confidence=0.9,
    ),
    Rule(
        id="class-action-waiver",
        category="Governing Law",
        severity="LOW",
        harms="subject",
        en=(
            r"waiv\w{1,4} … (?:class action|class-wide|class arbitration|collective action|representative action)",
            r"(?:only|solely) (?:in|on) an? individual (?:capacity|basis)",
        ),
        risk=Wording(
            "Claims may only be brought alone, which makes small ones uneconomic.",
            "仅可单独提出请求，小额请求难以主张。",
        ),
        suggestion=Wording(
            "Delete it, or keep a right to small-claims courts.",
            "删除，或保留向小额诉讼法院起诉的权利。",
        ),
        confidence=0.85,
    ),
    Rule(
        id="limitation-shortened",
        category="Limitation Period",
        severity="MEDIUM",
        harms="both",
        en=(
            r"no (?:\w{3,12} ){0,3}(?:action|claim|suit|proceeding|cause of action)s? … (?:brought|commenced|made|asserted|filed|instituted) … (?:more than|within|after|later than) … (?:days?|months?|years?)",
            r"(?:any|all) (?:\w{3,12} ){0,3}(?:action|claim|suit|proceeding|cause of action)s? … (?:must|shall) be (?:brought|commenced|made|asserted|filed|instituted) … within … (?:days?|months?|years?)",
        ),
        unless_en=(
            r"tax|insur|warrant|indemnif|notice of (?:a )?third|statute of limitations (?:has|shall)",
        ),
        zh=(
            r"(?:诉讼时效|索赔(?:期限|时效)|追诉) … (?:为|不超过|缩短|仅为) …4 (?:日|天|个月|年)",
            r"(?:逾期|超过\S{0,8}(?:日|天|个月))(?:未|不)(?:提出|主张|索赔)(?:的)?(?:，)?(?:即)?视为(?:自动)?放弃(?:全部|一切|索赔|追究)?",
        ),
        judge=by_length(((1095, None), (0, "MEDIUM")), "MEDIUM"),
        risk=Wording(
            "The time to claim is cut short; a late claim is lost.",
            "缩短索赔或诉讼时效期间；诉讼时效由法律规定，约定无效。",
        ),
        suggestion=Wording(
            "Keep the statutory period, or count from when the claim was discovered.",
            "适用法定时效，或自知道权利受损之日起算。",
        ),
        law=law.LIMITATION_FIXED,
        confidence=0.65,
    ),
    Rule(
        id="costs-one-sided",
        category="Governing Law",
        severity="LOW",
        harms="subject",
        one_sided=True,
        en=(
            r"(?:shall|will|agrees? to) (?:pay|reimburse|be (?:liable|responsible) for) … (?:attorneys?'?s?'? fees|legal fees|costs of collection|collection costs)",
        ),
        unless_en=(
            r"prevailing|losing|each party|either party|indemnif|third part|claims? (?:by|arising)",
        ),
        zh=(
            r"(?:无论|不论) …10 (?:胜诉|败诉|结果|裁判) …12 (?:律师费|诉讼费|费用) …6 (?:由|均)[甲乙]方(?:承担)?",
        ),
        risk=Wording(
            "Only one party pays the other's costs of enforcement.",
            "仅一方承担对方的维权费用。",
        ),
        suggestion=Wording(
            "Let the losing party pay reasonable costs.",
            "改为由败诉方承担合理费用。",
        ),
    ),
)
