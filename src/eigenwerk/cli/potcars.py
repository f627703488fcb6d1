"""`eigenwerk potcars`: a folder of POTCAR stand-ins for programs that write inputs of VASP.

Exit codes: 0 done, 2 the folder cannot be written, or holds POTCAR files of another origin.
"""

import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from eigenwerk.cli.saying import say
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import ensure_writable, write_problem, write_text
from eigenwerk.io.paw.dataset import PawHeader
from eigenwerk.io.paw.formats import read_header
from eigenwerk.io.paw.paw_library import list_datasets, recommended_cutoff
from eigenwerk.io.vasp.potcar_stand_in import SUFFIXES, stand_in

FAMILIES = {
    "PBE": ("potpaw_PBE", (
        "potpaw_PBE.52", "potpaw_PBE.54", "potpaw_PBE.64", "POT_GGA_PAW_PBE", "POT_GGA_PAW_PBE_52", "POTPAW_PBE_52",
        "POT_GGA_PAW_PBE_54", "POTPAW_PBE_54", "POT_PAW_PBE_64",
    )),
    "LDA": ("potpaw", (
        "potpaw_LDA", "potpaw_LDA.52", "potpaw_LDA.54", "potpaw_LDA.64", "POT_LDA_PAW", "POT_LDA_PAW_52",
        "POTPAW_LDA_52", "POT_LDA_PAW_54", "POTPAW_LDA_54", "POT_LDA_PAW_64",
    )),
}  # fmt: skip
"""Functional of the data sets -> folder with ELEMENT/POTCAR in it, and the other names by which ASE and pymatgen call
it, which are links."""

MARK = "stand-in written by eigenwerk"

Target = Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write to; it is made if it is not there.")]


def potcars(folder: Target) -> None:
    """Write POTCAR stand-ins for pymatgen's input sets, atomate2 and ASE's Vasp.

    They hold the head of a POTCAR (TITEL, VRHFIN, LEXCH, ZVAL, ENMAX, POMASS), filled from the PAW data that eigenwerk
    uses, and no potential. Fe_pv, Si_sv_GW and so on are there too, and all mean eigenwerk's data set of the element.

    Exit codes: 0 done, 2 the folder cannot be written.
    """
    written = [_write_family(folder, functional) for functional in FAMILIES]
    place = folder.resolve()
    say(f"{folder}: POTCAR stand-ins of {written[0]} elements for PBE, {written[1]} for LDA.")
    say(f"pymatgen, atomate2:  pmg config --add PMG_VASP_PSP_DIR {place}   (or set it in the environment)")
    say(f"ASE:                 export VASP_PP_PATH={place} ASE_VASP_COMMAND='eigenwerk run . --vasp-exit-codes'")


def _write_family(folder: Path, functional: str) -> int:
    """The files of one functional; the number of elements."""
    own, links = FAMILIES[functional]
    ensure_writable(folder / own, by="")  # the folder is an argument here, and no option
    headers = list(_plain_sets(functional))
    for header in headers:
        for suffix in SUFFIXES:
            path = folder / own / f"{header.symbol}{suffix}" / "POTCAR"
            _refuse_foreign(path)
            text = stand_in(header, recommended_cutoff(header), f"gpaw-data {version('gpaw-data')}", suffix)
            try:
                path.parent.mkdir(exist_ok=True)
                write_text(path, text)
            except OSError as error:
                raise InputError(write_problem(path, error, by="")) from error
    for name in links:
        link = folder / name
        if not os.path.lexists(link):
            link.symlink_to(own, target_is_directory=True)
        elif not link.is_symlink() or os.readlink(link) != own:
            raise InputError(f"{link}: something else has this name. Give an empty folder.")
    return len(headers)


def _plain_sets(functional: str) -> Iterator[PawHeader]:
    """The data set of each element that a run takes by itself."""
    for entry in list_datasets(functional):
        if not entry.variant:
            yield read_header(entry.file)


def _refuse_foreign(path: Path) -> None:
    """Files of others are not written over."""
    if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        raise InputError(f"{path}: this POTCAR is none of eigenwerk's stand-ins and is kept. Give another folder.")
