"""Which nucleus: proton and neutron numbers from a name such as 6Li, and back."""

import re
from dataclasses import dataclass

from eigenwerk.errors import InputError

SYMBOLS = (
    "n H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr "
    "Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe"
).split()
"""Element symbols; the place in the list is the proton number."""

NAMES = {"d": "2H", "deuteron": "2H", "t": "3H", "triton": "3H", "helion": "3He", "alpha": "4He"}
"""Nuclei with names of their own, and how they are written here."""


@dataclass(frozen=True)
class Nucleus:
    """A nucleus: protons and neutrons, all of them, those of an inert core included."""

    protons: int
    neutrons: int

    def __post_init__(self) -> None:
        if self.protons < 0 or self.neutrons < 0 or self.nucleons < 2:
            raise InputError(
                f"Z = {self.protons}, N = {self.neutrons} is no nucleus with an internal structure: it takes at least "
                "two nucleons, and neither number may be negative."
            )

    @property
    def nucleons(self) -> int:
        """The mass number A."""
        return self.protons + self.neutrons

    @property
    def name(self) -> str:
        """The usual name, 6Li."""
        symbol = SYMBOLS[self.protons] if self.protons < len(SYMBOLS) else f"[Z={self.protons}]"
        return f"{self.nucleons}{symbol}"


def nucleus_named(text: str, where: str = "") -> Nucleus:
    """The nucleus of a name such as 6Li, Li6, Li-6 or 4n.

    Raises InputError for anything else, and where there are more protons than nucleons; the message begins with
    `where`.
    """
    match = re.fullmatch(r"(\d+)-?([A-Za-z]{1,2})|([A-Za-z]{1,2})-?(\d+)", text.strip())
    number, symbol = (match[1] or match[4], match[2] or match[3]) if match else ("", "")
    if not match or symbol not in SYMBOLS:
        meant = f"{number}{symbol.capitalize()}" if symbol.capitalize() in SYMBOLS else NAMES.get(text.strip().lower())
        remedy = f"Write {meant}." if meant else "Write it as 6Li, or give Z and N."
        raise InputError(f"{where}'{text}' names no nucleus up to Z = {len(SYMBOLS) - 1}. {remedy}")
    protons, nucleons = SYMBOLS.index(symbol), int(number)
    if nucleons < protons:
        raise InputError(
            f"{where}'{text}' would have {nucleons} nucleons but {protons} protons. {SYMBOLS[protons]} starts at "
            f"{max(protons, 2)}{SYMBOLS[protons]}; the one nearest to stability has about {2 * protons} nucleons."
        )
    try:
        return Nucleus(protons, nucleons - protons)
    except InputError as error:
        raise InputError(f"{where}'{text}': {error}") from None
