"""What `stagepost doctor` looks at: the machine, the store, the app, the server."""

from stagepost.diagnosis.examine import examine
from stagepost.diagnosis.finding import Finding, Level

__all__ = ["Finding", "Level", "examine"]
