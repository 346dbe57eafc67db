"""What the providers of the models of models.toml lend, as limits."""

from collections.abc import Sequence
from typing import NamedTuple

from stagepost.limit import Limit
from stagepost.llm.catalogue import Catalogue
from stagepost.llm.reserving import limits_of


class LentRule(NamedTuple):
    """A limit of a model, and the model's name."""

    limit: Limit
    model: str


def model_limits(models: Catalogue | None) -> Sequence[LentRule]:
    """Those of every model that models.toml names; of none where there is no such file."""
    if models is None:
        return ()
    return [
        LentRule(limit, model.name)
        for model in models.named()
        for limit in limits_of(model).values()
    ]
