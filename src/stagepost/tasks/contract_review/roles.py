"""On which end of the bargain a name puts a party."""

from typing import Literal

Role = Literal["payer", "supplier", "unknown"]

_PAYERS = (
    "customer", "client", "buyer", "purchaser", "licensee", "lessee", "tenant", "distributor",
    "franchisee", "borrower", "employer", "sponsor", "reseller", "subscriber", "owner",
    "recipient", "user", "需方", "买方", "购买方", "采购方", "采购人", "委托方", "委托人",
    "承租方", "承租人", "发包方", "发包人", "定作方", "定作人", "被许可方", "受让方", "借款人",
    "借款方", "用人单位", "客户", "买受人", "经销商", "招标人", "业主",
)  # fmt: skip
_SUPPLIERS = (
    "supplier", "vendor", "seller", "provider", "contractor", "consultant", "licensor", "lessor",
    "landlord", "manufacturer", "franchisor", "lender", "employee", "developer", "servicer",
    "agency", "company", "供方", "卖方", "出卖人", "供应商", "供货方", "受托方", "受托人",
    "出租方", "出租人", "承包方", "承包人", "承揽方", "承揽人", "服务方", "服务商", "许可方",
    "转让方", "出借人", "出借方", "贷款人", "劳动者", "员工", "开发方", "施工方", "中标人",
)  # fmt: skip
CHINESE_ROLES = sorted(
    {word for word in _PAYERS + _SUPPLIERS if not word.isascii()}
    | {"保证人", "债权人", "债务人", "披露方", "接收方", "出让方", "抵押人", "抵押权人", "合作方"},
    key=len,
    reverse=True,
)
"""Names by which Chinese contracts introduce their parties, the longest first."""


def role_of(*names: str) -> Role:
    """Which end of the bargain a party's names put it on."""
    for name in names:
        lower = name.lower()
        if lower in _PAYERS or any(lower.endswith(f" {word}") for word in _PAYERS):
            return "payer"
        if lower in _SUPPLIERS or any(lower.endswith(f" {word}") for word in _SUPPLIERS):
            return "supplier"
    return "unknown"
