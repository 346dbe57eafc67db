"""Recipes that run: one module each, with an `app`. README.md lists them."""
