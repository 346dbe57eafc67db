"""Benchmarks: each against a peer or a bare limit in the same run (docs/performance.md)."""
