"""What the calls of some steps have cost."""

from collections.abc import Collection, Mapping
from typing import Final

from stagepost.calls import PAGE_MOST
from stagepost.records import Scope
from stagepost.store import Calls

_MOST_PAGES: Final = 100


async def step_costs(
    calls: Calls, task_id: str, scope: Scope, paths: Collection[str]
) -> Mapping[str, int]:
    """Micro-dollars by the path of a step; one that has called nothing is left out.

    It reads the steps that have called from the first to the last of these paths, a hundred
    thousand at most.
    """
    if not paths:
        return {}
    wanted, last = frozenset(paths), max(paths)
    costs: dict[str, int] = {}
    # All that begins with a text lies behind it: so its first path is in the first page.
    after = min(paths)[:-1]
    for _ in range(_MOST_PAGES):
        page = await calls.spent_by_step(task_id, scope, after, PAGE_MOST)
        costs |= {each.path: each.spent.cost for each in page if each.path in wanted}
        if len(page) < PAGE_MOST or page[-1].path >= last:
            break
        after = page[-1].path
    return costs
