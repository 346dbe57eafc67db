"""For tests: run a handler in memory, prove that it can be replayed, and rule the time."""

from stagepost.testing.always_replay import always_replay
from stagepost.testing.fake_clock import FakeClock
from stagepost.testing.memory_journal import SavedFile
from stagepost.testing.run_task import TaskRun, run_task

__all__ = ["FakeClock", "SavedFile", "TaskRun", "always_replay", "run_task"]
