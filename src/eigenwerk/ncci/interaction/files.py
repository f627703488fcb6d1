"""Interactions by name or from files, as two-body matrix elements for given pairs of orbitals."""

import os
import re
import struct
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.h2 import read_h2
from eigenwerk.io.ncci.h2_data import H2Data
from eigenwerk.io.ncci.number_text import number_lines
from eigenwerk.io.ncci.oxbash_int import read_oxbash_int
from eigenwerk.io.ncci.relative_table import read_relative_table
from eigenwerk.io.ncci.snt import read_snt
from eigenwerk.ncci.interaction.relative_motion.coupling import couple
from eigenwerk.ncci.interaction.relative_motion.nnlo_opt import nnlo_opt
from eigenwerk.ncci.interaction.relative_motion.potentials import jisp16, minnesota
from eigenwerk.ncci.interaction.relative_motion.relative import Relative
from eigenwerk.ncci.interaction.two_body import SPECIES, PairSpace, TwoBody, restrict
from eigenwerk.ncci.interaction.valence import ValenceInteraction, valence_interaction
from eigenwerk.ncci.orbitals import Orbitals
from eigenwerk.units import NUCLEON_MASS_MEV

EVOLVING: dict[str, Callable[[float, int, float | None], dict[str, Relative]]] = {
    "nnloopt": lambda hw, quanta, srg_lambda: {kind: nnlo_opt(kind, hw, quanta, srg_lambda) for kind in SPECIES},
}
"""Those of the built-in ones that are known between momenta and so can be evolved to an srg_lambda (fm^-1)."""

HW_IN_NAME = re.compile(r"(?:h-?w|hbomeg|hbaromega)[-_=]?(\d+(?:\.\d+)?)|-tb-\d+-(\d+(?:\.\d+)?)\.[a-z]", re.IGNORECASE)
"""How names of files tell their oscillator quantum: jisp16_Nmax02_hw20.0.dat, and MFDn's JISP16-tb-6-20.0.bin."""

THREE_BODY = re.compile(r"me3[bj]|3bme|thbme", re.IGNORECASE)
"""How names of files with matrix elements of three nucleons tell so."""

GZIP = b"\x1f\x8b"
"""First bytes of a compressed file."""

DAEJEON16 = Path(__file__).with_name("relative_motion") / "daejeon16_hw25.txt"
"""A. M. Shirokov et al., Phys. Lett. B 761, 87 (2016); beside it stands its licence."""


@lru_cache(maxsize=4)
def relative_from_file(path: Path, file_hw: float | None = None) -> Relative:
    """A table of the relative motion; the oscillator energy stands in it, or else is file_hw, or stands in its name.
    Raises InputError where none of them says, or where file_hw is another than the table or its name says."""
    try:
        table = read_relative_table(path)
    except InputError as error:
        if THREE_BODY.search(path.name):
            raise InputError(_three_body_words(path)) from error
        raise
    if table.hw is not None and file_hw is not None and abs(table.hw - file_hw) > 1e-6 * table.hw:
        raise InputError(
            f"{path.name} says that its elements belong to hw = {table.hw:g} MeV, but file_hw = {file_hw:g}. Remove "
            "file_hw."
        )
    made_for = table.hw or _made_for(path, file_hw)
    if made_for is None:
        raise InputError(
            f"{path.name} does not say which hw its elements belong to. Write file_hw = 20.0 into the case, add a "
            "comment to the file: # hbar*omega = 20 MeV, or name it as in jisp16_hw20.0.dat."
        )
    return Relative(made_for, table.matrices, table.nucleon_mass or NUCLEON_MASS_MEV)


BUILT_IN: dict[str, Callable[[float, int], dict[str, Relative]]] = {
    "daejeon16": lambda hw, quanta: dict.fromkeys(SPECIES, relative_from_file(DAEJEON16)),
    "jisp16": lambda hw, quanta: dict.fromkeys(SPECIES, jisp16()),
    "nnloopt": lambda hw, quanta: EVOLVING["nnloopt"](hw, quanta, None),
    "minnesota": lambda hw, quanta: dict.fromkeys(SPECIES, minnesota(hw, quanta)),
}
"""Name in small letters -> potentials of pp, nn and pn pairs, from hw (MeV) and the most quanta of a pair."""


def refuse_evolution(name: str, srg_lambda: float | None, where: str = "") -> None:
    """Raises InputError if an interaction is to be evolved that cannot be; the message begins with `where`."""
    if srg_lambda is not None and name.lower() not in EVOLVING:
        raise InputError(
            f"{where}srg_lambda = {srg_lambda:g}, but interaction = '{name}' cannot be evolved by the similarity "
            "renormalisation group: that needs a potential between momenta, here NNLOopt. Remove srg_lambda, or set "
            'interaction = "NNLOopt".'
        )


def interaction(
    name: str, space: PairSpace, hw: float, srg_lambda: float | None = None, file_hw: float | None = None
) -> TwoBody:
    """The nucleon-nucleon interaction, without Coulomb, for the pairs of `space` at hw (MeV).

    name: a built-in one, whatever its capitals; a table of the relative motion (brought to hw); or an h2 file, whose
    matrix elements belong to the hw they were made for.  srg_lambda: how far it is evolved, fm^-1, or not at all.
    file_hw: the hw of a file that does not tell it itself.  Raises InputError if there is no such interaction, if it
    cannot be evolved, if the file is damaged or belongs to another hw, or if orbitals or pairs are missing.
    """
    refuse_evolution(name, srg_lambda)
    if name.lower() in BUILT_IN:
        quanta = max(space.highest_quanta(kind) for kind in SPECIES)
        return couple(space, _built_in(name.lower(), hw, quanta, srg_lambda), hw)
    path = _existing(name)
    refuse_what_is_not_two_body(path)
    if is_h2(path):
        refuse_other_hw(path, hw, file_hw)
        return restrict(two_body_from_h2(read_h2(path)), space, path.name)
    return couple(space, dict.fromkeys(SPECIES, relative_from_file(path, file_hw)), hw)


