"""The process that the supervisor keeps alive: the API, a worker, the maintenance, or all."""
