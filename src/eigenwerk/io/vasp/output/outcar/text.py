"""Lines that several parts of OUTCAR share."""

RULE = f"\n\n{'-' * 104}\n\n\n"
"""Between the parts; readers of plane-wave counts look for exactly this."""


def banner(words: str, width: int, before: int) -> str:
    """A line of dashes with words in it."""
    return f"{'-' * before}{words}".ljust(width, "-")


def entry(name: str, value: str, rest: str = "") -> str:
    """A tag and its value: `   ISPIN  =      2    spin polarized calculation?`."""
    return f"   {name:<7}= {value:>10}    {rest}".rstrip() + "\n"
