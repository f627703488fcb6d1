"""Self-consistency of exact exchange around that of the density.

The density becomes self-consistent for an operator V_x[γ₀] that stays; then the operator is made anew of the orbitals
found, until E_x of the orbitals and the tangent at γ₀ (exact_exchange.py), by which their energy was counted, are the
same within the energy tolerance, and so is what is left to the minimum where changes fall slowly.  Their difference,
the change of an operator, is of second order in γ - γ₀ and never positive.  A new operator costs an application to all
bands and tells the change of the one before; the change of an operator that is expected to be the last is found with
the forces, which take E_x of the orbitals anyway (`measure`).
No run ends with another one: where the change is too large after all, the next operator is made.  In the end the energy
is that with E_x of the orbitals themselves, below the tangent and above the minimum.  Forces, whose error is of first
order, may ask for one more operator.  A run without orbitals begins with those of the semilocal functional.

Pairs in single precision leave a change uncertain (`ExactExchange.noise`).  Where more is asked for, pairs are in
double precision from that operator on whose change would drown, or from a change on that is positive or no longer
falls.

Moments that this does not keep (nickel oxide with parallel moments is one of many) exact exchange may keep, but never
finds again from orbitals without any.  Where they have died, fields hold those of atoms with open shells until there is
an operator; then they are gone, and moments stay or do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch

from eigenwerk.dft.density.kinds.occupancy import OCCUPANCY
from eigenwerk.dft.exchange.even_levels import closeness, evened, together
from eigenwerk.dft.exchange.exact_exchange import NAME as EXCHANGE
from eigenwerk.dft.exchange.exact_exchange import ExactExchange
from eigenwerk.dft.exchange.memory import ExchangeMemory
from eigenwerk.dft.filling.occupations import Occupations
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.energies import Energies
from eigenwerk.dft.terms.term import Charges, Contribution, Term
from eigenwerk.units import FORCE_EV_PER_ANGSTROM, HARTREE_EV

START_TOLERANCE = 1e-3 / HARTREE_EV
"""Energy tolerance of the semilocal run that gives the first orbitals."""

FIRST_TOLERANCE = 1e-3 / HARTREE_EV
"""Energy tolerance for the first operator."""

SHARE = 0.003
"""Energy tolerance for the next operators, in units of what the last one changed."""

LEAST_SHARE = 0.03
"""The smallest one, in units of the tolerance asked for: noise of the density misleads what is made of several
operators."""

MOST_NOISE = 10.0
"""Changes below this, in units of the noise, may be rounding of single precision."""

LEAST_FALL = 0.3
"""Of the change from one operator to the next; a larger one, if it is so small, is rounding."""

FALL = 0.02
"""From the last change to the next, where the one before tells of no larger one (measured: mostly 0.005 to 0.02, 0.15
in silicon)."""

NEAR_NOISE = 3.0
"""Expected changes below this, in units of the noise, are not worth an operator that could not tell them."""

FORCE_SHARE = 0.2
"""Error of forces in units of the root of what the next operator would change, per atom (hartree^½ per bohr, measured:
docs/equations/forces.md)."""

FORCE_ERROR = 1e-3 / FORCE_EV_PER_ANGSTROM
"""Forces with a larger one (hartree per bohr) are worth one more operator where nobody asks for other forces."""

ROUGH = 1.01e-4 / HARTREE_EV
"""Energy tolerances above this (the default) are not worth an operator for forces, unless somebody says how good."""

SHARE_OF_ERROR = 2 / 3
"""Of what somebody says."""

FIELD = 2.0 / HARTREE_EV
"""Of atoms whose moments the semilocal functional does not keep: up and down are apart by twice as much then, about
as much as a quarter of exact exchange adds to the splitting of 3d levels."""

NAME = "exact exchange "
"""How words about a new operator begin, with its number."""


CORES = {
    False: "with and between cores 1/r, as data sets hold it",
    True: "with cores alike, by recomputed core orbitals; between these 1/r, a constant that data sets hold",
}
"""What exchange with the cores is, and whether it is screened (CORE_EXCHANGE)."""


def expected_change(excess: Sequence[float]) -> float | None:
    """What the next operator is expected to change after these, hartree, above zero; None if nothing is known.

    Less by as much as the last one changed less than the one before, or by FALL.
    """
    if not excess:
        return None
    last, before = abs(excess[-1]), abs(excess[-2]) if len(excess) > 1 else float("inf")
    fall = min(max(last / before, FALL), 1.0) if before else 1.0
    return fall * last


def left_after(change: float, before: float) -> float:
    """Estimate of what is left to the minimum, hartree, above zero, where operators changed energies by `before` and at
    last by `change`.

    If residuals fall by q, those of energies by q², the density matrix is q / (1 - q) of its last residual away from
    the end.  Extrapolation mends the slowest: q² is taken as 1/2 at most.
    """
    fall = min(abs(change / before), 0.5) if before else 0.5
    return abs(change) * fall / (1 - fall**0.5) ** 2


def force_error_of(change: float | None, atoms: int) -> float:
    """Estimate of the error of forces for want of self-consistency of exchange, hartree per bohr.

    change: of the operator that the orbitals belong to, expected or measured, hartree; it is shared by all atoms.
    """
    return FORCE_SHARE * (abs(change or 0.0) / atoms) ** 0.5


def is_renewal(event: str) -> bool:
    """Whether an event of a step tells of a new operator, for the steps after it."""
    return event.startswith(NAME)


class LocalField(Term):
    """Magnetic fields inside the spheres of atoms, which hold moments that would die otherwise; for two spins.

        E = -Σ_a h_a m_a,   m_a = Σ_ij (D↑ - D↓)_a,ij <φ_i|φ_j>  inside the matching radius;   ∂E/∂D_↑↓ = ∓h_a <φ_i|φ_j>

    It is no part of any energy that is given: orbitals found with it are where a search begins.
    """

    def __init__(self, atoms: PawAtoms, field_a: np.ndarray):
        """field_a: h, hartree."""
        self._parts = [
            (atoms.runtime.tensor(field_a[species.atom_a]), atoms.runtime.tensor(species.setup.sphere_overlap_ij))
            for species in atoms.layout.species
        ]

    def __call__(self, charges: Charges) -> Contribution:
        """Energy "local field" and its part of ΔH."""
        energies, blocks = [], []
        for (field_a, overlap_ij), block_saij in zip(self._parts, charges.blocks, strict=True):
            up_aij = -field_a[:, None, None] * overlap_ij
            derivative_saij = torch.stack([up_aij, -up_aij])
            energies.append((derivative_saij * block_saij.real).sum())
            blocks.append(derivative_saij)
        return Contribution(("local field",), torch.stack(energies).sum(0, keepdim=True), blocks={OCCUPANCY: blocks})


@dataclass
class ExchangeLoop:
    """Where the self-consistency of exchange stands.

    hybrid, semilocal: potentials with and without exact exchange; energy_tolerance: hartree; cores: words about the
    exchange with them; excess: what the last operators changed, hartree; expected: the same of the one in use, found
    in the end (`measured`); shift: see `relative`; started_a: starting moments that are to be asked for, Bohr magneton,
    None for none; force_goal: forces with a larger error, hartree per bohr, are worth one more operator; None if there
    are none.
    """

    exchange: ExactExchange
    hybrid: PotentialBuilder
    semilocal: PotentialBuilder
    energy_tolerance: float
    cores: str = CORES[False]
    excess: list[float] = field(default_factory=list)
    expected: float | None = None
    measured: bool = False
    shift: float | None = None
    started_a: np.ndarray | None = None
    force_goal: float | None = None
    _semilocal: float | None = None
    _field_a: np.ndarray | None = None
    _drowned: bool = False

    @property
    def builder(self) -> PotentialBuilder:
        """The potential of the next step."""
        if self.exchange.rows is not None:
            return self.hybrid
        return self.semilocal if self._field_a is None else self._held

    @cached_property
    def _held(self) -> PotentialBuilder:
        """The semilocal potential with fields that hold moments."""
        assert self._field_a is not None
        atoms = self.semilocal.atoms
        return PotentialBuilder(atoms, [*self.semilocal.terms, LocalField(atoms, self._field_a)])

    @property
    def asks(self) -> bool:
        """Whether moments are to be looked at before there is an operator."""
        return self.started_a is not None and self.exchange.rows is None

    def hold(self, moment_a: np.ndarray | None) -> str:
        """Have fields hold these moments until there is an operator; in words.  None: there is nothing to hold."""
        self.started_a = None
        if moment_a is None:
            return ""
        self._field_a = FIELD * np.sign(moment_a)
        return (
            f"the semilocal functional leaves no moments: orbitals for exact exchange come from a field of "
            f"{FIELD * HARTREE_EV:g} eV at the atoms that had some"
        )

    def aim(self, force_error: float | None) -> None:
        """Forces are wanted, as `ForceGoal` wants them; those of somebody who asks for rough energies are rough."""
        if force_error is not None:
            self.force_goal = SHARE_OF_ERROR * force_error
        elif self.energy_tolerance <= ROUGH:
            self.force_goal = FORCE_ERROR

    @property
    def ripe(self) -> bool:
        """Whether the change of the operator is expected to be within the tolerance and can be known, and forces to be
        good enough."""
        if self.expected is None or self.expected >= self.energy_tolerance or self._too_noisy:
            return False
        return self._for_forces or self._good_for_forces(self.expected)

    @property
    def _for_forces(self) -> bool:
        """Whether an operator was made for forces alone: one is enough."""
        return len(self.excess) > 1 and max(map(abs, self.excess[-2:])) < self.energy_tolerance

    @property
    def lacking(self) -> str:
        """What is missing at the end of a run that has not come to its own, in words."""
        if self.exchange.rows is None:
            return "there is no exact exchange in these energies yet: the semilocal functional gives its first orbitals"
        if self.measured:
            return ""
        missing = f"{abs(self.excess[-1]) * HARTREE_EV:.1e} eV" if self.excess else "not known yet"
        return f"no self-consistency of exact exchange yet: the last operator's change was {missing}"

    @property
    def tolerance(self) -> float:
        """Energy tolerance of the density for the operator there is, hartree."""
        if self.exchange.rows is None:
            return max(START_TOLERANCE, self.energy_tolerance)
        if self.ripe:
            return self.energy_tolerance
        wanted = SHARE * abs(self.excess[-1]) if self.excess else FIRST_TOLERANCE
        return max(min(wanted, FIRST_TOLERANCE), LEAST_SHARE * self.energy_tolerance)

    def evened(self, filled: Occupations, eig_skn: torch.Tensor) -> Occupations:
        """Occupations with which exchange has the symmetry of the crystal."""
        weight_k = self.exchange.atoms.basis.weight_k
        return evened(filled, eig_skn, weight_k, self._together, closeness(self.tolerance))

    @cached_property
    def _together(self) -> list[np.ndarray]:
        basis = self.exchange.atoms.basis
        return together(basis.kpoints, basis.structure)

    def memory(self) -> ExchangeMemory:
        """Where it stands."""
        return replace(
            self.exchange.memory(self.excess), expected=self.expected, shift=self.shift, semilocal=self._semilocal,
            started_a=self.started_a, field_a=self._field_a,
        )

    def restore(self, memory: ExchangeMemory) -> None:
        """Go on from there; from `ExchangeMemory()`, anew with the semilocal functional."""
        self.exchange.restore(memory)
        self.excess, self.measured = list(memory.excess), False
        self.expected = expected_change(self.excess) if memory.expected is None else memory.expected
        self.shift, self._semilocal = memory.shift, memory.semilocal
        self.started_a, self._field_a = memory.started_a, memory.field_a
        self.hybrid.forget()

    def relative(self, free: float) -> float:
        """The free energy of a step as the semilocal functional counts it from its atoms, hartree; 0 where that is not
        known.

        Those of a hybrid differ from it by many eV, of their cores most of all.  The first step with exact exchange has
        orbitals of the semilocal functional and tells the difference.
        """
        if self.exchange.rows is None:
            self._semilocal = free
            return free
        if self.shift is None and self._semilocal is not None:
            self.shift = free - self._semilocal
        return 0.0 if self.shift is None else free - self.shift

    def renew(self, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor, filling_skn: torch.Tensor) -> str:
        """The operator of these orbitals from now on; returns words."""
        exchange, drowns = self.exchange, bool(self._agreed(self._drowns))
        if drowns:
            self._drowned = False
            exchange.in_double()
        excess = exchange.renew(coeff_sknG, occ_skn, filling_skn)
        self.hybrid.forget()
        words = f"{NAME}{exchange.applications}: {exchange.energy * HARTREE_EV:.6f} eV"
        if excess is None:
            return f"{words} ({exchange.operator.kernel.words}; {self.cores})"
        if drowns:  # the operator before was in single precision: what it lacked is not known so well
            assert self.expected is not None
            self.expected *= FALL
            return f"{words}: pairs are in double precision from here on, for changes would drown in rounding"
        excess = self._agreed(excess)
        words = f"{words}, {excess * HARTREE_EV:.1e} eV from the operator before"
        least = LEAST_FALL * abs(self.excess[-1]) if self.excess else float("inf")
        rounding = bool(self._agreed(self._is_rounding(excess, least)))
        self.excess.append(excess)
        self.expected = expected_change(self.excess)
        if rounding:
            exchange.in_double()
            exchange.renew(coeff_sknG, occ_skn, filling_skn)
            words += ": rounding of single precision; pairs are in double precision from here on"
        return words

    def measure(self, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor, energies: Energies) -> tuple[Energies, str]:
        """Find out what the operator of these orbitals changes: their energies with E_x of the orbitals themselves, and
        words, where that is within the tolerance (`measured`); else the energies as they were."""
        energy, counted = self.exchange.totals(coeff_sknG, filling_skn)
        excess = self._agreed(energy - (counted - self.exchange.energy))
        noise = self.exchange.noise
        # what drowns is known by the fall before
        change = abs(excess) if abs(excess) > noise else min(self.expected or 0.0, noise)
        good = self._for_forces or self._good_for_forces(change)
        left = left_after(change, self.excess[-1]) if self.excess and abs(excess) > noise else 0.0
        self.measured = bool(self._agreed(max(abs(excess), left) < self.energy_tolerance and good))
        if not self.measured:
            self._drowned = bool(self._agreed(self._is_rounding(excess, self.expected or 0.0)))
            return energies, ""
        self.expected = change
        return energies.with_orbital_term(EXCHANGE, energy, counted), (
            f"{NAME}of these orbitals: {energy * HARTREE_EV:.6f} eV, {excess * HARTREE_EV:.1e} eV from the tangent"
        )

    def _agreed(self, value: float) -> float:
        """Rank 0's, for all: rounding errors of other ranks must not lead them to other decisions."""
        runtime = self.exchange.atoms.runtime
        return float(runtime.world.broadcast(runtime.tensor(float(value))))

    @property
    def _too_noisy(self) -> bool:
        """Whether changes within the tolerance cannot be known as precise as pairs are."""
        return self.exchange.operator.single and self.energy_tolerance < self.exchange.noise

    @property
    def _drowns(self) -> bool:
        """Whether less is wanted than the noise of what the operator in use changes, and no more is expected of it; or
        it has been measured and was noise."""
        soon = self.expected is not None and self.expected < NEAR_NOISE * self.exchange.noise
        return self._drowned or (self._too_noisy and soon)

    def _is_rounding(self, last: float, least: float) -> bool:
        """Whether such a change, too large to end with, is made of the rounding of pairs in single precision, because
        it is positive or more than the least that it should have been."""
        if not self.exchange.operator.single or abs(last) < self.energy_tolerance:
            return False
        return abs(last) < MOST_NOISE * self.exchange.noise and (last > 0 or abs(last) > least)

    def _good_for_forces(self, change: float) -> bool:
        if self.force_goal is None:
            return True
        return force_error_of(change, len(self.exchange.atoms.basis.structure.symbols)) < self.force_goal
