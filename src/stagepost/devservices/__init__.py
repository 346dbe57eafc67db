"""Real services for tests, benchmarks and a developer's shell, without Docker.

`lifecycle` starts, stops and reports; `catalogue` is the table of services. Linux only: processes
are known by what /proc says of them.
"""
