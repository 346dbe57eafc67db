"""Categories of intellectual property, competition, transfer and law."""

from stagepost.tasks.contract_review.categories.category import Category

_NOT = r"(?:shall not|will not|may not|must not|agrees? not to|agrees? that (?:it|he|she|they) (?:shall|will) not|covenants? not to|cannot|neither|shall (?:refrain|cease)|nor|no)"

CATEGORIES = (
    Category(
        name="Governing Law",
        en=(
            r"(?:governed|construed|interpreted|enforced) … (?:the laws?|laws? of|(?:\w{4,14} )law\b|statutes)",
            r"laws? of … (?:shall |will |to )(?:govern|apply|control)",
            r"(?:governing|choice of) law … (?:shall be|is|of)",
            r"law … shall govern|(?:controlled by|in accordance with) the laws of|governed by (?:\w{2,12} )?laws?",
        ),
        unless_en=(
            r"duly (?:organized|incorporated)|corporation organized|existing under the laws|securities laws",
        ),
        zh=(r"(?:适用|依据|依照|受) … 法律", r"(?:法律适用|准据法)"),
        unless_zh=(r"不违反|符合|遵守",),
        reach=140,
    ),
    Category(
        name="Competitive Restriction Exception",
        en=(
            r"(?:notwithstanding|except|other than|provided,? (?:however|that)|unless|but (?:shall|may)|nothing) … (?:compet|exclusiv|restrict|solicit|engag)",
            r"(?:shall|will|may) not (?:be )?(?:prohibit|restrict|preclud|prevent)\w{0,3} … (?:own|invest|sell|engag|compet|market|licens)",
            r"(?:ownership|own\w{0,3}|investment) … (?:less than|not more than|up to|no more than) … (?:percent|%) … (?:public|outstanding|securities|stock)",
        ),
        unless_en=(r"confidential|jurisdiction|arbitrat|remed(?:y|ies)|liab",),
        zh=(r"(?:不受|除外|不适用) …16 (?:竞业|排他|独家)",),
        reach=160,
    ),
    Category(
        name="Non-Compete",
        en=(
            rf"{_NOT} … (?:compet(?:e|es|ing|itive|ition|itor)|similar (?:business|product|service)|same (?:business|product)|engage in|be employed by|cooperation with|operate or grant|enfranchise)",
            r"(?:refrain|prohibit\w{0,3}|restrict\w{0,3}|preclud\w{0,3}) from … (?:compet|engag|sell|market)",
            r"non-?compet|covenants? not to compete|competitive business|restricted (?:business|period|territory)",
        ),
        unless_en=(
            r"competitive bid|confidential|fair competition|not in competition|information (?:concerning|about)",
        ),
        zh=(r"竞业(?:限制|禁止)", r"不得 … (?:竞争|同类|相同)(?:业务|产品|或)?"),
        reach=230,
    ),
    Category(
        name="Exclusivity",
        en=(
            r"(?<!non-)(?<!non )(?<!non)exclusive(?:,|\b)(?! remed| jurisd| discret) … (?:licen[sc]e|right|distributor|agent|supplier|manufacturer|dealer|representative|provider|territory|sponsor|appoint|basis|access|option|arrangement|relationship|market|vendor|source|promot|trade area|period)",
            r"(?:sole|only) (?:and exclusive )?(?:supplier|distributor|provider|source|agent|sponsor|manufacturer)",
            r"(?:purchas|obtain|process|licens|deal|promot|sell|sold|use|distribut)\w{0,4} … exclusively|exclusively (?:from|through|with|to (?!the extent)\w)",
            rf"{_NOT} … (?:purchase|order|obtain|procure|appoint|license|grant|sell|distribute|promote|market|use|engage|collaborate|contract|enter into|permit|sponsor|endorse) … (?:other (?:person|party|source|entity|supplier)|any (?:other|third)|another|anyone|competit|competing)",
            r"(?:purchase|obtain|order|use) … (?:all|one hundred percent|100%) … (?:requirements|needs) … from",
            r"exclusivity|exclusive territory|exclusive licen",
            r"(?:nor will|not|shall be prohibited from) … (?:grant|licens|develop|permit|enter into) … (?:to any other|to others|for any (?:other|third)|other party|new binding)",
        ),
        unless_en=(
            r"exclusive (?:jurisdiction|venue|remed|propert|own|control|discretion|forum|benefit|of any)|exclusively responsible|reserved exclusively",
            r"confidential information|disclos\w{0,3}|lien",
        ),
        zh=(
            r"独家|排他|唯一(?:供应|代理|经销|合作)",
            r"不得 … (?:与|向|从)(?:任何)?(?:其他|第三方|第三人) …24 (?:合作|采购|购买|提供|销售|供应)",
        ),
        unless_zh=(r"非独家|非排他|管辖",),
        reach=80,
    ),
    Category(
        name="No-Solicit Of Customers",
        en=(
            rf"{_NOT} … (?:solicit|divert|contact|approach|call upon|interfere|target|pursue|disrupt|take away) … (?:customers?|clients?|accounts?|merchants?|business relation|sales)",
        ),
        zh=(r"不得 … (?:招揽|接触|争取|联系|引诱|拉拢|抢夺|截留) … (?:客户|用户|商户)",),
        reach=170,
    ),
    Category(
        name="No-Solicit Of Employees",
        en=(
            r"(?:solicit|recruit|hire|hiring|induce|entice|employ) … (?:employees?|personnel|staff|person who is employed|for employment)\b",
        ),
        unless_en=(
            r"benefit plan|taxes|employees? of (?:the )?(?:either|each) party are|wages|salary|workers' compensation|shall (?:hire|employ) (?:and|all|sufficient|qualified)|training|equal opportunity|payroll|indemnif",
        ),
        zh=(r"不得 … (?:招揽|聘用|雇佣|雇用|挖走|录用|招聘|引诱) … (?:员工|雇员|人员|职工)",),
        reach=120,
    ),
    Category(
        name="Non-Disparagement",
        en=(
            r"disparag|derogat(?:e|ory|ing)|denigrat|disrepute|tarnish|defam(?:e|ing|atory)",
            rf"{_NOT} … (?:injur\w{{1,5}}|harm\w{{0,5}}|adverse\w{{0,2}}|damage) … (?:reputation|goodwill|image|business of)",
            r"refrain from … (?:injur|harm|damag|detriment) … (?:goodwill|reputation|business)",
        ),
        unless_en=(r"without derogat|derogation|indemnif|not derogate",),
        zh=(r"(?:诋毁|贬低|贬损|负面评价)", r"不得 … 损害 … (?:声誉|名誉|商誉|形象)"),
        reach=100,
    ),
    Category(
        name="Rofr/Rofo/Rofn",
        en=(
            r"first (?:refusal|offer|negotiation|opportunity|right|option|consideration)|rofr|rofo|rofn",
            r"(?:call|put) (?:option|shares|exercise)|option to (?:purchase|acquire|buy|license|negotiate)",
            r"(?:right|option) to (?:match|purchase (?:all|any|the|from))",
            r"(?:bona fide|third party) offer",
            r"exercises? (?:its|this|the|such) (?:option|right of first)",
            r"good faith negotiations? … (?:rights|license|definitive)",
        ),
        unless_en=(r"stock options? (?:plan|grant)|remed(?:y|ies)|insurance|terminate",),
        zh=(
            r"优先(?:购买|受让|认购|承租|续租|收购|谈判|合作|续约)(?:的)?权",
            r"同等条件下 …12 优先",
        ),
        reach=80,
    ),
    Category(
        name="Change Of Control",
        en=(
            r"change (?:of|in) (?:\w{3,12} )?(?:control|ownership)",
            r"(?:merger|consolidation|sale of (?:all|substantially)|acquisition|acquired by|reorganization) … (?:terminat|assign|consent|deemed|successor|notice|right)",
            r"(?:terminat|assign|consent|deemed)\w{0,4} … (?:merger|consolidation|sale of (?:all|substantially)|change of control|acquir(?:es|ed|ing) (?:control|more than|a majority))",
            r"(?:transfer|sale|acquisition|acquires?) … (?:majority|controlling|(?:fifty|50) ?(?:percent|%)|more than (?:fifty|50)) … (?:interest|shares|stock|voting|securities|equity)",
        ),
        unless_en=(r"benefit plan|severance|financial statements",),
        zh=(
            r"(?:控制权|控股权|实际控制人|控股股东|股权结构) …6 (?:变更|变化|转移|变动)",
            r"(?:合并|分立|重组|收购) …24 (?:解除|终止|同意|承继)",
        ),
        reach=150,
    ),
    Category(
        name="Anti-Assignment",
        en=(
            r"(?:may not|shall not|will not|cannot|neither|not be|nor|may only|prohibit\w{0,3}) … (?:assign|transfer|delegate|subcontract)\w{0,8} … (?:agreement|rights?|obligations?|interest|hereunder|consent|approval|void|duties|license|part\b)",
            r"(?:assign|transfer|delegat|subcontract)\w{0,6} … (?:without|only with|prior|written) … (?:consent|approval)",
            r"\bno (?:transfer|assignment)\b|must not assign",
            r"(?:assignment|transfer)\b … (?:void|without effect|not permitted|prohibited|null)",
            r"consent … (?:assign(?:ment|ed)?|transfer)\b",
            r"(?:may|right to) (?:freely )?(?:assign|transfer) (?:this|its|all|any)",
            r"(?:deemed|constitute) … (?:assignment|transfer)\b",
        ),
        unless_en=(
            r"confidential information|wire transfer|data transfer|technology transfer|assigned to (?:perform|the project)|employees? assigned|risk of loss|transfer tax|transfer agent|benefit of creditors|indemnif",
        ),
        zh=(r"(?:不得|未经|有权|可以?) … (?:转让|转移|让与|转包|转委托)",),
        unless_zh=(r"技术转让费|所有权转移",),
        reach=90,
    ),
    Category(
        name="Ip Ownership Assignment",
        en=(
            r"(?:hereby )?(?:irrevocably )?(?:assigns?|agrees? to assign|shall assign|will assign|transfers?|conveys?) … (?:right,? title|intellectual property|invention|copyright|patent|trademark|ownership|work product|improvement|know-how|ind\b)",
            r"works? (?:made )?for hire",
            r"(?:shall|will) (?:be (?:the )?(?:sole |exclusive )?(?:and exclusive )?(?:property of|owned (?:solely |exclusively )?by)|vest in|belong to|(?:be )?exclusively owned|become the sole|become the (?:property|exclusive))",
            r"(?:assigns?|acquires?) … (?:rights? it may have|title|interest therein)",
            r"(?:invention|intellectual property|improvement|work product|data|results|developments?|materials|software|copyright|patent)\w{0,3} … (?:shall (?:be (?:the )?(?:sole |exclusive )?(?:and exclusive )?(?:property|owned)|belong|vest|remain the)|is owned|are owned|are the (?:sole |exclusive )?property)",
            r"own(?:s|ed)? (?:all|the entire|exclusively) … (?:right|title|intellectual|invention)",
        ),
        unless_en=(
            r"assign (?:this|its rights|the agreement)|successors and|each party (?:shall )?retain|benefit of creditors|may not assign",
        ),
        zh=(
            r"(?:知识产权|著作权|版权|专利(?:申请)?权|成果|源代码) … (?:归|属于|属) …4 [甲乙]方",
            r"(?:知识产权|著作权|专利|成果) … (?:转让|转移)",
        ),
        reach=110,
    ),
    Category(
        name="Joint Ip Ownership",
        en=(
            r"(?:jointly|joint|co-)\s?-?own(?:ed|s|ers?|ership)?",
            r"(?:own|owned|vest\w{0,3}|belong) (?:\w{2,14} ){0,4}jointly",
            r"joint (?:intellectual property|ip|invention|patent|technology|results|know-how|improvement)",
            r"equal(?:,)? undivided (?:interest|half)",
        ),
        unless_en=(r"joint venture|subsidiar|entity",),
        zh=(
            r"(?:知识产权|著作权|专利(?:申请)?权|成果|技术) … (?:双方)?(?:共有|共同所有|共同享有|共同拥有)",
        ),
    ),
    Category(
        name="License Grant",
        en=(
            r"(?:grants?|granting|conveys|provides) … (?:licen[sc]es?|sublicen[sc]es?|right to use|rights? to (?:sell|distribute|market|promote|exhibit)|right and (?:licen|privilege)|permission|unlimited right)",
            r"(?:licen[sc]e|right) (?:is |are )?(?:hereby )?granted",
            r"(?:hereby )?licen[sc]es? (?:to|the) … (?:use|right|software|technology|marks)",
            r"(?:shall have|has|have|with) (?:the|a|an) (?:non-?exclusive|exclusive|worldwide|royalty-free|limited|perpetual|unlimited)[\w,; -]{0,80} (?:licen[sc]e|right) … (?:use|sublicens|make|sell|reproduce|practice|exploit)",
            r"(?:right|permission) to use … (?:name|marks?|trademarks?|logo|software|likeness|content|technology|process)",
        ),
        unless_en=(r"\bno (?:license|right)|not (?:be )?(?:construed|deemed|grant)|liquor|driver",),
        zh=(r"(?:授予|许可|授权) … (?:使用|许可|权利)", r"许可(?:方式|范围|期限)"),
        unless_zh=(r"未经|不得",),
        reach=280,
    ),
    Category(
        name="Non-Transferable License",
        en=(
            r"non-?\s?(?:transferable|assignable|sub-?\s?licen[sc]e?able)|personal,? (?:and )?non-?exclusive",
            r"licen[sc]e … (?:not|without the right to) … (?:transfer|assign|sublicen)",
            r"(?:no right to|may not|shall not|not have the right to) (?:\w{2,12},? ){0,3}sub-?licen[sc]e",
        ),
        zh=(r"不可转让", r"不得转让\S{0,8}许可|不得再许可|不得转授权"),
        reach=80,
    ),
    Category(
        name="Affiliate License-Licensor",
        en=(
            r"(?:on behalf of|itself and|and its|for itself and) … affiliates … grants?",
            r"(?:owned|controlled|held) (?:\w{2,12} ){0,3}by … (?:affiliates|company entity|subsidiaries)",
            r"grants? … (?:licen[sc]e) … (?:owned|controlled|held) … affiliates",
        ),
        unless_en=(r"securities|shares|stock",),
        zh=(r"(?:及其|和其)关联(?:方|公司) …12 (?:授予|许可)",),
        reach=120,
    ),
    Category(
        name="Affiliate License-Licensee",
        en=(
            r"(?:grants?|licen[sc]es?|right to use) … (?:and|or|to|of) (?:its|their|any|one or more of its|an?) (?:\w{3,12} )?affiliates",
            r"(?:sublicen[sc]e|licen[sc]e|transfer|use) … (?:to|by) (?:one or more of )?(?:its|any|an|their) affiliates?",
        ),
        unless_en=(r"confidential|indemnif|assign this",),
        zh=(r"(?:授予|许可) …12 (?:及其|和其)关联(?:方|公司)",),
        reach=120,
    ),
    Category(
        name="Unlimited/All-You-Can-Eat-License",
        en=(
            r"unlimited (?:\w{3,14} ){0,3}(?:right|licen[sc]e|use|usage|users|copies|number)",
            r"(?:enterprise|site)[- ]wide licen[sc]e",
        ),
        zh=(r"(?:不限|无限)(?:次数|数量|用户|使用)",),
    ),
    Category(
        name="Irrevocable Or Perpetual License",
        en=(
            r"(?:perpetual|irrevocable)(?:,|\b) … (?:licen[sc]e|right)",
            r"(?:licen[sc]e|rights?) … (?:perpetual|irrevocable|in perpetuity)",
        ),
        unless_en=(
            r"proxy|power of attorney|letter of credit|consent to|jurisdiction|submit|waive|confidential|irrevocably (?:waive|submit|consent|appoint|agree)",
        ),
        zh=(r"(?:永久|不可撤销|无限期) …12 (?:许可|授权|使用)",),
        reach=100,
    ),
    Category(
        name="Source Code Escrow",
        en=(
            r"escrow … (?:source|code|agent|agreement|deposit|release)",
            r"(?:source code|deposit) … escrow",
            r"source code access|release conditions?",
        ),
        unless_en=(r"escrow (?:account|funds?|amount|shares)|purchase price|closing",),
        zh=(r"源代码 …8 (?:托管|提存)",),
    ),
    Category(
        name="Covenant Not To Sue",
        en=(
            r"covenants? not to (?:sue|assert|bring|commence|challenge)",
            r"(?:not|never|nor|any) … (?:contest|challeng|disput|attack|oppos|question|impair|impugn)\w{0,3} … (?:validity|ownership|title|rights?|registration|enforceab|use|patent|mark)",
            r"(?:not|never|nor) (?:to )?(?:\w{2,14},? ){0,4}(?:sue|bring (?:any )?(?:suit|action|claim)|assert (?:any|a) (?:claim|right))\b",
            r"not … (?:petition|invoke|commence|file) … (?:court|bankruptcy|proceeding|suit|action)",
            r"(?:releases?|discharges?|waives?) … (?:claims|causes of action|liabilit) … (?:whatsoever|known|unknown|of any kind|against)",
        ),
        unless_en=(r"jurisdiction|venue|invoice|statute",),
        zh=(
            r"不得 …12 (?:质疑|挑战|争议|异议) …16 (?:有效性|权属|权利|所有权)",
            r"不(?:得)?(?:提起|追究) …8 (?:诉讼|仲裁|责任)",
        ),
        reach=110,
    ),
    Category(
        name="Third Party Beneficiary",
        en=(
            r"third[- ]party beneficiar",
            r"(?:intended|express) beneficiar",
        ),
        unless_en=(
            r"\bno (?:intended )?(?:third|other)|not (?:intended|be|confer|create)|nothing|there are no|is no third|without|neither|exclude",
        ),
        zh=(r"第三(?:方|人)受益", r"利益第三人"),
    ),
)
