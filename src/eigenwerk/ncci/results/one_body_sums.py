"""Matrix elements of one-body operators between many-body states, and one-body densities.

<f|sum_xy O_xy a+_x a_y|i> = sum over jumps of one nucleon, y -> x, with the same 2M and parity.  The jumps of one
species are listed once; the other species looks on: its determinants that go with both ends of a jump are a run,
because the basis is laid out so.  No matrix is stored.

Several ranks share the work: each has the whole vectors, and all get the sums.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

import numpy as np
import torch

from eigenwerk.ncci.basis.determinants import Determinants
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.orbitals import Orbitals
from eigenwerk.ncci.ranks.segments import Segments, share_by_cost
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.memory.node_arrays import Arrays, once_per_node
from eigenwerk.parallel.serial import ALONE

PIECE = 1 << 21
"""So many products of coefficients are formed at once."""


@dataclass(frozen=True)
class _Jumps:
    """Jumps of one nucleon between determinants `to_z` and `from_z`: states x_z <- y_z with a sign."""

    to_z: np.ndarray
    from_z: np.ndarray
    x_z: np.ndarray
    y_z: np.ndarray
    sign_z: np.ndarray

    def take(self, chosen: np.ndarray | slice) -> "_Jumps":
        return _Jumps(self.to_z[chosen], self.from_z[chosen], self.x_z[chosen], self.y_z[chosen], self.sign_z[chosen])


@dataclass(frozen=True)
class _Runs:
    """Where the two ends of each jump lie: states base + partner[start + k], k < count."""

    base_to_z: np.ndarray
    base_from_z: np.ndarray
    start_z: np.ndarray
    count_z: np.ndarray
    partner: np.ndarray


def one_body_matrices(
    basis: ManyBodyBasis,
    species: str,
    operators: Mapping[str, np.ndarray],
    vectors_nb: torch.Tensor,
    comm: Communicator = ALONE,
) -> dict[str, np.ndarray]:
    """<f|O|i> between all vectors, (n, n), for operators O_xy between the m-states of "p" or "n"; float64 sums."""
    count, device = vectors_nb.shape[0], vectors_nb.device
    totals = {name: vectors_nb.new_zeros((count, count), dtype=torch.float64) for name in operators}
    if not operators or _determinants(basis, species).nucleons == 0:
        return {name: total.cpu().numpy() for name, total in totals.items()}
    touched_xx = np.any([np.abs(matrix) > 1e-14 for matrix in operators.values()], axis=0)
    jumps, runs = _own(basis, species, comm, touched_xx)
    weights = {name: jumps.sign_z * matrix[jumps.x_z, jumps.y_z] for name, matrix in operators.items()}

    def add(piece: slice) -> None:
        z, *ends = _products(runs, piece)
        left_nz, right_nz = (vectors_nb[:, tensor(part, device)].double() for part in ends)
        for name, weight_z in weights.items():
            totals[name] += (left_nz * tensor(weight_z[z], device)) @ right_nz.T

    for piece in _pieces(runs):
        add(piece)
    return {name: comm.sum(total).cpu().numpy() for name, total in totals.items()}


def one_body_densities(
    basis: ManyBodyBasis,
    species: str,
    vectors_nb: torch.Tensor,
    right_nb: torch.Tensor | None = None,
    comm: Communicator = ALONE,
) -> np.ndarray:
    """<n|a+_x a_y|n'>, (n, x, x), for m-states x, y of equal 2m and parity; float64 sums.

    n' is the row of `right_nb` (transition densities), or n itself where there is none.
    """
    device, others_nb = vectors_nb.device, vectors_nb if right_nb is None else right_nb
    determinants = _determinants(basis, species)
    size = len(determinants.states)
    total_nx = vectors_nb.new_zeros((vectors_nb.shape[0], size * size), dtype=torch.float64)
    if determinants.nucleons:
        jumps, runs = _own(basis, species, comm)
        for piece in _pieces(runs):
            z, to, start = _products(runs, piece)
            left_nz = vectors_nb[:, tensor(to, device)].double()
            right_nz = others_nb[:, tensor(start, device)].double()
            place_z = tensor(jumps.x_z[z] * size + jumps.y_z[z], device)
            total_nx.index_add_(1, place_z, left_nz * right_nz * tensor(jumps.sign_z[z], device))
    return comm.sum(total_nx).reshape(-1, size, size).cpu().numpy()


def occupations(
    basis: ManyBodyBasis, species: str, vectors_nb: torch.Tensor, comm: Communicator = ALONE
) -> np.ndarray:
    """Mean number of nucleons in every orbital, (n, a)."""
    determinants, orbitals = _determinants(basis, species), _orbitals(basis, species)
    own = Segments(basis.dimension, comm).own
    proton_b, neutron_b = basis.split(np.arange(own.start, own.stop))
    place_b = tensor(proton_b if species == "p" else neutron_b, vectors_nb.device)
    share_nd = vectors_nb.new_zeros((vectors_nb.shape[0], len(determinants)), dtype=torch.float64)
    share_nd.index_add_(1, place_b, vectors_nb[:, own].double() ** 2)
    orbital_di = determinants.states.orbital_x[determinants.occupied_di.astype(np.int64)]
    result_na = np.zeros((vectors_nb.shape[0], len(orbitals)))
    for n, share_d in enumerate(comm.sum(share_nd).cpu().numpy()):
        for orbital_d in orbital_di.T:
            result_na[n] += np.bincount(orbital_d, weights=share_d, minlength=len(orbitals))
    return result_na


def quanta_shares(
    basis: ManyBodyBasis, lowest: int, vectors_nb: torch.Tensor, comm: Communicator = ALONE
) -> np.ndarray:
    """Probability of every number of weight units above `lowest` that the basis has, in steps of two, (n, step)."""
    own = Segments(basis.dimension, comm).own
    proton_b, neutron_b = basis.split(np.arange(own.start, own.stop))
    step_b = (basis.protons.weight_d[proton_b] + basis.neutrons.weight_d[neutron_b] - lowest) // 2
    steps = int(comm.max(torch.tensor(step_b.max(initial=0)))) + 1
    share_nx = vectors_nb.new_zeros((vectors_nb.shape[0], steps), dtype=torch.float64)
    share_nx.index_add_(1, tensor(step_b, vectors_nb.device), vectors_nb[:, own].double() ** 2)
    return comm.sum(share_nx).cpu().numpy()


def _determinants(basis: ManyBodyBasis, species: str) -> Determinants:
    return basis.protons if species == "p" else basis.neutrons


def _orbitals(basis: ManyBodyBasis, species: str) -> Orbitals:
    return basis.space.orbitals_p if species == "p" else basis.space.orbitals_n


def _all_jumps(determinants: Determinants) -> _Jumps:
    """All a+_x a_y with equal 2m and parity between determinants of the list, those with x = y included.

    A determinant without its nucleon in y is a core; two determinants with one core are the ends of a jump.  Cores are
    told apart by sums of fixed random 64-bit numbers of their states.
    """
    states, occupied_di = determinants.states, determinants.occupied_di.astype(np.int64)
    number_x = np.random.Generator(np.random.Philox(11)).integers(0, 2**64, size=len(states), dtype=np.uint64)
    core_di = number_x[occupied_di].sum(axis=1, dtype=np.uint64)[:, None] - number_x[occupied_di]
    place_di = np.broadcast_to(np.arange(determinants.nucleons), occupied_di.shape)
    class_di = states.twice_m_x[occupied_di] * 2 + states.parity_x[occupied_di]
    determinant_di = np.broadcast_to(np.arange(len(determinants))[:, None], occupied_di.shape)
    core, state, kind = core_di.ravel(), occupied_di.ravel(), class_di.ravel()
    order = np.lexsort((kind, core))
    core, state, kind = core[order], state[order], kind[order]
    determinant, sign = determinant_di.ravel()[order], 1.0 - 2.0 * (place_di.ravel()[order] % 2)
    change = (np.diff(core.view(np.int64)) != 0) | (np.diff(kind) != 0)
    first = np.concatenate([[0], np.flatnonzero(change) + 1])
    size = np.diff(np.concatenate([first, [len(core)]]))
    one, other = _pairs_within(first, size)
    return _Jumps(determinant[one], determinant[other], state[one], state[other], sign[one] * sign[other])


def _pairs_within(first: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All ordered pairs of positions inside runs that begin at `first`."""
    square = size * size
    run = np.repeat(np.arange(len(size)), square)
    rank = np.arange(len(run)) - np.repeat(np.cumsum(square) - square, square)
    return first[run] + rank // size[run], first[run] + rank % size[run]


