"""Redis as its own defaults have it for a broker: in memory, the fastest that it can be."""

import redis


def without_durability(url: str) -> None:
    """Turn off the append-only file and snapshots, and empty the server.

    Whoever measures a durable store against a Redis peer gives the peer this advantage.
    """
    server = redis.Redis.from_url(url)
    server.config_set("appendonly", "no")
    server.config_set("save", "")
    server.flushall()
    server.close()
