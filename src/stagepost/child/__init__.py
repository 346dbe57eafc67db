"""Processes that can be killed: for sync handlers, CPU work, and tasks whose worker died.

A child belongs to one slot of a worker and runs one thing at a time. It dies with its parent: the
kernel kills it (PDEATHSIG), and the end of their socket tells it too.
"""
