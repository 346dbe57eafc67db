"""PostgreSQL and Redis for the peers: of the benchmark alone, gone when it ends."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from stagepost.devservices import environment
from stagepost.devservices.catalogue import SERVICES
from stagepost.devservices.folder import default_folder, open_folder
from stagepost.devservices.lifecycle import Services


@contextmanager
def running() -> Iterator[Mapping[str, str]]:
    """Their addresses while they run, as the peers read them.

    Under names of their own: the peers empty what they are pointed at, so no shell's settings may
    ever reach them.
    """
    folder = open_folder(default_folder(os.environ, Path.home()).with_name("bench-services"))
    services = Services(folder, SERVICES, notify=lambda line: print(line, file=sys.stderr))
    try:
        services.start(SERVICES)
        settings = environment.read(folder)
        yield {
            "BENCH_POSTGRES": settings["STAGEPOST_STORE"],
            "BENCH_REDIS": settings["STAGEPOST_BUS"],
        }
    finally:
        services.stop(SERVICES)
        shutil.rmtree(folder)
