"""Whether a run leaves a WAVECAR, and whether one fits a run: for the run and for `check` (no torch)."""

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.incar import Incar
from eigenwerk.io.vasp.wavecar import Wavecar

UP_TO = 100_000_000
"""Bytes up to which it is written without being asked for: the same orbitals are in eigenwerk.h5."""

SAME_POINT = 1e-6
"""Largest difference of fractional coordinates of one and the same k-point."""

_REMEDY = "Give the file of this calculation, or set ISTART = 0 to start from atoms."


def wants_wavecar(incar: Incar, size: int) -> bool:
    """LWAVE = .TRUE. writes it whatever its size in bytes, .FALSE. never; without LWAVE it is written up to a size.

    LH5 = .TRUE. asks for HDF5 instead, which eigenwerk.h5 is.
    """
    if incar.get("LH5"):
        return False
    return bool(incar.values.get("LWAVE", size <= UP_TO))


def require_fitting_waves(file: Wavecar, point_kc: np.ndarray, spins: int) -> None:
    """Raise InputError if a file has other k-points or another number of spins; cell, cutoff and bands may differ."""
    there, here = len(file.point_kc), len(point_kc)
    if len(file.eig_skn) != spins:
        raise InputError(f"{file.path}: is of a run with ISPIN = {len(file.eig_skn)}, INCAR has {spins}. {_REMEDY}")
    if there != here:
        raise InputError(f"{file.path}: has {there} k-points, this run {here}. {_REMEDY}")
    distance_k = np.abs(file.point_kc - point_kc).max(axis=1)
    if distance_k.max() > SAME_POINT:
        k = int(distance_k.argmax())
        old, new = (" ".join(f"{x:g}" for x in point_c) for point_c in (file.point_kc[k], point_kc[k]))
        raise InputError(f"{file.path}: its k-point {k + 1} is ({old}), that of this run ({new}). {_REMEDY}")
