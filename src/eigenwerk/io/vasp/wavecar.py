"""WAVECAR: orbitals as plane-wave coefficients in records of one length.  docs/formats/wavecar.md has the layout.

Which plane waves a record holds is not in the file: they are all G with ħ²|k+G|²/2m below the cutoff, by VASP's value
of ħ²/2m, the first index running fastest and each going 0, 1, …, -2, -1.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk.errors import InputError

KINETIC = 0.262465831
"""VASP's 2m/ħ², 1/(eV Å²); the value of CODATA is larger by 1 part in 10⁵."""

SINGLE, DOUBLE_COMPLEX = np.dtype("<c8"), np.dtype("<c16")
NUMBERS: dict[int, np.dtype[Any]] = {
    45200: SINGLE, 45210: DOUBLE_COMPLEX, 53300: SINGLE, 53310: DOUBLE_COMPLEX,
}  # fmt: skip
"""Marks of the precision -> type of the coefficients."""

DOUBLE = 45210
REAL = np.dtype("<f8")

MOST = 10**7
"""Largest number of k-points, of bands, and of plane waves, that is believed."""

_REMEDY = "Give a whole file, or set ISTART = 0."


@dataclass(frozen=True, eq=False)
class Wavecar:
    """What a WAVECAR holds, but for the coefficients, which `coefficients` reads.

    lattice_cv: (c, v) Å; cutoff, fermi_level: eV; point_kc: (k, c); count_k: plane waves; eig_skn: eV; occ_skn: 0 to 1.
    """

    path: Path
    record: int
    number: np.dtype
    lattice_cv: np.ndarray
    cutoff: float
    fermi_level: float
    point_kc: np.ndarray
    count_k: tuple[int, ...]
    eig_skn: np.ndarray
    occ_skn: np.ndarray

    def waves(self, k: int) -> np.ndarray:
        """The integers G of a k-point in their order, (G, c).  Raises InputError if the file has another number."""
        index_Gc = waves_within(self.lattice_cv, self.cutoff, self.point_kc[k], 100 * self.count_k[k] + 10**5)
        found = None if index_Gc is None else len(index_Gc)
        if index_Gc is None or found != self.count_k[k]:
            raise InputError(f"{self.path}: k-point {k + 1} has {self.count_k[k]} {self._words(found, k)}. {_REMEDY}")
        return index_Gc

    def _words(self, found: int | None, k: int) -> str:
        """What is wrong with a number of plane waves."""
        if found is not None and self.count_k[k] == 2 * found:
            return f"coefficients for {found} plane waves: orbitals of two components are not available"
        if found is not None and self.count_k[k] == (found + 1) // 2:
            return f"plane waves of {found}: half spheres of VASP's program for the Γ point are not read"
        return f"plane waves, but its cell and cutoff mean {'other ones' if found is None else found}"

    def coefficients(self, s: int, k: int) -> np.ndarray:
        """Those of all bands of one spin and k-point, (n, G) complex.  Raises InputError if they are no numbers."""
        _, points, bands = self.eig_skn.shape
        first = 2 + (s * points + k) * (1 + bands) + 1
        with _problems(self.path), open(self.path, "rb") as file:
            file.seek(first * self.record)
            raw = np.fromfile(file, np.uint8, bands * self.record)
        if len(raw) != bands * self.record:
            raise InputError(f"{self.path}: cut off within k-point {k + 1}. {_REMEDY}")
        size = self.count_k[k] * self.number.itemsize
        whole_nG = raw.reshape(bands, self.record)[:, :size].copy().view(self.number).astype(complex)
        if not np.isfinite(whole_nG).all():
            raise InputError(f"{self.path}: coefficients of k-point {k + 1} are no numbers. {_REMEDY}")
        return whole_nG


def read_wavecar(path: str | Path) -> Wavecar:
    """Read the headers of a file.

    Raises InputError if it cannot be read, is none, is cut off, or holds numbers that cannot be true.
    """
    path = Path(path)
    with _problems(path), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        record, spins, mark = _integers(path, np.fromfile(file, REAL, 3), 3, "record length, spins and precision")
        if mark not in NUMBERS or spins not in (1, 2) or not 13 * 8 <= record <= size or record % 8:
            raise InputError(
                f"{path}: no WAVECAR that is understood: records of {record} bytes, {spins} spins, precision {mark}. "
                f"{_REMEDY}"
            )
        file.seek(record)
        second = np.fromfile(file, REAL, 13)
        points, bands = _integers(path, second[:2], 2, "numbers of k-points and bands")
        if not (1 <= points <= MOST and 1 <= bands <= MOST) or size < record * (2 + spins * points * (1 + bands)):
            raise InputError(
                f"{path}: {points} k-points, {bands} bands and {spins} spins in records of {record} bytes need more "
                f"than its {size} bytes. {_REMEDY}"
            )
        lattice_cv = second[3:12].reshape(3, 3)
        _require_sane(path, second, lattice_cv)
        heads_skx = np.empty((spins, points, 4 + 3 * bands))
        if (4 + 3 * bands) * 8 > record:
            raise InputError(f"{path}: records of {record} bytes cannot hold {bands} energies. {_REMEDY}")
        for s, k in np.ndindex(spins, points):
            file.seek(record * (2 + (s * points + k) * (1 + bands)))
            heads_skx[s, k] = np.fromfile(file, REAL, 4 + 3 * bands)
    return _of_heads(path, record, NUMBERS[mark], lattice_cv, second, heads_skx)


