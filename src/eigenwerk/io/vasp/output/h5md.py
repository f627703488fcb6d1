"""trajectory.h5: the way of the atoms in the layout of H5MD 1.1, which MDAnalysis, pyh5md and others read.

Source: P. de Buyl, P. H. Colberg, F. Höfling, Comput. Phys. Commun. 185, 1546 (2014); https://nongnu.org/h5md.
docs/formats/trajectory_h5.md lists groups and units.
"""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.hdf5.hdf5_state import LABEL, PatientFile
from eigenwerk.io.vasp.elements import SYMBOLS
from eigenwerk.io.vasp.output.record import IonicStep, RunRecord

TRAJECTORY_FILE = "trajectory.h5"

FORCE_UNIT = 96.48533212
"""One eV/Å in kJ/(mol Å), the unit of forces that readers know."""

_OBSERVABLES = (
    ("free_energy", "free_energy", "eV"),
    ("kinetic_energy", "kinetic", "eV"),
    ("conserved_energy", "conserved", "eV"),
    ("temperature", "temperature", "K"),
    ("stress", "stress_vv", "kbar"),
    ("magnetic_moment", "moment", ""),
)
"""Names in the file, in an ionic step, units."""


def has_trajectory(record: RunRecord) -> bool:
    """Whether atoms have moved, and one of their arrangements is over."""
    return len(record.ionic_steps) > 1 and bool(_over(record))


def write_trajectory(path: str | Path, record: RunRecord) -> None:
    """Write all ionic steps that are over; the mark of the run stands in front of the HDF5 data.

    Raises InputError if the file cannot be written.
    """
    with replacing(path) as new:
        with PatientFile(new) as raw:
            try:
                with h5py.File(raw, "w", userblock_size=LABEL) as file:
                    _fill(file, record)
            finally:
                raw.raise_error()  # also in place of what HDF5 says when it misses what was not written
        with new.open("r+b") as first:
            first.write(
                f"eigenwerk {record.version}, trajectory in the layout of H5MD\n{record.stamp or ''}\n".encode()
            )


def _over(record: RunRecord) -> list[tuple[int, IonicStep]]:
    """Ionic steps with their numbers."""
    numbered = enumerate(record.ionic_steps, start=1)
    return [(number, ionic) for number, ionic in numbered if ionic.forces_av is not None]


def _fill(file: h5py.File, record: RunRecord) -> None:
    found = _over(record)
    steps = [ionic for _, ionic in found]
    times = _Times(file, record, np.array([number for number, _ in found]))
    about = file.create_group("h5md")
    about.attrs["version"] = np.array([1, 1], dtype=np.int32)
    about.create_group("author").attrs["name"] = "unknown"
    about.create_group("creator").attrs.update({"name": "eigenwerk", "version": record.version})
    atoms = file.create_group("particles/atoms")
    atoms["species"] = np.array([SYMBOLS.index(symbol) + 1 for symbol in record.symbols], dtype=np.int32)
    mass_a = np.repeat([species.mass for species in record.species], [species.count for species in record.species])
    atoms.create_dataset("mass", data=mass_a).attrs["unit"] = "u"
    box = atoms.create_group("box")
    box.attrs.update({"dimension": 3, "boundary": np.array([b"periodic"] * 3)})
    times.add(box, "edges", np.stack([one.lattice_cv for one in steps]), "Angstrom")
    times.add(atoms, "position", np.stack([one.scaled_ac @ one.lattice_cv for one in steps]), "Angstrom")
    if all(one.velocities_av is not None for one in steps):
        times.add(atoms, "velocity", _column(steps, "velocities_av"), "Angstrom fs-1")
    times.add(atoms, "force", FORCE_UNIT * _column(steps, "forces_av"), "kJ mol-1 Angstrom-1")
    observables = file.create_group("observables")
    for name, field, unit in _OBSERVABLES:
        if all(getattr(one, field) is not None for one in steps):
            times.add(observables, name, _column(steps, field), unit)


def _column(steps: list[IonicStep], field: str) -> np.ndarray:
    return np.array([getattr(one, field) for one in steps], dtype=float)


class _Times:
    """Step and time of all elements, stored once and shared by hard links, as H5MD allows.

    Of relaxations and displacements the time is the number of the step, without a unit.
    """

    def __init__(self, file: h5py.File, record: RunRecord, number_x: np.ndarray) -> None:
        self._number_x = number_x.astype(np.int32)
        self._shared: tuple[h5py.Dataset, h5py.Dataset] | None = None
        dynamics = record.parameters.get("IBRION") == 0 and record.parameters.get("POTIM") is not None
        self._time_x = number_x.astype(float)
        self._unit = ""
        if dynamics:
            self._time_x, self._unit = (number_x - 1) * float(record.parameters["POTIM"]), "fs"

    def add(self, parent: Any, name: str, value: np.ndarray, unit: str) -> None:
        """One element: its values with their unit, step and time."""
        group = parent.create_group(name)
        data = group.create_dataset("value", data=value)
        if unit:
            data.attrs["unit"] = unit
        if self._shared is None:
            group["step"] = self._number_x
            time = group.create_dataset("time", data=self._time_x)
            if self._unit:
                time.attrs["unit"] = self._unit
            self._shared = group["step"], time
        else:
            group["step"], group["time"] = self._shared
