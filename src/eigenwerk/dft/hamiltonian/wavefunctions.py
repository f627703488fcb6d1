"""Orbitals: how they start, and what is projected from them."""

from math import pi

import numpy as np
import torch

from eigenwerk.dft.hamiltonian.hamiltonian import HamiltonianBlock
from eigenwerk.dft.paw.atoms import ALL_K, PawAtoms
from eigenwerk.dft.paw.setup import Setup
from eigenwerk.linalg.dense import generalised_eigh
from eigenwerk.linalg.products import norms
from eigenwerk.linalg.shared_dense import SharedEigh

RANDOM_SEED = 20
"""Seed of the random part of the start; fixed, so that a run can be repeated."""


def atomic_orbitals(atoms: PawAtoms, k: slice = ALL_K) -> torch.Tensor:
    """Pseudo partial waves of all bound states of all atoms as Bloch sums; (k, n, G)."""
    waves_kIG = atoms.orbital_functions(_bound_waves, k)
    bound_I = np.zeros(atoms.layout.projector_count, dtype=bool)
    for species in atoms.layout.species:
        bound_i = _bound_channels(species.setup)[species.setup.j_i]
        bound_I[species.start_a[:, None] + np.arange(len(bound_i))] = bound_i
    bound_I = np.resize(bound_I, waves_kIG.shape[1])  # the same for each component of an orbital
    return waves_kIG[:, torch.tensor(bound_I, device=waves_kIG.device)]


def _bound_waves(setup: Setup) -> np.ndarray:
    """Zero for the states that are not bound, whose tails would ask for many points far out; (j, g)."""
    return np.asarray(setup.dataset.pseudo_partial_wave_jg * _bound_channels(setup)[:, None])


def _bound_channels(setup: Setup) -> np.ndarray:
    return np.array([state.n is not None for state in setup.dataset.states])


def random_orbitals(atoms: PawAtoms, bands: int, k: slice = ALL_K) -> torch.Tensor:
    """Smooth random orbitals, the same for every layout; (k, n, G).

    Coefficients are random phases damped as 1/(1 + T_G)²: mostly long waves, which is where empty
    bands live.
    """
    basis = atoms.basis
    damping_kh = basis.mask_kh[k] / (1 + basis.kinetic_kh[k]) ** 2
    point_kc, count_k = basis.point_kc[k], basis.count_k[k]
    out_knh = np.zeros((len(count_k), bands, basis.mask_kh.shape[1]), dtype=complex)
    for point_c, count, out_nh in zip(point_kc, count_k, out_knh, strict=True):
        seed = [RANDOM_SEED, *(round(1e6 * float(x % 1.0)) for x in point_c)]
        phase_nh = np.random.default_rng(seed).random((bands, count))[:, basis.own_h]
        out_nh[:, : phase_nh.shape[1]] = np.exp(2j * pi * phase_nh)
    return basis.form.vectors(atoms.runtime.tensor(out_knh, atoms.runtime.complex) * damping_kh[:, None], k)


def starting_orbitals(atoms: PawAtoms, hamiltonian: HamiltonianBlock, bands: int, k: slice = ALL_K) -> torch.Tensor:
    """Lowest Ritz vectors of the Hamiltonian of these k-points in atomic orbitals and some random ones; (k, n, G)."""
    atomic_knG = atomic_orbitals(atoms, k)
    missing = max(bands - atomic_knG.shape[1], 0)
    # a few random vectors break the symmetry of the atomic guess, so that no band is missed
    x_knG = torch.cat([atomic_knG, random_orbitals(atoms, missing + max(2, bands // 8), k)], dim=1)
    x_knG = x_knG / norms(x_knG, hamiltonian.sum)[..., None].clamp_min(1e-30)
    h_knG, s_knG = hamiltonian.apply(x_knG)
    energy_kmm, overlap_kmm = x_knG.conj() @ h_knG.mT, x_knG.conj() @ s_knG.mT
    energy_kmm, overlap_kmm = hamiltonian.sum(torch.stack([energy_kmm, overlap_kmm]))
    eigh = SharedEigh(atoms.runtime.bands, atoms.runtime.trace)
    vector_kmn = generalised_eigh(energy_kmm, overlap_kmm, eigh=eigh)[1][..., :bands]
    return vector_kmn.mT @ x_knG
