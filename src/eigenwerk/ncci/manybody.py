"""The many-body basis: products of a proton and a neutron determinant with fixed 2M and parity, within a truncation."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.ncci.determinants import Determinants, all_determinants, lowest_weight
from eigenwerk.ncci.orbitals import Orbitals, no_core_orbitals


@dataclass(frozen=True, eq=False)
class Truncation:
    """Which determinants belong to a basis: limits on sums of weights of the occupied orbitals.

    weight_p_a, weight_n_a: weight of every proton and neutron orbital, whole numbers from 0.  max_p, max_n, max_total:
    the largest sums over protons, over neutrons, over all nucleons.
    """

    weight_p_a: np.ndarray
    weight_n_a: np.ndarray
    max_p: int
    max_n: int
    max_total: int


@dataclass(frozen=True, eq=False)
class ManyBodyBasis:
    """All states b = |d_p> |d_n> with 2M = twice_M, parity 0 (even) or 1 (odd), inside a truncation.

    States are ordered by the proton determinant, then by the neutron determinant.  The neutron determinants that go
    with a proton determinant are a run that begins with their bucket (2M, parity), so that the number of a state is
    `offset_d[d_p] + d_n`: two additions, no search.
    """

    orbitals_p: Orbitals
    orbitals_n: Orbitals
    protons: Determinants
    neutrons: Determinants
    truncation: Truncation
    twice_M: int
    parity: int

    @property
    def dimension(self) -> int:
        """How many states there are."""
        return int(self.first_d[-1])

    @property
    def nucleons(self) -> int:
        """Protons and neutrons together (without an inert core)."""
        return self.protons.nucleons + self.neutrons.nucleons

    @cached_property
    def _runs(self) -> tuple[np.ndarray, np.ndarray]:
        """First neutron determinant of every proton determinant, and how many there are."""
        p, n, limits = self.protons, self.neutrons, self.truncation
        room_d = np.minimum(limits.max_n, limits.max_total - p.weight_d)
        # one number that rises along the neutron determinants, (2M, parity, weight) as digits
        top = int(max(n.weight_d.max(initial=0), 0)) + 2
        key_n = (n.twice_m_d * 2 + n.parity_d) * top + n.weight_d
        bucket_d = ((self.twice_M - p.twice_m_d) * 2 + (self.parity + p.parity_d) % 2) * top
        start_d = np.searchsorted(key_n, bucket_d, side="left")
        stop_d = np.searchsorted(key_n, bucket_d + np.clip(room_d, -1, top - 1), side="right")
        return start_d, np.maximum(stop_d - start_d, 0)

    @cached_property
    def first_d(self) -> np.ndarray:
        """(proton determinants + 1) number of the first state of each; the last entry is the dimension."""
        return np.concatenate([[0], np.cumsum(self._runs[1])])

    @cached_property
    def offset_d(self) -> np.ndarray:
        """For every proton determinant the number to which that of a neutron determinant is added."""
        return self.first_d[:-1] - self._runs[0]

    @property
    def neutron_start_d(self) -> np.ndarray:
        """For every proton determinant its first neutron determinant."""
        return self._runs[0]

    def split(self, state_b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Proton and neutron determinants of states."""
        proton_b = np.searchsorted(self.first_d, state_b, side="right") - 1
        return proton_b, state_b - self.offset_d[proton_b]

    def all_states(self) -> tuple[np.ndarray, np.ndarray]:
        """Proton and neutron determinants of all states, in order."""
        proton_b = np.repeat(np.arange(len(self.protons)), self._runs[1])
        return proton_b, np.arange(self.dimension) - self.offset_d[proton_b]

    def find(self, occupied_p: np.ndarray, occupied_n: np.ndarray) -> np.ndarray:
        """Numbers of the states with these occupied proton and neutron states (rows); -1 where there is none."""
        d_p, d_n = self.protons.find(occupied_p), self.neutrons.find(occupied_n)
        start, count = self._runs[0][d_p], self._runs[1][d_p]
        inside = (d_p >= 0) & (d_n >= start) & (d_n < start + count)
        return np.where(inside, self.offset_d[d_p] + d_n, -1)

    def weight_b(self) -> np.ndarray:
        """Weight of every state; in a no-core basis its oscillator quanta."""
        proton_b, neutron_b = self.all_states()
        return self.protons.weight_d[proton_b] + self.neutrons.weight_d[neutron_b]


def minimal_quanta(nucleons: int) -> tuple[int, int]:
    """Quanta of the lowest configuration of `nucleons` nucleons of one species, and its highest shell."""
    shell, left, quanta = 0, nucleons, 0
    while left > (shell + 1) * (shell + 2):
        left -= (shell + 1) * (shell + 2)
        quanta += shell * (shell + 1) * (shell + 2)
        shell += 1
    return quanta + shell * left, shell


