"""Whether a CHGCAR fits a calculation: cell, species, grid and PAW data, told by what stands before its values; and
whether a WAVECAR does."""

from collections.abc import Mapping, Sequence

import numpy as np

from eigenwerk.dft.basis.grids import fine_room
from eigenwerk.dft.crystal.structure import Structure, shortest
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import runs_of
from eigenwerk.io.vasp.volumetric import VolumetricHead
from eigenwerk.io.vasp.wavecar import Wavecar
from eigenwerk.units import BOHR_ANGSTROM

SAME_CELL = 1e-4
"""Largest difference of lattice vectors (Å): files of other programs have six decimals."""

SAME_PLACE = 1e-5 / BOHR_ANGSTROM
"""Atoms of a file that are nearer to those of the run have not moved, bohr: six decimals are usual."""

SAME_POINT = 1e-6
"""Largest difference of fractional coordinates of one and the same k-point."""

LEAST_LMAXMIX, MOST_LMAXMIX = 2, 12
"""What compensation charges need is always in a file; no shell has more."""

_REMEDY = "or set ICHARG = 2 to start from atoms."


def require_fitting(
    head: VolumetricHead, structure: Structure, cutoff: float, checksums: Mapping[str, str], name: str = "CHGCAR"
) -> None:
    """Raise InputError if a file is one of another cell, of other atoms or PAW data, or its grid is too coarse.

    cutoff: of the plane waves, hartree: a grid must hold the compensation charges that go with it (`fine_room`), which
    reach farther than the density; checksums: md5 of the PAW data by element.
    """
    lattice_cv = structure.lattice_cv * BOHR_ANGSTROM
    difference = np.abs(head.poscar.lattice_cv - lattice_cv).max()
    if difference > SAME_CELL:
        volumes = [abs(float(np.linalg.det(cell_cv))) for cell_cv in (head.poscar.lattice_cv, lattice_cv)]
        raise InputError(
            f"{name}: is of another cell: {volumes[0]:.4f} Å³ against {volumes[1]:.4f} Å³ of POSCAR, lattice vectors "
            f"differ by up to {difference:.4f} Å. Give the file of this cell, {_REMEDY}"
        )
    if head.poscar.symbols != structure.symbols:
        there, here = (
            " ".join(f"{symbol}{count}" for symbol, count in runs_of(symbols))
            for symbols in (head.poscar.symbols, structure.symbols)
        )
        raise InputError(f"{name}: has the atoms {there}, POSCAR has {here} (the order counts). Give the file of these "
                         f"atoms, {_REMEDY}")  # fmt: skip
    least = fine_room(structure, cutoff)
    if any(there < here for there, here in zip(head.size_c, least, strict=True)):
        there, here = (" x ".join(map(str, size_c)) for size_c in (head.size_c, least))
        raise InputError(
            f"{name}: its grid has {there} points, and ENCUT of this run needs at least {here}. Set ENCUT as it was, "
            f"{_REMEDY}"
        )
    for symbol, digits in checksums.items():
        found = head.data_sets.get(symbol)
        if found is None:
            raise InputError(
                f"{name}: does not say which PAW data its augmentation occupancies belong to, so it was written, or "
                f"rewritten, by another program; they mean nothing for the data of this run. Remove the file, "
                f"{_REMEDY}"
            )
        if not digits.startswith(found):
            raise InputError(
                f"{name}: its augmentation occupancies of {symbol} belong to PAW data with the checksum {found}, this "
                f"run uses those with {digits[:8]}; one means nothing for the other. Remove the file, {_REMEDY}"
            )


def occupancy_count(l_j: Sequence[int], largest: int) -> int:
    """How many occupancies an atom has in a file with LMAXMIX = largest; l_j: of the channels of its data set."""
    largest, count = max(largest, LEAST_LMAXMIX), 0
    for j, l1 in enumerate(l_j):
        for l2 in l_j[j:]:
            count += sum(2 * l + 1 for l in range(abs(l1 - l2), min(l1 + l2, largest) + 1, 2))
    return count


def written_lmaxmix(channels: Mapping[str, Sequence[int]], symbols: Sequence[str], counts: Sequence[int]) -> int | None:
    """The smallest LMAXMIX of which atoms have so many numbers each; None if there is none.

    channels: l of each channel, by element.
    """
    for largest in range(LEAST_LMAXMIX, MOST_LMAXMIX + 1):
        count = {symbol: occupancy_count(l_j, largest) for symbol, l_j in channels.items()}
        if [count[symbol] for symbol in symbols] == list(counts):
            return largest
    return None


def require_lmaxmix(
    name: str, channels: Mapping[str, Sequence[int]], symbols: Sequence[str], counts: Sequence[int], fields: str = ""
) -> int:
    """The LMAXMIX of a file whose atoms have so many occupancies; InputError if it cannot be of these PAW data.

    fields: more about the file, in words.
    """
    largest = written_lmaxmix(channels, symbols, counts)
    if largest is None:
        pairs = sorted(set(zip(symbols, counts, strict=False)))
        words = ", ".join(f"{count} for {symbol}" for symbol, count in pairs)
        raise InputError(
            f"{name}: the PAW data have other numbers of augmentation occupancies than its {fields or 'atoms'} "
            f"({words or 'none'}). Remove the file, or set ICHARG = 2 to start from atoms."
        )
    return largest


def without_occupancies(name: str, kept: bool) -> str:
    """What becomes of a file without augmentation occupancies, in words; InputError if its density is to be kept.

    Densities that are predicted, or were rewritten by tools, have none.
    """
    if kept:
        raise InputError(
            f"{name}: has no augmentation occupancies, so the density inside the spheres of atoms is not known and "
            "cannot be kept (ICHARG = 11). Set ICHARG = 1, which begins with those of atoms, or give the file of a "
            "whole run."
        )
    return f"{name} has no augmentation occupancies: those of superposed atoms take their place"


def moved_by(head: VolumetricHead, structure: Structure) -> float:
    """How far the atoms of a file are from those of a calculation in the same cell, bohr; the largest distance."""
    step_av = shortest(head.poscar.scaled_ac - structure.scaled_ac) @ structure.lattice_cv
    return float(np.linalg.norm(step_av, axis=1).max())


def require_kept(name: str, distance: float, *others: str) -> None:
    """Raise InputError unless a density can be kept as it is; distance: of the atoms; others: what else is wrong."""
    away = f"its atoms are elsewhere (by up to {distance * BOHR_ANGSTROM:.4f} Å)" if distance > SAME_PLACE else ""
    wrong = list(filter(None, [away, *others]))
    if wrong:
        raise InputError(
            f"{name}: this density cannot be kept: {'; '.join(wrong)}. Use the structure and tags of the run that made "
            "it, or make the ground state anew with ICHARG = 2."
        )


def misfit_of_waves(file: Wavecar, point_kc: np.ndarray) -> str:
    """Why the orbitals of a file are none of this calculation: its k-points; '' if they are the same.

    Cell, cutoff, bands and spins may differ.
    """
    there, here = len(file.point_kc), len(point_kc)
    if there != here:
        return f"has {there} k-points, this run {here}"
    distance_k = np.abs(file.point_kc - point_kc).max(axis=1)
    if distance_k.max() <= SAME_POINT:
        return ""
    k = int(distance_k.argmax())
    old, new = (" ".join(f"{x:g}" for x in point_c) for point_c in (file.point_kc[k], point_kc[k]))
    return f"its k-point {k + 1} is ({old}), that of this run ({new})"
