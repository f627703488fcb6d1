"""H as small dense products, not stored."""
