"""Files in their own units, no physics."""
