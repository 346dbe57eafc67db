"""River on PostgreSQL by its bulk insert: the Go program in `river/`, built once and run."""

import argparse
import hashlib
import os
import subprocess
from pathlib import Path

from bench.peers.postgres_server import address_of, fresh_database

DATABASE = "bench_river"
_SOURCE = Path(__file__).parent / "river"
_BUILT = Path(__file__).resolve().parent.parent.parent / ".venv-bench" / "river"
_BUILD_TIMEOUT = 240.0


def build() -> Path:
    """The program, built anew when its source has changed."""
    source = b"".join((_SOURCE / name).read_bytes() for name in ("main.go", "go.mod", "go.sum"))
    program = _BUILT / hashlib.sha256(source).hexdigest()[:16]
    if not program.exists():
        command = ["go", "build", "-buildvcs=false", "-o", str(program), "."]
        subprocess.run(command, check=True, cwd=_SOURCE, timeout=_BUILD_TIMEOUT)
    return program


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, required=True, help="jobs")
    size = parser.parse_args().size
    program = build()
    fresh_database(os.environ["BENCH_POSTGRES"], DATABASE)
    url = address_of(os.environ["BENCH_POSTGRES"], DATABASE)
    subprocess.run(
        [str(program), "-size", str(size)],
        check=True,
        env={**os.environ, "BENCH_DATABASE": url},
        timeout=_BUILD_TIMEOUT,
    )


if __name__ == "__main__":
    main()