def no_core_truncation(protons: int, neutrons: int, max_excitation: int) -> tuple[Orbitals, Truncation, int]:
    """Orbitals, truncation and parity of the basis with up to `max_excitation` quanta above the lowest configuration.

    States have max_excitation, max_excitation - 2, ... excess quanta, so an odd number means unnatural parity.
    """
    if max_excitation < 0:
        raise InputError(f"Nmax = {max_excitation} is not possible. Nmax counts excitation quanta: 0 or more.")
    (quanta_p, shell_p), (quanta_n, shell_n) = minimal_quanta(protons), minimal_quanta(neutrons)
    orbitals = no_core_orbitals(max(shell_p, shell_n) + max_excitation)
    limit = quanta_p + quanta_n + max_excitation
    truncation = Truncation(orbitals.quanta_a, orbitals.quanta_a, limit, limit, limit)
    return orbitals, truncation, limit % 2


def no_core_basis(protons: int, neutrons: int, max_excitation: int, twice_M: int) -> ManyBodyBasis:
    """The no-core basis of a nucleus at Nmax = max_excitation; the parity of Nmax gives that of the states."""
    orbitals, truncation, parity = no_core_truncation(protons, neutrons, max_excitation)
    return truncated_basis(orbitals, orbitals, protons, neutrons, truncation, twice_M, parity)


def valence_truncation(orbitals_p: Orbitals, orbitals_n: Orbitals) -> Truncation:
    """No truncation at all."""
    return Truncation(np.zeros(len(orbitals_p), np.int64), np.zeros(len(orbitals_n), np.int64), 0, 0, 0)


def valence_basis(
    orbitals_p: Orbitals, orbitals_n: Orbitals, protons: int, neutrons: int, twice_M: int, parity: int
) -> ManyBodyBasis:
    """All states of `protons` and `neutrons` valence nucleons in the given orbitals."""
    truncation = valence_truncation(orbitals_p, orbitals_n)
    return truncated_basis(orbitals_p, orbitals_n, protons, neutrons, truncation, twice_M, parity)


def truncated_basis(
    orbitals_p: Orbitals,
    orbitals_n: Orbitals,
    protons: int,
    neutrons: int,
    truncation: Truncation,
    twice_M: int,
    parity: int,
) -> ManyBodyBasis:
    """The basis of a truncation.  Raises InputError where no state is possible."""
    check_quantum_numbers(orbitals_p, orbitals_n, protons, neutrons, twice_M, parity)
    states_p, states_n = orbitals_p.states(), orbitals_n.states()
    weight_p = np.asarray(truncation.weight_p_a, dtype=np.int64)[states_p.orbital_x]
    weight_n = np.asarray(truncation.weight_n_a, dtype=np.int64)[states_n.orbital_x]
    limit_p = min(truncation.max_p, truncation.max_total - lowest_weight(weight_n, neutrons))
    limit_n = min(truncation.max_n, truncation.max_total - lowest_weight(weight_p, protons))
    det_p = all_determinants(states_p, weight_p, protons, limit_p)
    same = orbitals_p == orbitals_n and np.array_equal(weight_p, weight_n)
    same = same and (protons, limit_p) == (neutrons, limit_n)
    det_n = det_p if same else all_determinants(states_n, weight_n, neutrons, limit_n)
    basis = ManyBodyBasis(orbitals_p, orbitals_n, det_p, det_n, truncation, twice_M, parity)
    if basis.dimension == 0:
        raise InputError(_why_empty(basis, lowest_weight(weight_p, protons) + lowest_weight(weight_n, neutrons)))
    return basis


def check_quantum_numbers(
    orbitals_p: Orbitals, orbitals_n: Orbitals, protons: int, neutrons: int, twice_M: int, parity: int
) -> None:
    """Raises InputError for numbers of nucleons, 2M or a parity that no state can have."""
    for number, orbitals, word in ((protons, orbitals_p, "proton"), (neutrons, orbitals_n, "neutron")):
        room = int((orbitals.twice_j_a + 1).sum())
        if not 0 <= number <= room:
            raise InputError(
                f"{number} {word}s do not fit the {word} orbitals {orbitals.names()}, which hold 0 to {room}. "
                "Check the nucleus and the core, or take more orbitals."
            )
    if (protons + neutrons + twice_M) % 2:
        kind, near = ("half-integer", "1/2") if (protons + neutrons) % 2 else ("an integer", "0")
        raise InputError(
            f"2M = {twice_M} is not possible with {protons + neutrons} nucleons: M is {kind}. Set M = {near}."
        )
    if parity not in (0, 1):
        raise InputError(f"Parity {parity} is neither 0 (even) nor 1 (odd).")


def _why_empty(basis: ManyBodyBasis, lowest: int) -> str:
    p, n, limits = basis.protons, basis.neutrons, basis.truncation
    if not len(p) or not len(n):
        return (
            f"No state of {p.nucleons} protons and {n.nucleons} neutrons fits the truncation: the lowest one has "
            f"weight {lowest}, the limits are {limits.max_p} (protons), {limits.max_n} (neutrons), "
            f"{limits.max_total} (all). Raise the limits; {lowest} in all is the least."
        )
    largest = int(p.twice_m_d.max() + n.twice_m_d.max())
    word = ("even", "odd")[basis.parity]
    if abs(basis.twice_M) > largest:
        return f"There is no state with 2M = {basis.twice_M} in this space; the largest is {largest}. Lower M."
    return (
        f"There is no state of {word} parity with 2M = {basis.twice_M} in this space. Take the other parity, or "
        "change Nmax by one (Nmax even is natural parity, odd is unnatural)."
    )
