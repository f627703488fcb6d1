"""Write EIGENVAL: band energies and occupations by k-point.  docs/formats/files.md gives the columns."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.vasp.output.oszicar import fortran
from eigenwerk.io.vasp.output.record import RunRecord


def write_eigenval(path: str | Path, record: RunRecord) -> None:
    """Write the EIGENVAL of the last ionic step.  Raises InputError if the file cannot be written."""
    with replacing(path) as new, open(new, "w", encoding="utf-8") as out:
        out.writelines(_pieces(record))


def _pieces(record: RunRecord) -> Iterator[str]:
    """Six lines of header, then each k-point after an empty line: band, energies of all spins, occupations."""
    eig_skn, occ_skn = record.final.eig_skn, record.final.occ_skn
    spins, points, bands = eig_skn.shape
    yield header(record)
    yield f"{round(float(record.parameters['NELECT'])):7d}{points:7d}{bands:7d}\n"
    line = "%6d " + " %14.8f" * spins + " %10.6f" * spins + "\n"
    for k, (point_c, weight) in enumerate(zip(record.kpoint_kc, record.weight_k, strict=True)):
        yield " \n" + "".join(f"  {value:.7E}" for value in (*point_c, weight)) + "\n"
        rows = np.column_stack([np.arange(1, bands + 1), eig_skn[:, k].T, occ_skn[:, k].T])
        yield line * bands % tuple(rows.ravel().tolist())


def header(record: RunRecord) -> str:
    """The first five lines, which DOSCAR has too: atoms and spins; volume per atom (Angstrom³), lattice constants and
    POTIM in SI units; TEBEG; a word; the name of the run, with its mark."""
    atoms, lattice_cv = len(record.symbols), record.last.lattice_cv
    lengths = np.linalg.norm(lattice_cv, axis=1) * 1e-10
    numbers = [abs(np.linalg.det(lattice_cv)) / atoms, *lengths, float(record.parameters.get("POTIM", 0.5)) * 1e-15]
    text = f"{atoms:5d}{atoms:5d}    1{len(record.final.eig_skn):5d}\n"
    text += "".join(f" {fortran(value, 7):>14}" for value in numbers) + "\n"
    text += f"  {float(record.parameters.get('TEBEG', 0.0)):.15E}\n  CAR \n"
    return text + f" {' '.join(record.title.split())}   {record.stamp or ''}".rstrip() + "\n"
