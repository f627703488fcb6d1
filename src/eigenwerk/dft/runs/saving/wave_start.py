"""A start from the orbitals of a WAVECAR, and from the density that they make.

Another program's orbitals are normalised by another overlap, and no file says which: they are made orthonormal by that
of this run, S^(-1/2) as a matrix between them, which changes them as little as possible.
"""

from pathlib import Path

import numpy as np
import torch

from eigenwerk.dft.basis.blocks import on_k_blocks
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.inputs.fitting_files import misfit_of_waves
from eigenwerk.dft.scf.bands import density_of_bands
from eigenwerk.dft.scf.start.carried import Places, Sphere, StoredOrbitals, carried_orbitals, with_electrons
from eigenwerk.dft.scf.state import StartingPoint, wanted_bands
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.wavecar import Wavecar, read_wavecar
from eigenwerk.linalg.products import inner
from eigenwerk.linalg.shared_dense import SharedEigh

LEAST = 1e-6
"""Smallest eigenvalue of the overlap between orbitals that are no linear combinations of each other."""


def wave_start(path: str | Path, calculation: Calculation) -> StartingPoint | None:
    """Where a calculation begins with the orbitals of a file; None if they are complex and the basis wants real ones.

    Collective.  Orbitals of one spin serve both, with the starting moments of the atoms in their density; of two spins
    one run without spin takes the first.  Raises InputError for a file that is damaged or of other k-points, for
    orbitals that depend on each other, and for occupations that mean no electrons.
    """
    file, atoms, parameters = read_wavecar(path), calculation.atoms, calculation.parameters
    basis = atoms.basis
    if misfit := misfit_of_waves(file, basis.kpoints.point_kc):
        raise InputError(f"{path}: {misfit}. Set ISTART = 0 to start from atoms.")
    spins, channels, notes = len(file.eig_skn), basis.spin.channels, tuple[str, ...]()
    if spins != channels:
        both = "both spins begin with its orbitals" if channels > spins else "its first spin serves"
        notes = (f"ISPIN was {spins}, now it is {channels}: {both}",)
    bands, kept = parameters.bands, min(parameters.bands, file.eig_skn.shape[2])
    coeff_sknG = carried_orbitals(_stored(file), Places({}, False), atoms, bands)
    if coeff_sknG is None:
        return None
    occ_skn = torch.zeros((channels, len(file.point_kc), bands), dtype=torch.float64)
    occ_skn[..., :kept] = torch.as_tensor(
        file.occ_skn[..., :kept] if spins == channels else file.occ_skn.mean(0)[..., :kept]
    )
    filling_skn = basis.filling(occ_skn)
    electrons = float(filling_skn.sum())
    if not 0.5 < electrons / parameters.electrons < 2:
        raise InputError(
            f"{path}: its occupations mean {electrons:g} electrons, not {parameters.electrons:g}. Set ISTART = 0 to "
            "start from atoms."
        )
    coeff_sknG = orthonormal(calculation, coeff_sknG, str(path))
    density = calculation.symmetrise(density_of_bands(atoms, coeff_sknG, filling_skn))
    if channels > spins:
        density = density.unpolarised()
    density = with_electrons(density, atoms, parameters.electrons)
    if kept < bands:
        return StartingPoint(density, coeff_sknG, notes=notes)
    return StartingPoint(density, coeff_sknG, wanted_bands(occ_skn), notes=notes, occ_skn=occ_skn)


def _stored(file: Wavecar) -> StoredOrbitals:
    """The orbitals of a file by their plane waves; every rank reads those of its k-points."""

    def sphere(basis: PlaneWaveBasis, k: int) -> Sphere:
        point = basis.own_k.start + k
        return file.waves(point), np.stack([file.coefficients(s, point) for s in range(len(file.eig_skn))])

    return StoredOrbitals(file.eig_skn.shape[2], sphere)


def orthonormal(calculation: Calculation, coeff_sknG: torch.Tensor, name: str) -> torch.Tensor:
    """Orbitals made S-orthonormal with the least change, (s, k, n, G).

    Source: P.-O. Löwdin, J. Chem. Phys. 18, 365 (1950).  Raises InputError, on all ranks, if they are dependent.
    """
    atoms, runtime = calculation.atoms, calculation.runtime
    hamiltonian = Hamiltonian.of(atoms, calculation.builder(calculation.starting_density()))
    eigh, smallest = SharedEigh(runtime.bands, runtime.trace), [1.0]

    def work(spin: int, k: slice) -> torch.Tensor:
        block, x_knG = hamiltonian.block(spin, k), coeff_sknG[spin, k]
        gram_knn = block.sum(inner(x_knG, block.overlap(x_knG)))
        weight_kn, u_knn = eigh(0.5 * (gram_knn + gram_knn.mH))
        smallest.append(float(weight_kn.min()))
        root_kn = weight_kn.clamp_min(LEAST).rsqrt().to(u_knn.dtype)
        return ((u_knn * root_kn.unsqueeze(-2)) @ u_knn.mH).mT @ x_knG

    spins, _, bands, _ = coeff_sknG.shape
    found_s = on_k_blocks(atoms.basis, spins, bands, work)
    if runtime.world.any(min(smallest) < LEAST):
        raise InputError(f"{name}: its orbitals depend on each other. Set ISTART = 0 to start from atoms.")
    return torch.stack([torch.cat(found) for found in found_s])
