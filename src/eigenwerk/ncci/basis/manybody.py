"""The many-body basis: products of a proton and a neutron determinant with fixed 2M and parity, within a truncation."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.determinants import Determinants, all_determinants
from eigenwerk.ncci.basis.space import ManyBodySpace


@dataclass(frozen=True, eq=False)
class ManyBodyBasis:
    """All states b = |d_p> |d_n> of a space; protons and neutrons: their determinants.

    States are ordered by the proton determinant, then by the neutron determinant.  The neutron determinants that go
    with a proton determinant are a run that begins with their bucket (2M, parity), so that the number of a state is
    `offset_d[d_p] + d_n`: two additions, no search.
    """

    space: ManyBodySpace
    protons: Determinants
    neutrons: Determinants

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
        p, n, limits = self.protons, self.neutrons, self.space.truncation
        room_d = np.minimum(limits.max_n, limits.max_total - p.weight_d)
        # one number that rises along the neutron determinants, (2M, parity, weight) as digits
        top = int(max(n.weight_d.max(initial=0), 0)) + 2
        key_n = (n.twice_m_d * 2 + n.parity_d) * top + n.weight_d
        bucket_d = ((self.space.twice_M - p.twice_m_d) * 2 + (self.space.parity + p.parity_d) % 2) * top
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


def many_body_basis(space: ManyBodySpace) -> ManyBodyBasis:
    """The basis of a space.  Raises InputError where it has no state."""
    limits, (lowest_p, lowest_n) = space.truncation, space.lowest_weights()
    limit_p = min(limits.max_p, limits.max_total - lowest_n)
    limit_n = min(limits.max_n, limits.max_total - lowest_p)
    det_p = all_determinants(space.orbitals_p.states(), space.weight_p_x, space.protons, limit_p)
    same = space.orbitals_p == space.orbitals_n and np.array_equal(space.weight_p_x, space.weight_n_x)
    same = same and (space.protons, limit_p) == (space.neutrons, limit_n)
    det_n = det_p
    if not same:
        det_n = all_determinants(space.orbitals_n.states(), space.weight_n_x, space.neutrons, limit_n)
    basis = ManyBodyBasis(space, det_p, det_n)
    if basis.dimension == 0:
        raise InputError(_why_empty(basis))
    return basis


def _why_empty(basis: ManyBodyBasis) -> str:
    space, p, n = basis.space, basis.protons, basis.neutrons
    limits = space.truncation
    if not len(p) or not len(n):
        lowest = sum(space.lowest_weights())
        return (
            f"No state of {p.nucleons} protons and {n.nucleons} neutrons fits the truncation: the lowest one has "
            f"weight {lowest}, the limits are {limits.max_p} (protons), {limits.max_n} (neutrons), "
            f"{limits.max_total} (all). Raise the limits; {lowest} in all is the least."
        )
    largest = int(p.twice_m_d.max() + n.twice_m_d.max())
    word = ("even", "odd")[space.parity]
    if abs(space.twice_M) > largest:
        return f"There is no state with 2M = {space.twice_M} in this space; the largest is {largest}. Lower M."
    return (
        f"There is no state of {word} parity with 2M = {space.twice_M} in this space. Take the other parity, or "
        "change Nmax by one (Nmax even is natural parity, odd is unnatural)."
    )
