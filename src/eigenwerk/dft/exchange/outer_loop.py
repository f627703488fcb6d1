"""Self-consistency of exact exchange around that of the density.

The density becomes self-consistent for an operator V_x[γ₀] that stays; then the operator is made anew of the orbitals
found, until E_x of the orbitals and the tangent at γ₀ (exact_exchange.py), by which their energy was counted, are the
same within the energy tolerance.  Their difference is of second order in γ - γ₀ and never positive: it bounds what is
missing to self-consistency.  A run without orbitals begins with those of the semilocal functional.
"""

from dataclasses import dataclass, field, replace

import torch

from eigenwerk.dft.exchange.exact_exchange import ExactExchange
from eigenwerk.dft.exchange.memory import ExchangeMemory
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.units import HARTREE_EV

START_TOLERANCE = 1e-3 / HARTREE_EV
"""Energy tolerance of the semilocal run that gives the first orbitals."""

FIRST_TOLERANCE = 1e-3 / HARTREE_EV
"""Energy tolerance for the first operator."""

SHARE = 0.003
"""Energy tolerance for the next operators, in units of what the last one changed."""

LEAST_SHARE = 0.03
"""The smallest one, in units of the tolerance asked for: noise of the density misleads what is made of several
operators."""


@dataclass
class OuterLoop:
    """Where the self-consistency of exchange stands.

    hybrid, semilocal: potentials with and without exact exchange; energy_tolerance: hartree; excess: what the last
    operators changed, hartree; shift: see `relative`.
    """

    exchange: ExactExchange
    hybrid: PotentialBuilder
    semilocal: PotentialBuilder
    energy_tolerance: float
    excess: list[float] = field(default_factory=list)
    shift: float | None = None
    _semilocal: float | None = None

    @property
    def builder(self) -> PotentialBuilder:
        """The potential of the next step."""
        return self.hybrid if self.exchange.rows is not None else self.semilocal

    @property
    def stands(self) -> bool:
        """Whether the operator is that of the orbitals within the tolerance."""
        return bool(self.excess) and abs(self.excess[-1]) < self.energy_tolerance

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
        return replace(self.exchange.memory(self.excess), shift=self.shift, semilocal=self._semilocal)

    def restore(self, memory: ExchangeMemory) -> None:
        """Go on from there; from `ExchangeMemory()`, anew with the semilocal functional."""
        self.exchange.restore(memory)
        self.excess, self.shift, self._semilocal = list(memory.excess), memory.shift, memory.semilocal
        self.hybrid.forget()

    def end(self, memory: ExchangeMemory | None, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor) -> None:
        """As it stood in the state that the run ends in, with its orbitals for bands at other points."""
        if memory is not None and memory.rows is not self.exchange.rows:
            self.restore(memory)
        self.exchange.settle(coeff_sknG, occ_skn)

    def relative(self, free: float) -> float:
        """The free energy of a step as the semilocal functional counts it from its atoms, hartree.

        Those of a hybrid differ from it by many eV, of their cores most of all.  The first step with exact exchange has
        orbitals of the semilocal functional and tells the difference; 0 where there was none.
        """
        if self.exchange.rows is None:
            self._semilocal = free
        elif self.shift is None and self._semilocal is not None:
            self.shift = free - self._semilocal
        if self.exchange.rows is None:
            return free
        return 0.0 if self.shift is None else free - self.shift

    def renew(self, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor, filling_skn: torch.Tensor) -> str:
        """The operator of these orbitals from now on; returns words."""
        excess = self.exchange.renew(coeff_sknG, occ_skn, filling_skn)
        self.hybrid.forget()
        words = f"exact exchange {self.exchange.applications}: {self.exchange.energy * HARTREE_EV:.6f} eV"
        if excess is None:
            kernel = self.exchange.operator.kernel
            return f"{words} ({kernel.words}; with and between cores 1/r, as data sets hold it)"
        # rank 0's, for all: rounding errors of other ranks must not lead them to other decisions
        runtime = self.exchange.atoms.runtime
        excess = float(runtime.world.broadcast(runtime.tensor(excess)))
        self.excess.append(excess)
        return f"{words}, {excess * HARTREE_EV:.1e} eV from the operator before"
