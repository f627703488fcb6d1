"""The bands of a fixed potential, and the density they make."""

from dataclasses import dataclass

import torch

from eigenwerk.dft.density import Density, band_density, band_occupancies
from eigenwerk.dft.hamiltonian import Hamiltonian
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.potential import Potential
from eigenwerk.dft.wavefunctions import starting_orbitals
from eigenwerk.linalg.davidson import davidson
from eigenwerk.linalg.shared_dense import SharedEigh
from eigenwerk.parallel.block_sizes import points_in_block
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.process_grid import share


@dataclass(frozen=True)
class Bands:
    """Orbitals and eigenvalues of all spins and k-points, and what they cost.

    coeff_sknG (s, k, n, G): of this group's k-points and this rank's plane waves; eig_skn, residual_skn (hartree) and
    applications of H to single orbitals: of all k-points, the same on every rank.
    """

    coeff_sknG: torch.Tensor
    eig_skn: torch.Tensor
    residual_skn: torch.Tensor
    applications: int
    notes: tuple[str, ...] = ()


def k_blocks(atoms: PawAtoms, bands: int) -> list[slice]:
    """Blocks of k-points whose orbitals fit the block size."""
    k_count, g_count = atoms.basis.mask_kG.shape
    point_bytes = bands * g_count * atoms.basis.form.dtype.itemsize
    step = points_in_block(k_count, point_bytes, atoms.runtime.block_bytes)
    return [slice(start, min(start + step, k_count)) for start in range(0, k_count, step)]


def first_orbitals(atoms: PawAtoms, potential: Potential, bands: int) -> torch.Tensor:
    """Starting orbitals of all spins; (s, k, n, G)."""
    spins = []
    for spin in range(len(potential.potential_sg)):
        hamiltonian = Hamiltonian(atoms, potential, spin)
        spins.append(torch.cat([starting_orbitals(atoms, hamiltonian, bands, k) for k in k_blocks(atoms, bands)]))
    return torch.stack(spins)


def solve_bands(
    atoms: PawAtoms,
    potential: Potential,
    start_sknG: torch.Tensor,
    *,
    expansions: int,
    tolerance: float,
    wanted_skn: torch.Tensor | None,
) -> Bands:
    """Improve the orbitals in a fixed potential by blocked Davidson, block by block; wanted_skn: of all k-points."""
    coeff_sknG, runtime = torch.empty_like(start_sknG), atoms.runtime
    eig_skn = torch.empty(start_sknG.shape[:3], dtype=runtime.real, device=start_sknG.device)
    residual_skn, applications, notes = torch.empty_like(eig_skn), 0, []
    if wanted_skn is not None:
        wanted_skn = wanted_skn[:, atoms.basis.own_k]
    for spin in range(start_sknG.shape[0]):
        hamiltonian = Hamiltonian(atoms, potential, spin)
        for k in k_blocks(atoms, start_sknG.shape[2]):
            result = davidson(
                hamiltonian.block(k), start_sknG[spin, k], expansions=expansions, tolerance=tolerance,
                wanted_weight_kn=None if wanted_skn is None else wanted_skn[spin, k], final_residual=False,
                eigh=SharedEigh(runtime.bands, runtime.trace),
            )
            coeff_sknG[spin, k], eig_skn[spin, k] = result.vectors_knx, result.eig_kn
            residual_skn[spin, k] = result.residual_kn
            applications += result.applications
            notes += [*result.notes]
    kpoints = runtime.grid.kpoints
    eig_skn, residual_skn = (of_all_kpoints(kpoints, value_skn) for value_skn in (eig_skn, residual_skn))
    applications = int(kpoints.sum(runtime.index(applications)))
    return Bands(coeff_sknG, eig_skn, residual_skn, applications, tuple(notes))


def of_all_kpoints(comm: Communicator, value_skn: torch.Tensor) -> torch.Tensor:
    """Values of this group's k-points -> those of all k-points, on every rank."""
    return comm.all_gather(value_skn.movedim(1, 0).contiguous()).movedim(0, 1).contiguous()


def density_of_bands(atoms: PawAtoms, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor) -> Density:
    """Valence density of the orbitals, not symmetrised; filling_skn = w_k g f of all k-points."""
    basis, runtime = atoms.basis, atoms.runtime
    own_n = share(coeff_sknG.shape[2], runtime.bands.size, runtime.bands.rank)
    density, occupancy = [], []
    for coeff_knG, filling_kn in zip(coeff_sknG, filling_skn[:, basis.own_k], strict=True):
        density.append(band_density(basis, coeff_knG, filling_kn))
        parts = []
        for k in k_blocks(atoms, coeff_knG.shape[1]):
            proj_knI = runtime.bands.sum(coeff_knG[k] @ atoms.projector_kIG[k].mH)
            parts.append(band_occupancies(atoms, proj_knI[:, own_n], filling_kn[k, own_n]))
        occupancy.append(torch.stack(parts).sum(0))
    density_sR = runtime.world.sum(torch.stack(density))
    occupancy_sx = runtime.world.sum(torch.stack(occupancy))
    return Density(basis.wave_map.from_grid(density_sR), occupancy_sx)
