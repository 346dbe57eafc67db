"""Files in, text with pages, offsets and clauses out; every parse in a sandboxed process."""
