"""`python -m stagepost` is the `stagepost` command."""

from stagepost.cli import main

main()
