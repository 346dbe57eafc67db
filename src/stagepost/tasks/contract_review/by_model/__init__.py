"""The review by a language model: one question a clause, and what of the answer is let through."""
