"""Where solvers begin: noise that depends on the determinant only, or the states of a smaller basis."""

import numpy as np
import torch

from eigenwerk.errors import InputError
from eigenwerk.linalg.orthogonal import hashed
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.ranks.segments import Segments

NOISE = 1e-3
"""Share of noise in start vectors from a smaller basis, so that what those lack can be found."""


def noise_vectors(segments: Segments, count: int, like: torch.Tensor) -> torch.Tensor:
    """(count, s), the same on every device and for every number of ranks."""
    own = segments.own
    return torch.cat([hashed(own.start, own.stop - own.start, seed, like=like) for seed in range(count)])


def noise_variance(count: int, known: int | None) -> float:
    """The variance of the noise in `count` start vectors, relative to that of nothing but noise; known: how many states
    of a smaller basis they begin from.  Uniform numbers in (-1, 1) have a variance of 1/3."""
    return 1.0 if not known else NOISE**2 / 3 / -(-known // min(count, known))


def start_vectors(segments: Segments, count: int, known_ns: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    """`count` start vectors (count, s), the components of this rank, of the number type and on the device of `like`.

    known_ns: states already carried over to this basis.  Where there are more than `count`, they are added up.
    """
    noise_ns = noise_vectors(segments, count, like)
    if known_ns is None:
        return noise_ns
    size = min(count, len(known_ns))
    begin_ns = NOISE / segments.dimension**0.5 * noise_ns
    for n, vector_s in enumerate(known_ns.to(like)):
        begin_ns[n % size] += vector_s
    begin_ns[size:] = noise_ns[size:]
    return begin_ns


def carried_over(
    small: ManyBodyBasis, large: ManyBodyBasis, vectors_nb: np.ndarray, own: slice | None = None
) -> np.ndarray:
    """Vectors of a smaller basis in a larger one that contains it, with zeros elsewhere; own: these components only.

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
    begin, end = (0, large.dimension) if own is None else (own.start, own.stop)
    proton_b, neutron_b = small.all_states()
    place_b = large.find(small.protons.occupied_di[proton_b], small.neutrons.occupied_di[neutron_b])
    inside_b = (place_b >= begin) & (place_b < end)
    result_nb = np.zeros((len(vectors_nb), end - begin), dtype=vectors_nb.dtype)
    result_nb[:, place_b[inside_b] - begin] = vectors_nb[:, inside_b]
    return result_nb
