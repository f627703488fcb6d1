"""From the text of an INCAR statement to a typed value, by the row of the tag.

Prose after the values is allowed (`ENCUT = 200.01 eV`, `ISPIN = 1 (1=off)`); what looks like a
mistake in it (a second number, another statement) is reported.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher

from eigenwerk.errors import InputError
from eigenwerk.functionals.table import PARTS, libxc_functional
from eigenwerk.io.vasp.elements import ELEMENTS
from eigenwerk.io.vasp.fortran import is_int, is_number, to_bool, to_float
from eigenwerk.io.vasp.tags.base import Tag, TagValue, show

_REPEAT = re.compile(r"([0-9]{1,100})\*(\S+)")
_VARIANT = re.compile(r"([A-Z][a-z]?):([A-Za-z0-9._+-]+)")
_MOST_VALUES = 1_000_000
_LARGEST_INT = 2**31 - 1


class BadValue(ValueError):
    """The text is no value of this tag; the message says why."""


@dataclass(frozen=True)
class ReadValue:
    """A typed value, the text after it, and doubts about the way it was written."""

    value: object
    rest: str = ""
    doubts: tuple[str, ...] = ()


def read_value(tag: Tag, text: str) -> ReadValue:
    """The value of a tag from the text after '='; raises BadValue.

    Lists become tuples; n*v repeats v; logicals go by their first significant letter; numbers may
    have Fortran exponents (1d-4).  The value is not compared with bounds or choices, except words.
    """
    if not text:
        raise BadValue("there is no value after the equals sign")
    return _READERS[tag.kind](tag, text)


def value_error(tag: Tag, value: object) -> str:
    """Why a typed value is not legal for its tag, '' if it is."""
    if tag.choice(value) is not None:
        return ""
    for number in value if isinstance(value, tuple) else (value,):
        if tag.has_bounds() and isinstance(number, int | float) and not tag.within_bounds(number):
            return f"the value must be {tag.bounds_text()}{_or_choices(tag)}"
    if tag.choices and not tag.has_bounds() and not tag.kind.startswith(("float", "functional")):
        return f"the value is none of {choices_text(tag)}"
    return ""


def choices_text(tag: Tag) -> str:
    """The legal values of a tag, refused ones left out."""
    return ", ".join(show(choice.value) for choice in tag.choices if (choice.status or tag.status) != "refused")


def _or_choices(tag: Tag) -> str:
    return f", or one of {choices_text(tag)}" if tag.choices else ""


def _first(text: str) -> tuple[str, str]:
    """First token and the rest; a comma after the token is dropped."""
    parts = text.split(maxsplit=1)
    token = parts[0].rstrip(",")
    if not token:
        raise BadValue("a comma stands where the value is expected")
    return token, parts[1] if len(parts) > 1 else ""


def _scalar_rest(value: object, rest: str, *doubts: str) -> ReadValue:
    """A reading of one number, with a doubt when a second number follows."""
    if rest and is_number(rest.split()[0].rstrip(",")):
        doubts += (f"one value is expected, and the text after it ({rest[:30]}) begins with a number; it is ignored",)
    return ReadValue(value, rest, doubts)


def _read_int(tag: Tag, text: str) -> ReadValue:
    token, rest = _first(text)
    for choice in tag.choices:
        if choice.aliases and token.casefold() in _spellings(choice):
            return _scalar_rest(choice.value, rest)
    if is_int(token):
        return _scalar_rest(_whole(token), rest)
    if is_number(token) and to_float(token).is_integer() and abs(to_float(token)) <= _LARGEST_INT:
        return _scalar_rest(int(to_float(token)), rest, f"a whole number is expected; {token} is read as such")
    raise BadValue(f"{token} is not a whole number")


def _read_float(tag: Tag, text: str) -> ReadValue:
    token, rest = _first(text)
    value = _number(token)
    if tag.unsigned and value < 0:
        return _scalar_rest(-value, rest, f"the sign does not count, as in VASP: read as {show(-value)}")
    return _scalar_rest(value, rest)


def _number(token: str) -> float:
    """A finite number; raises BadValue with the likely reason."""
    if is_number(token):
        return to_float(token)
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", token):
        raise BadValue(f"{token} has a comma where a decimal point belongs")
    raise BadValue(f"{token} is not a finite number")


def _read_bool(_: Tag, text: str) -> ReadValue:
    token, rest = _first(text)
    try:
        return ReadValue(to_bool(token), rest)
    except ValueError:
        raise BadValue(f"{token} is neither .TRUE. nor .FALSE.") from None


def _read_str(_: Tag, text: str) -> ReadValue:
    return ReadValue(text)


def _read_word(tag: Tag, text: str) -> ReadValue:
    """A word: as spelled in the choices, by an alias, or by its first letter where that decides."""
    token, rest = _first(text)
    if not tag.choices:
        return ReadValue(token, rest)
    for choice in tag.choices:
        if token.casefold() in _spellings(choice):
            return ReadValue(choice.value, rest)
    if token[0].upper() in tag.first_letters:
        word = next(str(c.value) for c in tag.choices if str(c.value)[0].upper() == token[0].upper())
        if other := _refused_word(tag, token, word):
            return ReadValue(other, rest, (f"read as {other}",))
        doubt = () if word.casefold().startswith(token.casefold()) else (f"read as {word} by its first letter",)
        return ReadValue(word, rest, doubt)
    raise BadValue(f"{token} is none of {choices_text(tag)}")


def _refused_word(tag: Tag, token: str, guess: str) -> str:
    """A refused word that a word looks more like than that of its first letter: ACFDTRX is not All; '' if none does."""
    def alike(word: object) -> float:
        return SequenceMatcher(None, token.casefold(), str(word).casefold()).ratio()

    refused = [str(choice.value) for choice in tag.choices if (choice.status or tag.status) == "refused"]
    best = max(refused, key=alike, default="")
    short = guess.casefold().startswith(token.casefold())
    return best if best and not short and alike(best) > max(alike(guess), 0.5) else ""


def _read_functional(tag: Tag, text: str) -> ReadValue:
    """A word of the choices, or libxc's names joined by +, in capitals."""
    words = re.sub(r"\s*\+\s*", "+", text).split()
    name = words[0].rstrip(",").upper()
    if "_" not in name or any(name.casefold() in _spellings(choice) for choice in tag.choices):
        return _read_word(tag, text)
    if len(words) > 1 and words[1].upper().removeprefix("XC_") in PARTS:
        raise BadValue(f"there is no + between {words[0]} and {words[1]}")
    try:
        libxc_functional(*name.split("+"))
    except InputError as error:
        raise BadValue(str(error).rstrip(".")) from None
    return ReadValue(name, " ".join(words[1:]))


