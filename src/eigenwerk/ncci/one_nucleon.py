"""One nucleon outside a core: its states are those of the one-body energies, and no pair is there to interact.

Energies join orbitals of equal l and j alone, so that every state has the j of its orbitals.
"""

from collections.abc import Mapping

import numpy as np
import torch

from eigenwerk.linalg.operator import EigenResult
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.results.one_body_sums import occupations
from eigenwerk.parallel.communicator import Communicator


def one_nucleon_matrix(basis: ManyBodyBasis, energies: Mapping[str, np.ndarray]) -> np.ndarray:
    """<b|H|b'> of a basis of one nucleon, MeV; energies: one-body matrices (a, a) of protons "p" and neutrons "n"."""
    orbital_b = _orbitals(basis)
    species = "p" if basis.protons.nucleons else "n"
    return energies[species][np.ix_(orbital_b, orbital_b)]


def one_nucleon_states(basis: ManyBodyBasis, matrix_bb: np.ndarray, states: int, like: torch.Tensor) -> EigenResult:
    """The lowest states, each with one j, exactly; vectors of the number type and on the device of `like`."""
    orbitals = basis.space.orbitals_p if basis.protons.nucleons else basis.space.orbitals_n
    orbital_b = _orbitals(basis)
    kind_b = orbitals.l_a[orbital_b] * 1000 + orbitals.twice_j_a[orbital_b]
    energies, rows = [], []
    for kind in np.unique(kind_b):
        place = np.flatnonzero(kind_b == kind)
        energy_n, turn_nn = np.linalg.eigh(matrix_bb[np.ix_(place, place)])
        energies += energy_n.tolist()
        for column in turn_nn.T:
            row = np.zeros(len(orbital_b))
            row[place] = column
            rows.append(row)
    order = np.argsort(energies, kind="stable")[:states]
    eig_n = torch.tensor([energies[n] for n in order], dtype=torch.float64, device=like.device)
    vectors_nx = torch.tensor(np.array([rows[n] for n in order])).to(like)
    return EigenResult(eig_n[None], vectors_nx[None], torch.zeros_like(eig_n)[None], 0, 0, (eig_n == eig_n)[None])


def one_nucleon_scalars(
    basis: ManyBodyBasis, vectors_nb: torch.Tensor, spins: bool, comm: Communicator
) -> dict[str, np.ndarray]:
    """Expectation values (n,) of J^2, T^2, and with `spins` of L^2 and S^2, in states of one nucleon."""
    space = basis.space
    species, other = ("p", "n") if space.protons else ("n", "p")
    orbitals = space.orbitals_p if species == "p" else space.orbitals_n
    share_na = occupations(basis, species, vectors_nb, comm)
    j_a = orbitals.twice_j_a / 2
    values = {"J2": share_na @ (j_a * (j_a + 1))}
    one_n = np.ones(len(vectors_nb))
    if space.orbitals_p == space.orbitals_n:
        values["T2"] = 0.75 * one_n
    if spins:
        l2_n = share_na @ (orbitals.l_a * (orbitals.l_a + 1.0))
        values |= {"L2": l2_n, f"L{species}2": l2_n, f"L{other}2": 0.0 * one_n}
        values |= {"S2": 0.75 * one_n, f"S{species}2": 0.75 * one_n, f"S{other}2": 0.0 * one_n}
    return values


def _orbitals(basis: ManyBodyBasis) -> np.ndarray:
    """The orbital of the nucleon in every state."""
    proton_b, neutron_b = basis.all_states()
    side, place_b = (basis.protons, proton_b) if basis.protons.nucleons else (basis.neutrons, neutron_b)
    return side.states.orbital_x[side.occupied_di[place_b, 0].astype(np.int64)]
