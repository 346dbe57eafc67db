"""Redrives that are over keep no input: it would outlive its task."""

from typing import Final

SPENT: Final = """
UPDATE mass_changes SET spec = json_set(spec, '$.resume',
    json('{"fresh": true, "from_step": null, "input": null, "uploads": []}'))
WHERE state <> 'running' AND json_extract(spec, '$.resume.input') IS NOT NULL;
"""
