"""States with M + 1 from those with M: J+ = sum of j+ over all nucleons, on vectors of a many-body basis.

j+ |n l j m> = sqrt(j (j + 1) - m (m + 1)) |n l j m + 1> leaves the orbital, so the weight and with it the truncation:
nothing is lost.  The m-states of an orbital follow each other, so the order of the occupied states, and the sign, stay.

What M cannot tell of a tensor (its Clebsch-Gordan coefficient vanishes, as of odd ranks for M = 0), M + 1 does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from eigenwerk.ncci.basis.determinants import Determinants
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.orbitals import Orbitals
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.serial import ALONE

PIECE = 1 << 20
"""So many states are raised at once."""


@dataclass(frozen=True)
class _Steps:
    """j+ on the determinants d of one species: d -> to_z with amplitude_z for z from first_d[d] to first_d[d + 1]."""

    first_d: np.ndarray
    to_z: np.ndarray
    amplitude_z: np.ndarray


def raised_basis(basis: ManyBodyBasis) -> ManyBodyBasis:
    """The basis of M + 1, of the same determinants of protons and neutrons, which are there for all M."""
    return ManyBodyBasis(replace(basis.space, twice_M=basis.space.twice_M + 2), basis.protons, basis.neutrons)


def raised(
    basis: ManyBodyBasis, above: ManyBodyBasis, vectors_nb: torch.Tensor, comm: Communicator = ALONE
) -> torch.Tensor:
    """J+ on vectors (n, b), (n, b') in `above` = `raised_basis(basis)`; not normalised.

    Several ranks share the states b; each has whole vectors and gets whole ones.
    """
    space = basis.space
    steps = _steps(basis.protons, space.orbitals_p), _steps(basis.neutrons, space.orbitals_n)
    total_nb = vectors_nb.new_zeros((len(vectors_nb), above.dimension))
    for state_b in _pieces(Segments(basis.dimension, comm).own):
        proton_b, neutron_b = basis.split(state_b)
        for one, kept_b, kind in ((proton_b, neutron_b, 0), (neutron_b, proton_b, 1)):
            source_z, to_z, amplitude_z = _all(steps[kind], one)
            pair = (to_z, kept_b[source_z]) if kind == 0 else (kept_b[source_z], to_z)
            place_z = above.offset_d[pair[0]] + pair[1]
            moved_nz = vectors_nb[:, tensor(state_b[source_z], vectors_nb.device)]
            amplitude = tensor(amplitude_z, moved_nz.device).to(moved_nz.dtype)
            total_nb.index_add_(1, tensor(place_z, vectors_nb.device), moved_nz * amplitude)
    return comm.sum(total_nb)


def _pieces(own: slice) -> Iterator[np.ndarray]:
    for begin in range(own.start, own.stop, PIECE):
        yield np.arange(begin, min(begin + PIECE, own.stop))


def _steps(determinants: Determinants, orbitals: Orbitals) -> _Steps:
    """All single steps x -> x + 1 inside an orbital to a state that is free."""
    occupied_di = determinants.occupied_di.astype(np.int64)
    states, (count, nucleons) = determinants.states, occupied_di.shape
    twice_j_di = orbitals.twice_j_a[states.orbital_x[occupied_di]]
    twice_m_di = states.twice_m_x[occupied_di]
    free_di = twice_m_di < twice_j_di
    if nucleons > 1:
        free_di[:, :-1] &= occupied_di[:, 1:] != occupied_di[:, :-1] + 1
    d, i = np.nonzero(free_di)
    new_zi = occupied_di[d]
    new_zi[np.arange(len(d)), i] += 1
    j, m = twice_j_di[d, i] / 2, twice_m_di[d, i] / 2
    first_d = np.searchsorted(d, np.arange(count + 1))
    to_z = determinants.find(new_zi) if len(d) else np.zeros(0, dtype=np.int64)
    return _Steps(first_d, to_z, np.sqrt(j * (j + 1) - m * (m + 1)))


def _all(steps: _Steps, determinant_b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All steps of the determinants of some states: place among the states, new determinant, amplitude."""
    first_b = steps.first_d[determinant_b]
    count_b = steps.first_d[determinant_b + 1] - first_b
    source_z = np.repeat(np.arange(len(count_b)), count_b)
    z = np.arange(len(source_z)) - np.repeat(np.cumsum(count_b) - count_b, count_b) + first_b[source_z]
    return source_z, steps.to_z[z], steps.amplitude_z[z]