def _of_heads(
    path: Path, record: int, number: np.dtype, lattice_cv: np.ndarray, second: np.ndarray, heads_skx: np.ndarray
) -> Wavecar:
    """The headers of the k-points, checked."""
    count_k = _integers(path, heads_skx[0, :, 0], heads_skx.shape[1], "numbers of plane waves")
    if not np.isfinite(heads_skx).all() or (np.abs(heads_skx[..., 1:4]) > 100).any():
        raise InputError(f"{path}: k-points, energies or occupations that are no numbers. {_REMEDY}")
    if (heads_skx[:, :, :4] != heads_skx[:1, :, :4]).any():
        raise InputError(f"{path}: the spins have other k-points or plane waves. {_REMEDY}")
    if min(count_k) < 1 or max(count_k) * number.itemsize > record:
        raise InputError(f"{path}: records of {record} bytes cannot hold {max(count_k)} plane waves. {_REMEDY}")
    bands_sknx = heads_skx[:, :, 4:].reshape(*heads_skx.shape[:2], -1, 3)
    return Wavecar(
        path, record, number, lattice_cv, float(second[2]), float(second[12]), heads_skx[0, :, 1:4], tuple(count_k),
        bands_sknx[..., 0].copy(), bands_sknx[..., 2].copy(),
    )  # fmt: skip


def _integers(path: Path, values: np.ndarray, count: int, what: str) -> list[int]:
    """Whole numbers that Fortran wrote as real ones."""
    if len(values) != count or not np.isfinite(values).all() or (np.abs(values) > 2**53).any():
        raise InputError(f"{path}: {what} are missing or no numbers. {_REMEDY}")
    if (values != np.rint(values)).any():
        raise InputError(f"{path}: {what} are no whole numbers. {_REMEDY}")
    return [int(value) for value in values]


def _require_sane(path: Path, second: np.ndarray, lattice_cv: np.ndarray) -> None:
    """Raise InputError for a cell or a cutoff that cannot be."""
    if not np.isfinite(second).all() or not 1e-3 < second[2] < 1e6 or np.abs(lattice_cv).max() > 1e5:
        raise InputError(f"{path}: the cutoff or the cell are no sensible numbers. {_REMEDY}")
    if abs(np.linalg.det(lattice_cv)) < 1e-6:
        raise InputError(f"{path}: the cell has no volume. {_REMEDY}")


@contextmanager
def _problems(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except (MemoryError, ValueError) as error:
        raise InputError(f"{path}: no WAVECAR: {error}. {_REMEDY}") from error


def waves_within(lattice_cv: np.ndarray, cutoff: float, point_c: np.ndarray, most: int) -> np.ndarray | None:
    """All G with |k+G|² below KINETIC times the cutoff, in the order of the file, (G, c).

    None if the box around the sphere has more than `most` points: no file has such a number of waves.
    """
    reciprocal_cv = 2 * np.pi * np.linalg.inv(lattice_cv).T
    reach_c = math.sqrt(KINETIC * cutoff) * np.linalg.norm(lattice_cv, axis=1) / (2 * np.pi) + np.abs(point_c)
    if np.prod(2 * reach_c + 3) > most:
        return None
    axes = [np.concatenate([np.arange(n + 1), np.arange(-n, 0)]) for n in np.floor(reach_c).astype(int) + 1]
    found = []
    plane_yxv = (axes[1][:, None, None] + point_c[1]) * reciprocal_cv[1] + (
        axes[0][:, None] + point_c[0]
    ) * reciprocal_cv[0]
    for third in axes[2]:
        norm2_yx = ((plane_yxv + (third + point_c[2]) * reciprocal_cv[2]) ** 2).sum(axis=2)
        y, x = np.nonzero(norm2_yx < KINETIC * cutoff)
        found.append(np.stack([axes[0][x], axes[1][y], np.full(len(x), third)], axis=1))
    return np.concatenate(found)


def wave_order(index_Gc: np.ndarray) -> np.ndarray:
    """The places that put integers G into the order of the file, (G,)."""
    wrapped_Gc = np.where(index_Gc < 0, index_Gc + 2**30, index_Gc)
    return np.lexsort(wrapped_Gc.T)


def wavecar_record(most: int, bands: int) -> int:
    """Bytes of a record that holds so many plane waves in double precision, all energies, and the mark of a run."""
    return 16 * max(most, math.ceil((4 + 3 * bands) / 2), 8)


def wavecar_bytes(spins: int, points: int, bands: int, most: int) -> int:
    """Bytes of a whole file."""
    return wavecar_record(most, bands) * (2 + spins * points * (1 + bands))
