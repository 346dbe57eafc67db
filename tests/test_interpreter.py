"""How the interpreter of a serving process is set; in a process of its own, since it stays so."""

import subprocess
import sys

TUNED = """
import gc, sys
from stagepost import interpreter
interpreter.tune()
print(sys.getswitchinterval() < 0.005, gc.get_freeze_count() > 1000, gc.isenabled())
"""


def test_the_interpreter_is_set_for_serving() -> None:
    done = subprocess.run([sys.executable, "-c", TUNED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"]
