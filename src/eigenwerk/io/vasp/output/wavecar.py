"""Write WAVECAR: the orbitals of the last ionic step, in double precision, in the records of VASP's file.

The pseudo-orbitals are normalised by the overlap of eigenwerk's PAW data, Σ|c|² is not one.  docs/formats/wavecar.md.
"""

from pathlib import Path
from typing import BinaryIO

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.vasp.output.record import OrbitalRecord, RunRecord
from eigenwerk.io.vasp.wavecar import DOUBLE, KINETIC, REAL, wave_order, wavecar_record

_MARGIN = 1e-9
"""Largest kinetic energy and cutoff differ by so much at least, relative: readers round."""


def write_wavecar(path: str | Path, record: RunRecord) -> None:
    """Write the orbitals of a record; the mark of the run stands in the unused part of the first one.

    Raises InputError if the file cannot be written, ValueError if the record has no orbitals.
    """
    orbitals, final = record.orbitals, record.final
    if orbitals is None:
        raise ValueError("WAVECAR of a run whose orbitals are not kept")
    spins, points, bands, _ = orbitals.coeff_sknG.shape
    place_k = points_of(record, orbitals)
    size = wavecar_record(max(orbitals.count_k), bands)
    with replacing(path) as new, open(new, "wb") as out:
        first = np.array([size, spins, DOUBLE], REAL).tobytes()
        out.write((first + str(record.stamp or "").encode()).ljust(size, b"\0"))
        second = [points, bands, cutoff(record, orbitals), *record.last.lattice_cv.ravel(), final.fermi_level]
        out.write(np.array(second, REAL).tobytes().ljust(size, b"\0"))
        for s, k in np.ndindex(spins, points):
            place = place_k[k]
            bands_nx = np.column_stack([final.eig_skn[s, place], np.zeros(bands), final.occ_skn[s, place]])
            head = [orbitals.count_k[k], *record.kpoint_kc[place], *bands_nx.ravel()]
            out.write(np.array(head, REAL).tobytes().ljust(size, b"\0"))
            _write_bands(out, orbitals, s, k, size)


def _write_bands(out: BinaryIO, orbitals: OrbitalRecord, s: int, k: int, size: int) -> None:
    """The coefficients of each band, each in its record."""
    number, count = np.dtype("<c16"), orbitals.count_k[k]
    order = wave_order(orbitals.index_kGc[k, :count])
    line_G = np.zeros(size // number.itemsize, number)
    for coeff_G in orbitals.coeff_sknG[s, k]:
        line_G[:count] = coeff_G[:count][order]
        line_G.tofile(out)


def points_of(record: RunRecord, orbitals: OrbitalRecord) -> np.ndarray:
    """Which k-points of a record the orbitals are of: all, or those that have a weight."""
    if len(orbitals.count_k) == len(record.weight_k):
        return np.arange(len(record.weight_k))
    return np.flatnonzero(record.weight_k > 0)


def cutoff(record: RunRecord, orbitals: OrbitalRecord) -> float:
    """ENCUT, or a little more, so that VASP's value of ħ²/2m finds the same plane waves; eV."""
    reciprocal_cv = 2 * np.pi * np.linalg.inv(record.last.lattice_cv).T
    largest = max(
        float((((index_Gc[:count] + point_c) @ reciprocal_cv) ** 2).sum(axis=1).max())
        for index_Gc, count, point_c in zip(
            orbitals.index_kGc, orbitals.count_k, record.kpoint_kc[points_of(record, orbitals)], strict=True
        )
    )
    return max(float(record.parameters["ENCUT"]), largest / KINETIC * (1 + _MARGIN))
