"""The flagship task: a contract in, a report that a lawyer or a buyer can act on out."""
