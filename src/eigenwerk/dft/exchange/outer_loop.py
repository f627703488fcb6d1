"""Self-consistency of exact exchange around that of the density.

The density becomes self-consistent for an operator V_x[γ₀] that stays; then the operator is made anew of the orbitals
found, until E_x of the orbitals and the tangent at γ₀ (exact_exchange.py), by which their energy was counted, are the
same within the energy tolerance.  Their difference is of second order in γ - γ₀ and never positive: it bounds what is
missing to self-consistency.  Where it is positive or no longer falls, and tiny beside E_x, it is rounding of pairs in
single precision.  What is still missing then is as much less as each change is less than the one before; where that is
too much, pairs are in double precision from there on.  Forces, whose error is of first order, may ask for one
more operator.  A run without orbitals begins with those of the semilocal functional.

Moments that this does not keep (nickel oxide with parallel moments is one of many) exact exchange may keep, but never
finds again from orbitals without any.  Where they have died, fields hold those of atoms with open shells until there is
an operator; then they are gone, and moments stay or do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch

from eigenwerk.dft.exchange.exact_exchange import ExactExchange
from eigenwerk.dft.exchange.memory import ExchangeMemory
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.local_field import LocalField
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

ROUNDING = 1e-6
"""Changes below this share of E_x may be rounding of single precision (seen: 3e-8 in MgO)."""

LEAST_FALL = 0.3
"""Of the change from one operator to the next; a larger one, if it is so small, is rounding."""

CAREFUL_FALL = 0.05
"""The least that is counted on from the last change to the next (measured: mostly 0.005 to 0.02, silicon 0.15)."""

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


def force_error_of(excess: Sequence[float], atoms: int) -> float:
    """Estimate of the error of forces for want of self-consistency of exchange, hartree per bohr.

    excess: what the operators of a run have changed, hartree.  The next one would change less by as much as the last
    one did, or by CAREFUL_FALL; the whole is shared by all atoms.
    """
    if not excess:
        return 0.0
    last, before = abs(excess[-1]), abs(excess[-2]) if len(excess) > 1 else float("inf")
    fall = min(max(last / before, CAREFUL_FALL), 1.0) if before else 1.0
    return FORCE_SHARE * (fall * last / atoms) ** 0.5


def is_renewal(event: str) -> bool:
    """Whether an event of a step tells of a new operator, for the steps after it."""
    return event.startswith(NAME)


@dataclass
class OuterLoop:
    """Where the self-consistency of exchange stands.

    hybrid, semilocal: potentials with and without exact exchange; energy_tolerance: hartree; cores: words about the
    exchange with them; excess: what the last operators changed, hartree; shift: see `relative`; started_a: starting
    moments that are to be asked for, Bohr magneton, None for none; force_goal: forces with a larger error, hartree
    per bohr, are worth one more operator; None if there are none.
    """

    exchange: ExactExchange
    hybrid: PotentialBuilder
    semilocal: PotentialBuilder
    energy_tolerance: float
    cores: str = CORES[False]
    excess: list[float] = field(default_factory=list)
    shift: float | None = None
    started_a: np.ndarray | None = None
    force_goal: float | None = None
    _semilocal: float | None = None
    _field_a: np.ndarray | None = None

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
    def stands(self) -> bool:
        """Whether the operator is that of the orbitals within the tolerance."""
        if not self.excess:
            return False
        if abs(self.excess[-1]) >= self.energy_tolerance:
            return self._is_rounding(self.excess) and self._rounding_will_do(self.excess)
        if self.force_goal is None or (len(self.excess) > 1 and abs(self.excess[-2]) < self.energy_tolerance):
            return True  # one operator for forces alone is enough
        return self._good_for_forces(self.excess)

    @property
    def lacking(self) -> str:
        """What is missing at the end of a run that has not come to its own, in words."""
        if self.exchange.rows is None:
            return "there is no exact exchange in these energies yet: the semilocal functional gives its first orbitals"
        if self.stands:
            return ""
        missing = f"{abs(self.excess[-1]) * HARTREE_EV:.1e} eV" if self.excess else "not known yet"
        return f"no self-consistency of exact exchange yet: the last operator's change was {missing}"

    @property
    def tolerance(self) -> float:
        """Energy tolerance of the density for the operator there is, hartree."""
        if self.exchange.rows is None:
            return max(START_TOLERANCE, self.energy_tolerance)
        if self.stands:
            return self.energy_tolerance
        wanted = SHARE * abs(self.excess[-1]) if self.excess else FIRST_TOLERANCE
        return max(min(wanted, FIRST_TOLERANCE), LEAST_SHARE * self.energy_tolerance)

    def memory(self) -> ExchangeMemory:
        """Where it stands."""
        return replace(
            self.exchange.memory(self.excess), shift=self.shift, semilocal=self._semilocal, started_a=self.started_a,
            field_a=self._field_a,
        )

    def restore(self, memory: ExchangeMemory) -> None:
        """Go on from there; from `ExchangeMemory()`, anew with the semilocal functional."""
        self.exchange.restore(memory)
        self.excess, self.shift, self._semilocal = list(memory.excess), memory.shift, memory.semilocal
        self.started_a, self._field_a = memory.started_a, memory.field_a
        self.hybrid.forget()

    def note(self, free: float) -> None:
        """Take notice of the free energy of a step, hartree."""
        if self.exchange.rows is None:
            self._semilocal = free
        elif self.shift is None and self._semilocal is not None:
            self.shift = free - self._semilocal

    def relative(self, free: float) -> float:
        """A free energy as the semilocal functional counts it from its atoms, hartree; 0 where that is not known.

        Those of a hybrid differ from it by many eV, of their cores most of all.  The first step with exact exchange has
        orbitals of the semilocal functional and tells the difference.
        """
        if self.exchange.rows is None:
            return free
        return 0.0 if self.shift is None else free - self.shift

    def renew(self, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor, filling_skn: torch.Tensor) -> str:
        """The operator of these orbitals from now on; returns words."""
        excess = self.exchange.renew(coeff_sknG, occ_skn, filling_skn)
        self.hybrid.forget()
        words = f"{NAME}{self.exchange.applications}: {self.exchange.energy * HARTREE_EV:.6f} eV"
        if excess is None:
            kernel = self.exchange.operator.kernel
            return f"{words} ({kernel.words}; {self.cores})"
        # rank 0's, for all: rounding errors of other ranks must not lead them to other decisions
        runtime = self.exchange.atoms.runtime
        excess = float(runtime.world.broadcast(runtime.tensor(excess)))
        self.excess.append(excess)
        words = f"{words}, {excess * HARTREE_EV:.1e} eV from the operator before"
        if self._is_rounding(self.excess):
            words += ": rounding of single precision"
            if not self._rounding_will_do(self.excess):
                self.exchange.in_double()
                self.exchange.renew(coeff_sknG, occ_skn, filling_skn)
                words += "; pairs are in double precision from here on"
        return words

    def _is_rounding(self, excess: Sequence[float]) -> bool:
        """Whether the last of these changes, too large to end with, is made of the rounding of pairs in single
        precision."""
        *before, last = excess
        if not self.exchange.operator.single or abs(last) < self.energy_tolerance:
            return False
        falls = not before or abs(last) < LEAST_FALL * abs(before[-1])
        return abs(last) < ROUNDING * abs(self.exchange.energy) and (last > 0 or not falls)

    def _rounding_will_do(self, excess: Sequence[float]) -> bool:
        """Whether less than the tolerance is missing after a change that drowns in rounding."""
        enough = CAREFUL_FALL * abs(excess[-1]) < self.energy_tolerance
        return enough and (self.force_goal is None or self._good_for_forces(excess))

    def _good_for_forces(self, excess: Sequence[float]) -> bool:
        assert self.force_goal is not None
        return force_error_of(excess, len(self.exchange.atoms.basis.structure.symbols)) < self.force_goal
