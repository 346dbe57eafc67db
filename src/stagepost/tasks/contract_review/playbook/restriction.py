"""Rules on what a party may no longer do: exclusivity, competition, solicitation, transfer."""

from stagepost.tasks.contract_review import law
from stagepost.tasks.contract_review.playbook.judges import by_length, longest_said
from stagepost.tasks.contract_review.rule import Rule
from stagepost.tasks.contract_review.wording import Wording

_SHALL_NOT = r"(?:shall not|will not|may not|must not|agrees? not to|agrees? that it (?:shall|will) not|covenants? not to|cannot|neither)"
_BOTH = r"each party|either party|both parties|neither party|no party|the parties"

RULES = (
    Rule(
        id="exclusivity",
        category="Exclusivity",
        severity="MEDIUM",
        harms="subject",
        en=(
            r"exclusive(?:ly)? … (?:supplier|provider|manufacturer|source|vendor|supply|sponsor|purchase[rs]?\b|from (?:the )?(?:supplier|company|seller|manufacturer))",
            r"(?:purchase|obtain|procure|source|buy|order) … (?:exclusively|solely|only) (?:from|through)",
            rf"{_SHALL_NOT} … (?:purchase|obtain|procure|order|buy) … (?:from (?:any )?(?:other|third|person|source))",
            rf"{_SHALL_NOT} (?:\w{{2,14}},? ){{0,5}}(?:sell|distribute|market|promote|supply|appoint) (?:[\w-]{{2,14}},? ){{0,8}}(?:to any (?:other|third)|for any (?:other|third)|any other (?:third party|distributor|agent|person)|competing|competitive|any product)",
            r"(?:appoints?|engages?|designates?|retains?|grants?) … (?:sole|exclusive)(?: and exclusive)? (?:\w{3,14} ){0,2}(?:distributor|agent|supplier|manufacturer|dealer|representative|provider|right to (?:sell|distribute|market|promote|supply))",
        ),
        unless_en=(
            r"non-?exclusive",
            r"exclusive (?:jurisdiction|remed|property|venue|owner|of )",
            r"confidential",
            r"without (?:the )?(?:prior )?(?:written )?consent of",
            r"assign|transfer|sublicens|encumber",
            r"remains? exclusively|nothing (?:herein|in this)|exclusive supplier \w{2,12} ?agreement|agreement shall not",
        ),
        zh=(
            r"(?:独家|排他性?(?:地)?|唯一)(?:的)?(?:供应|采购|代理|经销|销售|合作|供货|服务|提供|委托|授权|承办|运营|供应商|代理商|经销商|合作(?:方|伙伴))",
            r"(?:不得|不能) … (?:与|向|从|委托|使用)(?:任何)?(?:其他|第三方|第三人|其它|他人|竞争) …24 (?:合作|采购|购买|提供|销售|供应|签订|同类|相同|类似)",
        ),
        unless_zh=(r"非独家|非排他", r"管辖", r"保密|泄露|披露|商业秘密", r"转让|转包|分包"),
        risk=Wording(
            "One party ties itself to the other alone and loses the choice of partners.",
            "约定独家或排他合作，受限方丧失选择其他合作方的自由。",
        ),
        suggestion=Wording(
            "Limit exclusivity by product, territory and time, against a minimum that ends it when missed.",
            "限定产品、地域和期限，并以对方完成最低业绩为前提，未达标则自动终止排他。",
        ),
        confidence=0.65,
    ),
    Rule(
        id="non-compete",
        category="Non-Compete",
        severity="MEDIUM",
        harms="subject",
        en=(
            rf"{_SHALL_NOT} … (?:compete|competing|competitive|competition|competitor)",
            r"(?:refrain|prohibited|restricted|precluded) from … (?:compet)",
            r"non-?compet(?:e|ition) (?:period|covenant|obligation|restriction)",
        ),
        unless_en=(
            r"(?:nothing|shall not (?:be construed|prevent|restrict|prohibit|preclude)|not be (?:construed|prevented|restricted|prohibited|deemed))",
            r"competitive bid|competitively|confidential information",
            r"solicit",
            r"hire\b|affiliated with|fair competition|unfair",
        ),
        zh=(
            r"竞业(?:限制|禁止)",
            r"(?:不得|不能) … (?:从事|经营|参与|投资|开展|任职|设立|开发|加入) … (?:竞争|同类(?:业务|产品|或)|相同(?:或|业务)|类似)",
        ),
        unless_zh=(r"不(?:负有|承担|受)竞业", r"不适用"),
        judge=by_length(((731, "HIGH"),), "MEDIUM", longest_said),
        risk=Wording(
            "A ban on competing narrows the business or the livelihood of the party bound.",
            "竞业限制约束受限方的经营或就业自由，期限、范围过宽可能无效。",
        ),
        suggestion=Wording(
            "Limit it to named competitors, the territory served and at most 6-12 months after the end, against pay.",
            "限定具体竞争对象、地域与期限（离职人员不超过二年并按月补偿）。",
        ),
    ),
    Rule(
        id="non-solicit-employees",
        category="No-Solicit Of Employees",
        severity="LOW",
        harms="subject",
        en=(
            rf"{_SHALL_NOT} … \b(?:solicit|recruit|hire|employ|induce|entice)\b … (?:employees?|personnel|staff|consultants?)\b",
        ),
        unless_en=(r"(?:sales|purchase) orders?", r"child|labor"),
        zh=(
            r"(?:不得|不能) … (?:招揽|聘用|雇佣|雇用|挖走|挖角|录用|招聘|引诱|劝诱) … (?:员工|雇员|人员|职工|团队)",
        ),
        judge=by_length(((540, "MEDIUM"),), "LOW"),
        risk=Wording(
            "Hiring the other party's people is forbidden, perhaps for long.",
            "限制聘用对方员工，期限过长将影响用人。",
        ),
        suggestion=Wording(
            "Limit it to people met through the project, 6-12 months, and except general advertisements.",
            "限于项目中接触的人员、6至12个月，并排除公开招聘。",
        ),
        confidence=0.75,
    ),
    Rule(
        id="non-solicit-customers",
        category="No-Solicit Of Customers",
        severity="MEDIUM",
        harms="subject",
        en=(
            rf"{_SHALL_NOT} … (?:solicit|divert|contact|approach|call (?:on|upon)|interfere|take away) … (?:customers?|clients?|accounts?|merchants?|business relation)",
        ),
        zh=(
            r"(?:不得|不能) … (?:招揽|接触|争取|联系|引诱|拉拢|抢夺|截留|招徕) … (?:客户|用户|商户)",
        ),
        risk=Wording(
            "A party may not serve customers that it could otherwise win.",
            "限制接触客户，影响自身业务拓展。",
        ),
        suggestion=Wording(
            "Limit it to customers introduced by the other party, for at most 12 months.",
            "限于对方介绍的客户、不超过12个月。",
        ),
    ),
    Rule(
        id="assignment-free",
        category="Anti-Assignment",
        severity="MEDIUM",
        harms="other",
        one_sided=True,
        en=(
            r"(?:may|(?:have|has|reserves?) the right to|free to|entitled to|freely) (?:\w{2,14} ){0,4}(?:assign|transfer|sell|novate|delegate) … without (?:the )?(?:\w{2,14} ){0,4}(?:consent|approval|permission|notice)",
            r"(?:this agreement|it) (?:may be|is|shall be) (?:freely |fully )?(?:assign|transfer)\w{0,4} (?:in whole or in part )?by (?:the )?\w",
        ),
        unless_en=(
            r"(?:either|each|any|both) part",
            r"(?:may|shall) not|neither|except|not be",
            r"affiliate|successor|merger|acquisition|substantially all",
        ),
        zh=(
            r"(?:有权|可以?|可) … (?:转让|转移|让与) … (?:无需|无须|不必|不需|不经|未经|而无需) …12 (?:同意|许可|通知)",
            r"(?:无需|无须|不必|不经) …10 (?:同意|许可) … (?:转让|转移)",
        ),
        unless_zh=(r"双方|任何一方", r"无权"),
        risk=Wording(
            "One party may hand the contract to anybody; the other may face a partner it never chose.",
            "一方可不经同意将合同转让给任何人，对方可能面对未经选择的履约主体。",
        ),
        suggestion=Wording(
            "Require consent, not to be refused without reason; allow affiliates against a guarantee.",
            "要求经书面同意（不得无理拒绝）；转让给关联方的由转让人承担担保责任。",
        ),
        law=law.TRANSFER_ALL,
    ),
    Rule(
        id="assignment-barred-one-sided",
        category="Anti-Assignment",
        severity="LOW",
        harms="subject",
        one_sided=True,
        en=(
            r"(?:may|shall|will|can)(?:not| not) (?:\w{2,14} ){0,4}(?:assign|transfer) … (?:this agreement|rights|obligations|interest)",
            r"(?:may|shall) not be assigned … by (?:the )?\w",
        ),
        unless_en=(rf"{_BOTH}|any party|a party", r"neither|nor may", r"confidential|title to"),
        zh=(
            r"[乙丙]方(?:均)?(?:不得|无权) …30 (?:转让|转移|转包|让与)",
            r"甲方(?:均)?(?:不得|无权) …30 (?:转让|转移|让与)",
        ),
        unless_zh=(r"双方|任何一方", r"租赁|转租", r"保密|知识产权|著作权|技术资料"),
        risk=Wording(
            "Only one party needs consent to assign; a sale or reorganisation of its business is blocked.",
            "仅限制一方转让合同，可能妨碍其业务重组。",
        ),
        suggestion=Wording(
            "Make the rule mutual and free transfers within the group or with the business.",
            "改为双方对等，并允许集团内部或随业务整体转让。",
        ),
        law=law.TRANSFER_DEBT,
        confidence=0.6,
    ),
    Rule(
        id="subcontracting-free",
        category="Anti-Assignment",
        severity="LOW",
        harms="other",
        one_sided=True,
        en=(
            r"(?:may|(?:have|has|reserves?) the right to|free to|entitled to) (?:\w{2,14} ){0,4}(?:subcontract|sub-contract|delegate|outsource) … without (?:the )?(?:\w{2,14} ){0,4}(?:consent|approval|notice)",
        ),
        unless_en=(r"(?:may|shall|can) not\b|cannot|neither|\bnor\b|no part",),
        zh=(
            r"(?:有权|可以?|可) … (?:转包|分包|转委托|外包|再许可) …30 (?:无需|无须|不必|不需)",
            r"(?:无需|无须|不必|未经) …10 同意 … (?:即可|可以?|有权) …6 (?:转包|分包|转委托)",
        ),
        risk=Wording(
            "Work may be passed on to unknown subcontractors.",
            "可不经同意转包或分包，履约质量与保密难以控制。",
        ),
        suggestion=Wording(
            "Require consent to named subcontractors and full liability for them.",
            "分包须经书面同意，并对分包人行为承担全部责任。",
        ),
    ),
    Rule(
        id="change-of-control",
        category="Change Of Control",
        severity="MEDIUM",
        harms="subject",
        en=(
            r"change (?:of|in) control … (?:terminat|consent|deemed|default|assign|right to|option)",
            r"(?:terminate|deemed) … change (?:of|in) (?:the )?(?:control|ownership)",
            r"(?:merger|sale of (?:all|substantially)|transfer of (?:a )?(?:majority|controlling)|acquisition) … (?:deemed (?:to be )?an? (?:assignment|transfer)|may terminate|terminate this)",
        ),
        unless_en=(
            r"without (?:the )?(?:prior )?(?:written )?consent",
            r"not (?:be deemed|constitute|require)",
            r"except|provided|severance|employee",
        ),
        zh=(
            r"(?:控制权|控股权|实际控制人|控股股东|股权结构|股东|股权)(?:发生)?(?:变更|变化|转移|变动) … (?:解除|终止|视为|违约|同意)",
            r"(?:并购|合并|分立|重组|收购) … (?:有权|视为) … (?:解除|终止|违约)",
        ),
        risk=Wording(
            "A change in ownership lets the other party end the contract or counts as a breach.",
            "控制权或股权变动将触发解除或违约，影响融资与并购。",
        ),
        suggestion=Wording(
            "Limit it to a sale to a named competitor, and exclude reorganisations within the group.",
            "限于被特定竞争对手收购的情形，并排除集团内部重组。",
        ),
        confidence=0.65,
    ),
    Rule(
        id="right-of-first-refusal",
        category="Rofr/Rofo/Rofn",
        severity="LOW",
        harms="other",
        en=(
            r"(?:right of |rights of )?first (?:refusal|offer|negotiation|opportunity)\b",
            r"first (?:right|option) to (?:purchase|negotiate|acquire|license|buy|match)",
            r"right to match\b|matching right",
        ),
        unless_en=(r"no right of first|waive|not (?:be )?subject to",),
        zh=(r"优先(?:购买|受让|认购|收购|谈判|合作|续约)(?:的)?权",),
        unless_zh=(r"放弃|承租人|出租|租赁|优先承租",),
        risk=Wording(
            "A right of first refusal slows down or deters a later sale or licence to others.",
            "优先权会延缓或阻碍日后向第三方出售或许可。",
        ),
        suggestion=Wording(
            "Set a short period (15-30 days) to accept, and end the right with the contract.",
            "约定较短的行使期限（15至30日），并随合同终止而消灭。",
        ),
        confidence=0.7,
    ),
    Rule(
        id="non-disparagement",
        category="Non-Disparagement",
        severity="LOW",
        harms="subject",
        one_sided=True,
        en=(
            rf"{_SHALL_NOT} … (?:disparag|defam|derogat|denigrat|tarnish|disrepute)",
            r"(?:disparag|defam)\w{2,5} (?:statements?|remarks?|comments?)",
        ),
        unless_en=(rf"{_BOTH}", r"(?:construed|deemed|interpreted) (?:so as )?to"),
        zh=(
            r"不得 … (?:诋毁|贬低|贬损|负面(?:评价|言论)|损害[甲乙]方(?:的)?(?:声誉|名誉|商誉|形象))",
        ),
        unless_zh=(r"双方|任何一方",),
        risk=Wording(
            "Only one party must refrain from criticism, which may cover true statements too.",
            "仅一方受不得贬损义务约束，可能涵盖真实陈述。",
        ),
        suggestion=Wording(
            "Make it mutual and except true statements required by law.",
            "改为双方对等，并排除依法所作的真实陈述。",
        ),
    ),
)