def _spellings(choice: TagValue) -> set[str]:
    return {str(word).casefold() for word in (choice.value, *choice.aliases)}


def _read_bool_or_word(tag: Tag, text: str) -> ReadValue:
    try:
        return _read_bool(tag, text)
    except BadValue:
        return _read_word(tag, text)


def _read_float_or_word(tag: Tag, text: str) -> ReadValue:
    return _read_float(tag, text) if is_number(_first(text)[0]) else _read_word(tag, text)


def _read_words(_: Tag, text: str) -> ReadValue:
    return ReadValue(tuple(text.split()))


def _read_list(convert: Callable[[str], object]) -> Callable[[Tag, str], ReadValue]:
    """A reader of lists with repeats; prose may follow, but no number after the prose."""

    def read(_: Tag, text: str) -> ReadValue:
        tokens = [token.rstrip(",") for token in re.sub(r"\s*\*\s*", "*", text).split()]
        values: list[object] = []
        for position, token in enumerate(tokens):
            try:
                values.extend(_repeated(token, convert))
            except ValueError as error:
                if position == 0 or any(_looks_numeric(later) for later in tokens[position:]):
                    raise BadValue(str(error)) from None
                return ReadValue(tuple(values), " ".join(tokens[position:]))
            if len(values) > _MOST_VALUES:
                raise BadValue(f"there are more than {_MOST_VALUES} values")
        return ReadValue(tuple(values))

    return read


def _looks_numeric(token: str) -> bool:
    """Whether a token could have been meant as a number, repeat or logical of a list."""
    return token[:1].isdigit() or is_number(token) or token.lower().lstrip("+-") in ("nan", "inf", "infinity")


def _repeated(token: str, convert: Callable[[str], object]) -> list[object]:
    match = _REPEAT.fullmatch(token)
    if match is None:
        return [convert(token)]
    count = int(match.group(1))
    if not 1 <= count <= _MOST_VALUES:
        raise BadValue(f"{token} repeats a value {count} times")
    return [convert(match.group(2))] * count


def _whole(token: str) -> int:
    if not is_int(token):
        raise BadValue(f"{token} is not a whole number")
    if abs(int(token)) > _LARGEST_INT:
        raise BadValue(f"{token} is too large for a whole number")
    return int(token)


def _read_variants(_: Tag, text: str) -> ReadValue:
    """Pairs Element:variant, each element once."""
    pairs: dict[str, str] = {}
    for token in text.replace(",", " ").split():
        match = _VARIANT.fullmatch(token)
        if match is None or match.group(1) not in ELEMENTS:
            raise BadValue(f"{token} is not a pair Element:variant such as Si:v3")
        if match.group(1) in pairs:
            raise BadValue(f"{match.group(1)} is named twice")
        pairs[match.group(1)] = match.group(2)
    return ReadValue(tuple(pairs.items()))


_READERS: dict[str, Callable[[Tag, str], ReadValue]] = {
    "int": _read_int,
    "float": _read_float,
    "bool": _read_bool,
    "str": _read_str,
    "word": _read_word,
    "ints": _read_list(_whole),
    "floats": _read_list(_number),
    "bools": _read_list(to_bool),
    "words": _read_words,
    "bool|word": _read_bool_or_word,
    "float|word": _read_float_or_word,
    "variants": _read_variants,
    "functional": _read_functional,
}
