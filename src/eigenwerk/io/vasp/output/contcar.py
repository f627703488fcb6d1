"""Write CONTCAR: the structure at the end of a run, in POSCAR form, ready to be the next POSCAR."""

from dataclasses import replace
from pathlib import Path

from eigenwerk.io.vasp.input.poscar import Poscar, write_poscar
from eigenwerk.io.vasp.output.record import RunRecord


def write_contcar(path: str | Path, record: RunRecord) -> None:
    """Write the structure of a record with its selective flags and velocities.

    What a record does not hold itself (suffixes of names such as _pv, blocks of dynamics where nothing has moved) is
    kept from the POSCAR of its start.  Raises InputError if the file cannot be written.
    """
    last, poscar = record.at_rest, record.poscar
    if poscar is None:
        runs = tuple((species.element, species.count) for species in record.species)
        poscar = Poscar(record.title, last.lattice_cv, record.symbols, last.scaled_ac, runs)
        poscar = replace(poscar, selective_ac=record.selective_ac, velocities_av=last.velocities_av)
    if len(record.ionic_steps) > 1 or last.kinetic is not None:
        poscar = replace(
            poscar, velocities_av=last.velocities_av, velocities_cartesian=True, predictor="",
            lattice_velocity_cv=last.lattice_velocity_cv,
        )  # fmt: skip
    if last.direction_av is not None:  # of a dimer: it stands where POSCAR has it
        poscar = replace(poscar, velocities_av=last.direction_av, velocities_cartesian=True, predictor="")
    mark = "" if record.stamp is None else str(record.stamp)
    write_poscar(path, replace(poscar, lattice_cv=last.lattice_cv, scaled_ac=last.scaled_ac), mark)
