"""The playbook that ships with the product: risks by contract type, each with its legal basis.

The texts are our own. A user's own playbook joins through a collection (see the knowledge tasks).
"""

from stagepost.tasks.contract_review.playbook import (
    change,
    confidentiality,
    dispute,
    employment,
    indemnity,
    intellectual_property,
    lease,
    liability,
    payment,
    penalty,
    restriction,
    termination,
)
from stagepost.tasks.contract_review.rule import Rule

RULES: tuple[Rule, ...] = (
    *liability.RULES,
    *indemnity.RULES,
    *termination.RULES,
    *change.RULES,
    *payment.RULES,
    *penalty.RULES,
    *restriction.RULES,
    *intellectual_property.RULES,
    *confidentiality.RULES,
    *dispute.RULES,
    *employment.RULES,
    *lease.RULES,
)


def rules_named(ids: tuple[str, ...]) -> tuple[Rule, ...]:
    """The rules of these ids, in the playbook's order."""
    wanted = set(ids)
    return tuple(rule for rule in RULES if rule.id in wanted)