def _built_in(name: str, hw: float, quanta: int, srg_lambda: float | None) -> dict[str, Relative]:
    return BUILT_IN[name](hw, quanta) if srg_lambda is None else EVOLVING[name](hw, quanta, srg_lambda)


def _existing(name: str) -> Path:
    path = Path(name)
    if os.path.isdir(path):
        raise InputError(f"Interaction '{name}' is a folder. Name a file in it.")
    if not os.path.isfile(path):
        raise InputError(
            f"Interaction '{name}': neither a built-in one ({', '.join(sorted(BUILT_IN))}) nor a file that exists. "
            "Correct the name or the path."
        )
    return path


def refuse_other_hw(path: Path, hw: float, file_hw: float | None, where: str = "") -> None:
    """Raises InputError if an h2 file was made for another hw than that of the calculation, or if nobody says which.

    The format has no place for hw: it stands in the file's name, or file_hw gives it.  Matrix elements of another hw
    would be those of another interaction.
    """
    made_for = _made_for(path, file_hw, where)
    if made_for is None:
        raise InputError(
            f"{where}nothing says which hw the matrix elements of {path.name} belong to; files of this format do not "
            "hold it. Write file_hw = 20.0 into the case, or name the file as in jisp16_hw20.0.bin."
        )
    if abs(made_for - hw) > 1e-6 * hw:
        by = "file_hw" if file_hw is not None else "its name"
        raise InputError(
            f"{where}hw = {hw:g} MeV, but the matrix elements of {path.name} were made for {made_for:g} MeV ({by}). "
            f"Set hw = {made_for:g}, or take the file of {hw:g} MeV."
        )


def _made_for(path: Path, file_hw: float | None, where: str = "") -> float | None:
    """The hw that file_hw or else the name of a file says.  Raises InputError if they differ."""
    named = HW_IN_NAME.search(path.name)
    of_name = float(named[1] or named[2]) if named else None
    if of_name is not None and file_hw is not None and abs(of_name - file_hw) > 1e-6 * of_name:
        raise InputError(
            f"{where}file_hw = {file_hw:g} MeV, but the name of {path.name} says {of_name:g} MeV. Remove file_hw, or "
            "give the file a name without another hw."
        )
    return file_hw if file_hw is not None else of_name


def refuse_what_is_not_two_body(path: Path, where: str = "") -> None:
    """Raises InputError for a file that by its first bytes is neither h2 nor text, as tables are; reads no more."""
    start = _start(path)
    if not start.strip():
        raise InputError(f"{where}{path.name} is empty. Get it again.")
    if b"\0" not in start and not start.startswith(GZIP):
        return
    if start[:4] in (struct.pack("<i", 4), struct.pack(">i", 4)):
        return
    if THREE_BODY.search(path.name):
        raise InputError(where + _three_body_words(path))
    what, remedy = "binary, but no h2 file, which begins with the number 4", "Name another file"
    if start.startswith(GZIP):
        what, remedy = "compressed by gzip", f"Unpack it (gunzip {path.name}) and name what comes out"
    raise InputError(
        f"{where}{path.name} is {what}. Two-body matrix elements are read from h2 files and from tables of the "
        f"relative motion, which are text. {remedy}."
    )


def _three_body_words(path: Path) -> str:
    return (
        f"{path.name} is no file of two-body matrix elements: by its name it holds those of three nucleons, and forces "
        "between three are not computed here. Name a two-body one: h2, or a table of the relative motion."
    )


def h2_pairs(path: Path) -> PairSpace:
    """The pairs of orbitals that an h2 file has matrix elements for.  Raises InputError if it is damaged."""
    state = path.stat()
    return _h2_pairs(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _h2_pairs(path: Path, changed: int, size: int) -> PairSpace:
    """Reads the file once, and again where it has changed."""
    return two_body_from_h2(read_h2(path)).space


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096)


def is_h2(path: Path) -> bool:
    """Whether a file is in h2 format: binary, or text that begins with a version number of five digits."""
    start = _start(path)
    if b"\0" in start or not start.strip():
        return True
    first = number_lines(path)
    return bool(first) and len(first[0].fields) == 1 and first[0].fields[0].startswith("15")


def two_body_from_h2(data: H2Data) -> TwoBody:
    """The content of an h2 file; weights of its orbitals take the place of their quanta."""
    header = data.header
    space = PairSpace(
        Orbitals(*header.orbital_3a_p),
        Orbitals(*header.orbital_3a_n),
        header.limits["pp"],
        header.limits["nn"],
        header.limits["pn"],
        header.weight_p,
        header.weight_n,
    )
    return TwoBody(space, data.matrices)


def valence_from_file(
    path: str | Path,
    orbitals: str | Path | None = None,
    core: tuple[int, int] | None = None,
    scaling: tuple[float, float] | None = None,
) -> ValenceInteraction:
    """A valence-space interaction from KSHELL's .snt or OXBASH's .int file; `orbitals` is the .sps or .sp file."""
    path = _existing(str(path))
    if path.suffix == ".snt":
        return valence_interaction(read_snt(path), path.name)
    if orbitals is None:
        raise InputError(f"{path.name} numbers its orbitals but does not name them. Give the .sps or .sp file too.")
    return valence_interaction(read_oxbash_int(path, orbitals, core, scaling), path.name)
