"""What a many-body space is, before anything is built: nucleons, orbitals, truncation, 2M and parity."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.determinants import lowest_weight
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
class ManyBodySpace:
    """All states of so many protons and neutrons in orbitals, with 2M = twice_M and parity 0 (even) or 1 (odd), inside
    a truncation.  Nucleons of an inert core are not counted.

    Raises InputError for numbers of nucleons, 2M or a parity that no state can have.
    """

    protons: int
    neutrons: int
    orbitals_p: Orbitals
    orbitals_n: Orbitals
    truncation: Truncation
    twice_M: int
    parity: int

    def __post_init__(self) -> None:
        self._refuse_too_many("proton", self.protons, self.orbitals_p)
        self._refuse_too_many("neutron", self.neutrons, self.orbitals_n)
        if (self.nucleons + self.twice_M) % 2:
            kind, near = ("half-integer", "1/2") if self.nucleons % 2 else ("an integer", "0")
            raise InputError(
                f"2M = {self.twice_M} is not possible with {self.nucleons} nucleons: M is {kind}. Set M = {near}."
            )
        if self.parity not in (0, 1):
            raise InputError(f"Parity {self.parity} is neither 0 (even) nor 1 (odd). Choose one of them.")

    def _refuse_too_many(self, word: str, number: int, orbitals: Orbitals) -> None:
        room = int((orbitals.twice_j_a + 1).sum())
        if not 0 <= number <= room:
            raise InputError(
                f"{number} {word}s do not fit the {word} orbitals {orbitals.names()}, which hold 0 to {room}. "
                "Check the nucleus and the core, or take more orbitals."
            )

    @property
    def nucleons(self) -> int:
        """Protons and neutrons together."""
        return self.protons + self.neutrons

    @cached_property
    def weight_p_x(self) -> np.ndarray:
        """Weight of every proton m-state, int64."""
        return np.asarray(self.truncation.weight_p_a, dtype=np.int64)[self.orbitals_p.states().orbital_x]

    @cached_property
    def weight_n_x(self) -> np.ndarray:
        """Weight of every neutron m-state, int64."""
        return np.asarray(self.truncation.weight_n_a, dtype=np.int64)[self.orbitals_n.states().orbital_x]

    def lowest_weights(self, without: str = "") -> tuple[int, int]:
        """The smallest weights that protons and neutrons can have, when those in `without` ("pp", "pn") are away."""
        return (
            lowest_weight(self.weight_p_x, max(0, self.protons - without.count("p"))),
            lowest_weight(self.weight_n_x, max(0, self.neutrons - without.count("n"))),
        )


def minimal_quanta(nucleons: int) -> tuple[int, int]:
    """Quanta of the lowest configuration of `nucleons` nucleons of one species, and its highest shell."""
    shell, left, quanta = 0, nucleons, 0
    while left > (shell + 1) * (shell + 2):
        left -= (shell + 1) * (shell + 2)
        quanta += shell * (shell + 1) * (shell + 2)
        shell += 1
    return quanta + shell * left, shell


def no_core_space(protons: int, neutrons: int, max_excitation: int, twice_M: int) -> ManyBodySpace:
    """The space with up to Nmax = `max_excitation` quanta above the lowest configuration.

    States have max_excitation, max_excitation - 2, ... excess quanta, so an odd number means unnatural parity.
    Raises InputError for a negative Nmax and for an impossible M.
    """
    if max_excitation < 0:
        raise InputError(f"Nmax = {max_excitation} is not possible. Nmax counts excitation quanta: 0 or more.")
    (quanta_p, shell_p), (quanta_n, shell_n) = minimal_quanta(protons), minimal_quanta(neutrons)
    orbitals = no_core_orbitals(max(shell_p, shell_n) + max_excitation)
    limit = quanta_p + quanta_n + max_excitation
    truncation = Truncation(orbitals.quanta_a, orbitals.quanta_a, limit, limit, limit)
    return ManyBodySpace(protons, neutrons, orbitals, orbitals, truncation, twice_M, limit % 2)


def valence_space(
    orbitals_p: Orbitals, orbitals_n: Orbitals, protons: int, neutrons: int, twice_M: int, parity: int
) -> ManyBodySpace:
    """All states of `protons` and `neutrons` valence nucleons in the given orbitals: no truncation at all.

    Raises InputError where they do not fit the orbitals, and for an impossible M.
    """
    truncation = Truncation(np.zeros(len(orbitals_p), np.int64), np.zeros(len(orbitals_n), np.int64), 0, 0, 0)
    return ManyBodySpace(protons, neutrons, orbitals_p, orbitals_n, truncation, twice_M, parity)
