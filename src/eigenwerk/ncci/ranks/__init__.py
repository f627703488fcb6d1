"""A case on several ranks: who has what."""
