"""The simulated provider: a model's server for tests, benchmarks and trying without a key."""
