"""The smallest clients that prove what a service holds."""

import socket
import subprocess
from urllib.parse import urlsplit


def sql(url: str, statement: str) -> str:
    command = ["psql", "--no-psqlrc", "--no-password", "-At", "-d", url, "-c", statement]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout.strip() or done.stderr.strip()


def redis(url: str, *words: str) -> str:
    """The raw answer to one command after the password was given."""
    parts = urlsplit(url)
    assert parts.hostname
    assert parts.port
    address = (parts.hostname, parts.port)
    with (
        socket.create_connection(address, timeout=10) as connection,
        connection.makefile("rb") as answer,
    ):
        for command in (["AUTH", parts.password or ""], list(words)):
            line = "".join(f"${len(word)}\r\n{word}\r\n" for word in command)
            connection.sendall(f"*{len(command)}\r\n{line}".encode())
        connection.shutdown(socket.SHUT_WR)
        return answer.read().decode()
