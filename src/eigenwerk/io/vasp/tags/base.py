"""What a row of the table of INCAR tags says.

A tag is declared once; the reader, the messages, the help text and docs/formats/incar.md come from
its row.  Tags have one of three states:

honoured: eigenwerk does what the tag says;
inert:    the tag is known and cannot change the converged result, so it is accepted, ignored and
          reported with the reason;
refused:  the tag would change the result, or asks for a calculation, and the capability does not
          exist yet: an error by name, unless the value is one that means "off".

Single values of a tag may have a state of their own (`TagValue`).
"""

from dataclasses import dataclass

STATES = ("honoured", "inert", "refused")

KINDS = (
    "int", "float", "bool", "str", "word", "ints", "floats", "bools", "words",
    "bool|word", "float|word", "variants", "functional",
)  # fmt: skip
"""int … one value; ints … a list; str: the rest of the statement as it stands; word: one word;
a|b: either; variants: pairs Element:variant; functional: one word, or libxc's names joined by +."""


class Derived(str):
    """A default that is computed from other input, described in words: Derived('from PREC')."""


@dataclass(frozen=True)
class TagValue:
    """One value of a tag that needs words of its own.

    value: as it stands in `Incar.values`; status: '' means that of the tag; note: why it is ignored,
    what is missing, or how it is read here; remedy: what to write instead (refused values);
    severity: 'note' or 'warning' for values that are not refused; aliases: other spellings of a word.
    """

    value: object
    status: str = ""
    note: str = ""
    remedy: str = ""
    severity: str = "note"
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tag:
    """One row of the table.

    name: upper case, nested names with '/'; kind: one of KINDS; default: a value, None (unset) or
    `Derived` words; unit: of the value as written, '' without one; section: heading in the
    documentation; status: one of STATES; help: one or two sentences; note: why an inert tag changes
    nothing, or what a refused one would need; remedy: what to write instead of a refused value;
    off_values: values of a refused tag that mean "off"; choices: the legal values where they can be
    listed; at_least, above, at_most: bounds of numbers (numbers within bounds are legal besides the
    choices); first_letter: a word is recognised by its first letter alone; unsigned: the sign does not count.
    """

    name: str
    kind: str
    default: object
    unit: str
    section: str
    status: str
    help: str
    note: str = ""
    remedy: str = ""
    off_values: tuple[object, ...] = ()
    choices: tuple[TagValue, ...] = ()
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    first_letters: str = ""
    unsigned: bool = False

    def choice(self, value: object) -> TagValue | None:
        """The row for one value, None when the value has none."""
        for choice in self.choices:
            if same_value(choice.value, value):
                return choice
        return None

    def has_bounds(self) -> bool:
        """Whether numbers are legal by range and not only by enumeration."""
        return not (self.at_least is None and self.above is None and self.at_most is None)

    def within_bounds(self, number: float) -> bool:
        """Whether a number respects at_least, above and at_most."""
        low = (self.at_least is None or number >= self.at_least) and (self.above is None or number > self.above)
        return low and (self.at_most is None or number <= self.at_most)

    def bounds_text(self) -> str:
        """The bounds in words: 'at least 1', 'above 0', 'at least 0 and at most 1'."""
        parts = (("at least", self.at_least), ("above", self.above), ("at most", self.at_most))
        return " and ".join(f"{word} {bound:g}" for word, bound in parts if bound is not None)


def same_value(one: object, other: object) -> bool:
    """Equality that does not take True for 1, and compares words without case."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold() == other.casefold()
    return one == other


def show(value: object) -> str:
    """A value as it would be written in an INCAR file: .TRUE., 0.05, '1 1 -1', Si:v3."""
    if isinstance(value, bool):
        return ".TRUE." if value else ".FALSE."
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        pairs = value and isinstance(value[0], tuple)
        return " ".join(":".join(item) for item in value) if pairs else " ".join(show(item) for item in value)
    return str(value)


Row = tuple[str, str, object, str, str]
"""name, kind, default, unit, help of a tag that shares everything else with its group."""


def group(section: str, status: str, note: str, *rows: Row, remedy: str = "") -> tuple[Tag, ...]:
    """Tags of one section that share state, note and remedy."""
    return tuple(
        Tag(name, kind, default, unit, section, status, text, note=note, remedy=remedy)
        for name, kind, default, unit, text in rows
    )


def switches(section: str, what_is_missing: str, *rows: tuple[str, str], remedy: str = "") -> tuple[Tag, ...]:
    """Logical switches (name, help) that are refused unless they are off."""
    return tuple(
        Tag(name, "bool", False, "", section, "refused", text, what_is_missing,
            remedy or f"Remove the line or set {name} = .FALSE.", off_values=(False,))
        for name, text in rows
    )  # fmt: skip
