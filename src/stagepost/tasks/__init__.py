"""The built-in task types, each on the public API only.

`app` holds them all; an engine registers them beside the user's own.
"""

from stagepost import App
from stagepost.tasks.batch import app as _batch
from stagepost.tasks.contract_review.task import app as _contract_review

app = App()
app.include(_batch)
app.include(_contract_review)