def _own(
    basis: ManyBodyBasis, species: str, comm: Communicator, touched_xx: np.ndarray | None = None
) -> tuple[_Jumps, _Runs]:
    """The jumps of this rank, with their runs, of those between states that are touched; all are listed once on each
    machine."""

    def make() -> Arrays:
        jumps = _all_jumps(_determinants(basis, species))
        if touched_xx is not None:
            jumps = jumps.take(touched_xx[jumps.x_z, jumps.y_z])
        return vars(jumps) | vars(_runs(basis, species, jumps))

    found = once_per_node(comm, make)
    jumps = _Jumps(*(found[field.name] for field in fields(_Jumps)))
    runs = _Runs(*(found[field.name] for field in fields(_Runs)))
    own = share_by_cost(runs.count_z, comm.size, comm.rank)
    base = runs.base_to_z[own], runs.base_from_z[own]
    return jumps.take(own), _Runs(*base, runs.start_z[own], runs.count_z[own], runs.partner)


def _runs(basis: ManyBodyBasis, species: str, jumps: _Jumps) -> _Runs:
    first_d = basis.first_d[:-1]
    count_d = np.diff(basis.first_d)
    if species == "p":
        # both ends have the same bucket of neutron determinants; the shorter run is part of the longer one
        count_z = np.minimum(count_d[jumps.to_z], count_d[jumps.from_z])
        partner = np.arange(int(count_d.max(initial=0)))
        zero_z = np.zeros(len(jumps.to_z), dtype=np.int64)
        return _Runs(first_d[jumps.to_z], first_d[jumps.from_z], zero_z, count_z, partner)
    # neutron determinants of one bucket go with the proton determinants that begin with it, those with long runs first
    start_d = basis.neutron_start_d
    order = np.lexsort((-count_d, start_d))
    order = order[count_d[order] > 0]
    top = int(count_d.max(initial=0)) + 1
    rank_key = start_d[order] * top + (top - 1 - count_d[order])
    bucket_z = _bucket_start(basis, jumps.to_z)
    place_to, place_from = jumps.to_z - bucket_z, jumps.from_z - bucket_z
    longest = np.maximum(place_to, place_from)
    begin_z = np.searchsorted(rank_key, bucket_z * top, side="left")
    # partners have more neutron determinants than the farther end of the jump
    end_z = np.searchsorted(rank_key, bucket_z * top + np.maximum(top - 1 - longest, 0), side="left")
    end_z = np.where(longest < top - 1, end_z, begin_z)
    return _Runs(place_to, place_from, begin_z, np.maximum(end_z - begin_z, 0), first_d[order])


def _bucket_start(basis: ManyBodyBasis, neutron_z: np.ndarray) -> np.ndarray:
    """The first neutron determinant with the 2M and parity of each one."""
    neutrons = basis.neutrons
    key_d = neutrons.twice_m_d * 2 + neutrons.parity_d
    return np.searchsorted(key_d, key_d[neutron_z], side="left")


def _pieces(runs: _Runs) -> Iterator[slice]:
    """The jumps in pieces with about `PIECE` products."""
    last = np.cumsum(runs.count_z)
    begin = 0
    while begin < len(last):
        done = last[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(last, done + PIECE, side="right")))
        if last[end - 1] > done:
            yield slice(begin, end)
        begin = end


def _products(runs: _Runs, piece: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(jump, state it ends in, state it begins with) for all products of a piece."""
    count = runs.count_z[piece]
    jump = np.repeat(np.arange(piece.start, piece.stop), count)
    place = np.arange(len(jump))  # in the run, then among the partners
    place -= np.repeat(np.cumsum(count) - count, count)
    place += runs.start_z[jump]
    start = runs.partner[place]
    del place
    to = runs.base_to_z[jump]
    to += start
    start += runs.base_from_z[jump]
    return jump, to, start
