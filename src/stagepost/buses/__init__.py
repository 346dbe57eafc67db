"""The bus's adapters."""
