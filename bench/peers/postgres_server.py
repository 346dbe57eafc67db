"""Databases for the peers on PostgreSQL, and how their last durable completion is seen."""

import time

import psycopg

_TIMEOUT = 60.0


def fresh_database(url: str, name: str) -> None:
    """Make an empty database of that name beside the one in `url`."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
        connection.execute(f'CREATE DATABASE "{name}"'.encode())


def address_of(url: str, name: str) -> str:
    """The address of the database of that name beside the one in `url`."""
    return f"{url.rpartition('/')[0]}/{name}"


def wait_until_zero(url: str, counting: str) -> float:
    """The monotonic time at which a counting query gave 0.

    Asked only once every handler has run, so that counting slows none of the work down.
    """
    last = time.monotonic() + _TIMEOUT
    with psycopg.connect(url, autocommit=True) as connection:
        while True:
            row = connection.execute(counting.encode()).fetchone()
            now = time.monotonic()
            if row == (0,):
                return now
            if now > last:
                raise SystemExit(f"{row} still counted {_TIMEOUT:.0f} s after the last handler ran")
            time.sleep(0.005)
