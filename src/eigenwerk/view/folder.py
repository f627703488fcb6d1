"""The files of a folder that pictures and reports are made of, each read when it is asked for, and once."""

import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from eigenwerk.dft.after.band_gap import band_gap
from eigenwerk.errors import InputError
from eigenwerk.io.bounded import MEGABYTE, read_json
from eigenwerk.io.hdf5.hdf5_state import read_state
from eigenwerk.io.run_stamp import RunStamp, stamp_of
from eigenwerk.io.vasp.elements import formula
from eigenwerk.io.vasp.input.poscar import read_poscar
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.io.vasp.vasprun_reader import VasprunFile, read_vasprun
from eigenwerk.io.vasp.volumetric import read_head
from eigenwerk.units import HARTREE_EV
from eigenwerk.view.fields import is_field

VASPRUN, STATE = ("vasprun.xml", "vasprun.xml.gz"), "eigenwerk.h5"
BANDS, EOS, CONVERGE, NEB = "bands.json", "eos.json", "converge.json", "neb.json"

LARGEST = 500 * MEGABYTE
"""Bytes of a document that are read."""

SAME_CELL = 0.01
"""Lattice vectors (Å) that differ by less are those of one cell, with few digits."""

Made = TypeVar("Made")


class RunFolder:
    """A folder with results.  Raises InputError if there is no such folder."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not self.path.is_dir():
            raise InputError(_no_folder(self.path))

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return (self.path / name).is_file()

    @cached_property
    def vasprun_path(self) -> Path | None:
        """vasprun.xml, or None."""
        return next((self.path / name for name in VASPRUN if self.has(name)), None)

    @cached_property
    def vasprun(self) -> VasprunFile:
        """Its content.  Raises InputError as `read_vasprun` does, also if there is none."""
        if self.vasprun_path is None:
            raise InputError(f"{self.path}: no vasprun.xml in this folder. Give the output folder of a run.")
        return read_vasprun(self.vasprun_path)

    @cached_property
    def _beside(self) -> tuple[VasprunFile | None, str]:
        """vasprun.xml for pictures of other files, None without a whole one; and words about the damage."""
        try:
            return None if self.vasprun_path is None else self.vasprun, ""
        except InputError as error:
            return None, str(error)

    @property
    def vasprun_damage(self) -> str:
        """What is wrong with vasprun.xml; empty where it can be read, and where there is none."""
        return self._beside[1]

    @property
    def fermi_level(self) -> float | None:
        """eV, if known."""
        found = self._beside[0]
        return None if found is None else found.fermi_level

    @property
    def images(self) -> list[Path]:
        """Folders 00, 01 ... with the runs of the images of a path, in order; those that have a vasprun.xml."""
        folders = sorted(path for path in self.path.iterdir() if re.fullmatch("[0-9]{2}", path.name))
        return [path for path in folders if any((path / name).is_file() for name in VASPRUN)]

    @cached_property
    def fields(self) -> list[str]:
        """Names of the files with fields on grids."""
        return sorted(entry.name for entry in self.path.iterdir() if is_field(entry.name) and entry.is_file())

    def misfit(self, name: str) -> str:
        """Why a file of fields is of another system than the run: its atoms, or its cell; empty where it fits.

        The cell may be that of any ionic step.  Without a run the atoms are those of POSCAR, if there is one.  Raises
        InputError for a file that is damaged.
        """
        run, source, cells = self._beside[0], "vasprun.xml", []
        if run is not None:
            symbols, cells = run.symbols, [step.lattice_cv for step in run.steps]
        elif self.has("POSCAR") and not self.vasprun_damage:
            try:
                symbols, source = read_poscar(self.path / "POSCAR").symbols, "POSCAR"
            except InputError:
                return ""
        else:
            return ""
        own = read_head(self.path / name).poscar
        if Counter(own.symbols) != Counter(symbols):
            return f"its atoms are {formula(own.symbols)}, and those of {source} {formula(symbols)}"
        apart = min((float(np.abs(own.lattice_cv - cell_cv).max()) for cell_cv in cells), default=0.0)
        return f"its cell is another than that of {source}, by up to {apart:.3g} Å" if apart > SAME_CELL else ""

    def document(self, name: str) -> dict[str, Any]:
        """A JSON document of a run or series.  Raises InputError if it cannot be read or is none."""
        path = self.path / name
        try:
            found = read_json(path, LARGEST)
        except ValueError as error:
            raise _damaged(path, error) from error
        if not isinstance(found, dict):
            raise _damaged(path, TypeError("no object"))
        return found

    def drawn(self, name: str, make: Callable[[dict[str, Any]], Made]) -> Made:
        """What is made of a document.  Raises InputError where it does not hold what it should."""
        found = self.document(name)
        try:
            return make(found)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(self.path / name, error) from error

    @property
    def formula(self) -> str:
        """Of the structure of the run, else of POSCAR; without either, the name of the folder."""
        found = self._beside[0]
        if found is not None:
            return formula(found.symbols)
        for name in ("POSCAR", "00/POSCAR"):
            with suppress(InputError):
                return formula(read_poscar(self.path / name).symbols)
        return self.path.resolve().name

    @property
    def mark(self) -> str:
        """For titles: how a run has not ended well."""
        found = self._beside[0]
        if found is None or found.reached is not False:
            return ""
        return ", NOT FINISHED" if found.converged else ", NOT CONVERGED"

    @cached_property
    def zero(self) -> tuple[float, str]:
        """The energy (eV) that pictures count from, and what it is: the valence band top, or the Fermi level."""
        found = self.vasprun
        fermi = found.fermi_level or 0.0
        if found.eig_skn is not None and found.occ_skn is not None:
            gap = band_gap(found.eig_skn, found.occ_skn, found.point_kc, [fermi] * len(found.eig_skn))
            if not gap.metal and gap.top is not None:
                return gap.zero(fermi)
        two = found.run_report is not None and "Fermi levels" in dict(found.run_report.found)
        return fermi, "higher of two Fermi levels" if two else "Fermi level"

    @property
    def moment_a(self) -> np.ndarray | None:
        """Moments of the atoms, Bohr magnetons, if known."""
        return self.vasprun.last.moment_a

    @property
    def stamp(self) -> RunStamp | None:
        """The mark of run and save, in files of eigenwerk."""
        return None if self.vasprun_path is None else stamp_of(self.vasprun_path)

    @cached_property
    def fixed_density(self) -> bool:
        """Whether the density was kept (ICHARG = 11 or 12)."""
        words = self.vasprun.parameters.get("ICHARG", self.vasprun.incar.get("ICHARG", "0"))
        return words.strip().lstrip("-").isdigit() and int(words) >= 10

    @cached_property
    def tolerance(self) -> float:
        """EDIFF, eV."""
        words = self.vasprun.parameters.get("EDIFF", "1E-4")
        try:
            return float(words)
        except ValueError:
            return 1e-4

    @cached_property
    def steps(self) -> list[StepRecord]:
        """Steps of self-consistency of the last ionic step: those of eigenwerk.h5 if it is of the same save, which
        has residuals and events; else what vasprun.xml knows of them."""
        state = self.path / STATE
        if state.is_file() and self.stamp is not None and stamp_of(state) == self.stamp:
            history = read_state(state, only=["history"])["history"]
            try:
                return _steps(history)
            except (LookupError, TypeError, ValueError) as error:
                raise InputError(f"{state}: its /history is not as it should be ({error}). Run it again.") from error
        return list(self.vasprun.last.steps)


def _steps(history: dict[str, Any]) -> list[StepRecord]:
    moment_x = history["moment"]
    events: dict[int, list[str]] = {}
    for words in history["events"]:
        number, _, event = words.removeprefix("step ").partition(": ")
        events.setdefault(int(number), []).append(event)
    return [
        StepRecord(
            int(history["step"][x]), "", float(history["free"][x]) * HARTREE_EV,
            float(history["internal"][x]) * HARTREE_EV, float(history["extrapolated"][x]) * HARTREE_EV,
            float(history["change"][x]) * HARTREE_EV, float(history["band_change"][x]) * HARTREE_EV,
            int(history["applications"][x]), float(history["orbital_residual"][x]) * HARTREE_EV,
            float(history["residual"][x]), None if moment_x is None else float(moment_x[x]),
            float(history["seconds"][x]), tuple(events.get(int(history["step"][x]), ())),
        )
        for x in range(len(history["step"]))
    ]  # fmt: skip


def _no_folder(path: Path) -> str:
    if path.is_file():
        return f"{path}: it is a file. Give the folder that holds it ({path.parent})."
    return f"{path}: no such folder. Give the output folder of a run or of a series."


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path}: not a whole document of eigenwerk ({type(error).__name__}: {error}). Take another copy, or compute "
        "it again."
    )
