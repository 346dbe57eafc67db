"""Runs every test; the few that fail are looked at once more, each by itself.

Thousands of these tests wait for processes, databases and clocks of the machine, and a machine
that is held up for seconds fails one of them now and then. Such a test passes the second time, is
named as unsteady, and wants mending. A broken guarantee is never looked at twice: what chance has
found once is a finding, with the seed that replays it.
"""

import subprocess
import sys

import pytest

MOST = 3
"""Tests that are looked at again: where more fail, the machine is not to blame."""

FINDINGS = ("GuaranteeBroken", "Falsifying example")
"""What stands in the report of a failure that chance has found."""

LONGEST = 1800
"""Seconds for the second look."""


class Failures:
    """A plugin that remembers what failed."""

    def __init__(self) -> None:
        self.reports: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Hears of each phase of each test."""
        if report.failed:
            self.reports.append(report)

    @property
    def tests(self) -> list[str]:
        """What failed, in its order."""
        return list(dict.fromkeys(report.nodeid for report in self.reports))

    @property
    def findings(self) -> bool:
        """Whether chance has found something."""
        return any(sign in report.longreprtext for report in self.reports for sign in FINDINGS)


def main() -> int:
    """Exit code 0 if everything has passed, at last in the second look; else pytest's own."""
    failures = Failures()
    code = pytest.main(plugins=[failures])
    tests = failures.tests
    if code != pytest.ExitCode.TESTS_FAILED or failures.findings or len(tests) > MOST:
        return code
    print(f"\nLooking again, each by itself, at {len(tests)} that failed:", flush=True)
    for test in tests:
        done = subprocess.run([sys.executable, "-m", "pytest", test], timeout=LONGEST, check=False)
        if done.returncode != 0:
            return done.returncode
    print("\nUNSTEADY: failed once and passed by itself. Please mend:", *tests, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
