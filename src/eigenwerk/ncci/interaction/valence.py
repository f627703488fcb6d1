"""Interactions outside an inert core: single-particle energies and matrix elements that scale with the mass."""

from dataclasses import dataclass, replace

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.valence_data import ValenceData
from eigenwerk.ncci.interaction.one_body import sum_of_matrices
from eigenwerk.ncci.interaction.two_body import SPECIES, PairSpace, TwoBody
from eigenwerk.ncci.orbitals import Orbitals


@dataclass(frozen=True, eq=False)
class ValenceInteraction:
    """One-body energies (MeV) and two-body matrix elements at the reference mass, outside a core.

    core: protons and neutrons of the core, None if no file says.  reference_mass, exponent: two-body elements scale
    as (A/reference_mass)^exponent; None: they do not.  hw: the oscillator quantum (MeV) that the file names, or None.
    """

    core: tuple[int, int] | None
    energy_aa_p: np.ndarray
    energy_aa_n: np.ndarray
    two_body: TwoBody
    reference_mass: float | None = None
    exponent: float = 0.0
    hw: float | None = None

    @property
    def orbitals_p(self) -> Orbitals:
        """Proton orbitals outside the core."""
        return self.two_body.orbitals_p

    @property
    def orbitals_n(self) -> Orbitals:
        """Neutron orbitals outside the core."""
        return self.two_body.orbitals_n

    def hamiltonian(self, valence_nucleons: int, nucleons: int | None = None) -> TwoBody:
        """One-body part divided by (valence nucleons - 1), plus the scaled two-body part.

        nucleons: the mass number A, core included; found from the core if it is known.  Raises InputError for fewer
        than two valence nucleons, or if the mass number is needed and not known.
        """
        if valence_nucleons < 2:
            raise InputError(
                f"{valence_nucleons} valence nucleon(s): a two-body Hamiltonian needs two; the energies of one are the "
                "single-particle energies. Choose a nucleus with more."
            )
        factor = 1.0
        if self.reference_mass is not None:
            if nucleons is None and self.core is None:
                raise InputError("The matrix elements scale with the mass, but the core is unknown. Give its Z and N.")
            mass = nucleons if nucleons is not None else valence_nucleons + sum(self.core or ())
            factor = float((mass / self.reference_mass) ** self.exponent)
        one_body = sum_of_matrices(self.two_body.space, self.energy_aa_p, self.energy_aa_n)
        return one_body * (1 / (valence_nucleons - 1)) + factor * self.two_body

    def with_core(self, core: tuple[int, int]) -> "ValenceInteraction":
        """The same outside another core."""
        return replace(self, core=core)


def valence_interaction(data: ValenceData, name: str = "The interaction") -> ValenceInteraction:
    """The content of a valence file as matrices.

    Elements may stand in any order of a, b and of c, d; like nucleons exchange with -(-1)^(ja + jb - J).  Those that
    the file leaves out are zero.  Raises InputError for an element that angular momentum or parity forbids.
    """
    orbitals_p, orbitals_n = Orbitals(*data.orbital_3a_p), Orbitals(*data.orbital_3a_n)
    space = PairSpace(orbitals_p, orbitals_n)
    place = {
        kind: {
            (int(a), int(b), key[0]): (key, x)
            for key, pairs in space.pairs(kind).items()
            for x, (a, b) in enumerate(pairs)
        }
        for kind in SPECIES
    }
    matrices = {kind: {key: np.zeros((len(x), len(x))) for key, x in space.pairs(kind).items()} for kind in SPECIES}
    for kind, a, b, c, d, j, value in data.elements:
        twice_j = space.orbitals(kind)[0].twice_j_a
        (bra, sign_1), (ket, sign_2) = (_ordered(kind, x, y, j, twice_j) for x, y in ((a, b), (c, d)))
        left, right = place[kind].get((*bra, j)), place[kind].get((*ket, j))
        if left is None or right is None or left[0] != right[0]:
            raise InputError(
                f"{name}: the {kind} element of orbitals {a + 1} {b + 1} {c + 1} {d + 1} with J = {j} is forbidden by "
                "angular momentum, parity or the Pauli principle. Correct the file."
            )
        matrix = matrices[kind][left[0]]
        matrix[left[1], right[1]] = matrix[right[1], left[1]] = sign_1 * sign_2 * value
    two_body = TwoBody(space, matrices)
    return ValenceInteraction(
        data.core, data.energy_aa_p, data.energy_aa_n, two_body, data.reference_mass, data.exponent, data.hw
    )


def _ordered(kind: str, a: int, b: int, j: int, twice_j: np.ndarray) -> tuple[tuple[int, int], float]:
    if kind == "pn" or a <= b:
        return (a, b), 1.0
    exponent = int(twice_j[a] + twice_j[b]) // 2 - j
    return (b, a), -1.0 if exponent % 2 == 0 else 1.0
