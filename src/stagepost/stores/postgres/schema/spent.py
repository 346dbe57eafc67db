"""Redrives that are over keep no input: it would outlive its task."""

from typing import Final

SPENT: Final = """
UPDATE mass_changes SET spec = jsonb_set(spec::jsonb, '{resume}',
    '{"fresh": true, "from_step": null, "input": null, "uploads": []}')::text
WHERE state <> 'running' AND spec::jsonb #>> '{resume,input}' IS NOT NULL;
"""
