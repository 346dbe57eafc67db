"""What makes a change of the ledger show: canonical entries, seals, their chain. Pure data.

An *entry* is one fact about a call, as a hash over those of the call's columns that never change
from then on. A *seal* holds the entries of one tenant that came together, in a fixed order, and is
*chained*: its last hash is over its own entries and the seal before it. Seals are copied to an
*anchor* outside the store, so that whoever can write to the store can't undo them.
"""
