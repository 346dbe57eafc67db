"""What tenants may spend on models."""

from typing import Final

BUDGETS: Final = """
-- `amounts` are US dollars and their periods, with spaces between: 20/day 300/month.
CREATE TABLE tenant_budgets (tenant text COLLATE "C" PRIMARY KEY, amounts text NOT NULL);
"""
