"""Where solvers begin: noise that depends on the determinant only, or the states of a smaller basis."""

import numpy as np
import torch

from eigenwerk.errors import InputError
from eigenwerk.linalg.orthogonal import hashed
from eigenwerk.ncci.basis.manybody import ManyBodyBasis

NOISE = 1e-3
"""Share of noise in start vectors from a smaller basis, so that what those lack can be found."""


def noise_vectors(basis: ManyBodyBasis, count: int, like: torch.Tensor) -> torch.Tensor:
    """(count, b), the same on every device."""
    return torch.cat([hashed(0, basis.dimension, seed, like=like) for seed in range(count)])


def start_vectors(basis: ManyBodyBasis, count: int, known_nb: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    """`count` start vectors (count, b), of the number type and on the device of `like`.

    known_nb: states already carried over to this basis.  Where there are more than `count`, they are added up.
    """
    noise_nb = noise_vectors(basis, count, like)
    if known_nb is None:
        return noise_nb
    size = min(count, len(known_nb))
    begin_nb = NOISE / basis.dimension**0.5 * noise_nb
    for n, vector_b in enumerate(known_nb.to(like)):
        begin_nb[n % size] += vector_b
    begin_nb[size:] = noise_nb[size:]
    return begin_nb


def carried_over(small: ManyBodyBasis, large: ManyBodyBasis, vectors_nb: np.ndarray) -> np.ndarray:
    """Vectors of a smaller basis in a larger one that contains it, with zeros elsewhere.

    Orbitals of the smaller basis have to be the first ones of the larger.  Raises InputError where they do not fit.
    """
    one, other = small.space, large.space
    same = (one.protons, one.neutrons, one.twice_M, one.parity) == (
        other.protons,
        other.neutrons,
        other.twice_M,
        other.parity,
    )
    prefix = other.orbitals_p.labels[: len(one.orbitals_p)] == one.orbitals_p.labels
    if not same or not prefix or small.dimension != vectors_nb.shape[1]:
        raise InputError(
            "The start vectors belong to another nucleus, M, parity or list of orbitals, so they cannot be carried "
            "over. Remove the key start, or name results of the same nucleus at a smaller Nmax."
        )
    proton_b, neutron_b = small.all_states()
    place_b = large.find(small.protons.occupied_di[proton_b], small.neutrons.occupied_di[neutron_b])
    inside_b = place_b >= 0
    result_nb = np.zeros((len(vectors_nb), large.dimension), dtype=vectors_nb.dtype)
    result_nb[:, place_b[inside_b]] = vectors_nb[:, inside_b]
    return result_nb
