"""Exact exchange as a term of the energy: its operator for the orbitals last given, compressed to rows.

    E_x = -α/2 Σ_σ g Σ_kk' w_k w_k' Σ_nm f_nk f_mk' (ρ_nm|v|ρ_nm)

depends on the orbitals.  While a density becomes self-consistent the operator stays as it is, V_x[γ₀], and the energy
is that of its tangent, E_x[γ₀] + Tr V_x[γ₀] (γ - γ₀), which agrees with E_x[γ] to first order in γ - γ₀.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar, Self
from weakref import ref

import numpy as np
import torch

from eigenwerk.dft.exchange.compressed import applied, compressed, expectation
from eigenwerk.dft.exchange.extrapolation import OperatorHistory
from eigenwerk.dft.exchange.kernel import kernel_for
from eigenwerk.dft.exchange.memory import ExchangeMemory
from eigenwerk.dft.exchange.operator import ExchangeOperator
from eigenwerk.dft.exchange.pairs.mesh_orbitals import MeshOrbitals
from eigenwerk.dft.exchange.pairs.pair_derivatives import exchange_derivatives
from eigenwerk.dft.exchange.pairs.pair_grid import PairGrid
from eigenwerk.dft.exchange.pairs.pair_symmetry import applied_to_own
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.terms.term import Charges, Contribution, LowRank, OrbitalDerivatives, Scene, Term
from eigenwerk.errors import ConvergenceError

NAME = "exact exchange"

NOISE = {False: 1e-14, True: 1.2e-7}
"""Of E_x, in units of it and of the root of occupied orbitals, with pairs in double and in single precision: what other
sums and turns among degenerate orbitals make of the same density matrix (measured, single: LiH with one orbital
1.2e-7, silicon with four 6e-8 times 1/2, twelve orbitals 4e-8 times 1/3.5)."""


class ExactExchange(Term):
    """The term for some atoms; `renew` gives it orbitals.

    rows: of the operator in use, None before there are orbitals; energy: E_x[γ₀] of what it was made of, hartree;
    applications: how often orbitals were given; doubled: whether pairs have changed to double precision.
    """

    words: ClassVar = {NAME: "between the smooth orbitals, with compensation charges"}
    needs = frozenset()

    @classmethod
    def of(cls, scene: Scene) -> Self | None:
        """With a hybrid that has a share of exact exchange."""
        given, hybrid = scene.parameters, scene.parameters.hybrid
        if hybrid is None or not hybrid.fraction:
            return None
        basis = scene.atoms.basis
        with basis.runtime.trace.span("exact exchange"):
            kernel = kernel_for(
                basis.structure.lattice_cv, basis.kpoints, hybrid.screening, given.exchange_range, given.downsampling
            )
            return cls(ExchangeOperator(
                scene.atoms, kernel, hybrid.fraction, downsampling=given.downsampling, together=given.exchange_block,
                grid=PairGrid.of(basis, given.pair_precision), single=given.exchange_single,
            ))  # fmt: skip

    def __init__(self, operator: ExchangeOperator):
        self.operator, self.applications, self.doubled = operator, 0, False
        self.rows: LowRank | None = None
        self.energy = 0.0
        self._history = OperatorHistory()
        self._shares: np.ndarray | None = None
        self._orbitals: tuple[torch.Tensor, torch.Tensor] | None = None
        self._derived: tuple[ref[torch.Tensor], torch.Tensor, OrbitalDerivatives] | None = None

    @property
    def atoms(self) -> PawAtoms:
        """Those of the orbitals."""
        return self.operator.atoms

    @property
    def noise(self) -> float:
        """Rounding of E_x and of what operators give for orbitals, hartree."""
        electrons = sum(one.count * one.setup.dataset.valence for one in self.atoms.layout.species)
        return NOISE[self.operator.single] * abs(self.energy) / max(1.0, 0.5 * electrons) ** 0.5

    def renew(self, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor, filling_skn: torch.Tensor) -> float | None:
        """Take a new operator, from these orbitals and those before (extrapolation.py).

        occ_skn, filling_skn = w_k g f: of all points, in host memory.  Returns E_x of the orbitals less what the
        tangent of the operator before gives for them (never above zero), hartree; None if there was none.
        """
        basis, history = self.atoms.basis, self._history
        image_sknG = applied_to_own(self.operator, coeff_sknG, occ_skn)
        energy = self.operator.energy(coeff_sknG, image_sknG, filling_skn)
        excess = None
        if self.rows is not None:
            excess = energy - (expectation(basis, self.rows, coeff_sknG, filling_skn) - self.energy)
        overlap_j = [expectation(basis, rows, coeff_sknG, filling_skn) for rows in history.rows]
        history.add(compressed(basis, coeff_sknG, image_sknG), [*overlap_j, 2 * energy], self._shares)
        # rank 0's, for all: where a direction is just left out, others' rounding errors would decide otherwise
        runtime = basis.runtime
        self.energy = energy
        share_j = runtime.tensor(history.next_input(2 * self.noise))
        shares = runtime.world.broadcast(share_j).cpu().numpy()
        mixture = self._mixture(shares, coeff_sknG, image_sknG)
        if mixture is None:
            shares = np.eye(len(shares))[-1]
        self._shares, self.energy = shares, history.energy(shares)
        self.rows = mixture or history.rows[-1]
        self.applications += 1
        return excess

    def _mixture(self, shares: np.ndarray, coeff_sknG: torch.Tensor, image_sknG: torch.Tensor) -> LowRank | None:
        """Rows of Σ_j a_j V[γ_j]; None where that is the last one, or is above zero between orbitals, as a sum with
        negative a_j may be.  image = V[γ_last] of these orbitals is used up."""
        basis, history, rows = self.atoms.basis, self._history, None
        if np.count_nonzero(shares) > 1:
            image_sknG *= shares[-1]
            for one, share in zip(history.rows[:-1], shares[:-1], strict=True):
                if share:
                    image_sknG += share * applied(basis, one, coeff_sknG)
            with suppress(ConvergenceError):
                rows = compressed(basis, coeff_sknG, image_sknG)
        return rows if basis.runtime.world.all(rows is not None) else None

    def totals(self, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor) -> tuple[float, float]:
        """E_x of these orbitals, found with what moves with atoms and cell, and Tr V_x γ with the operator in use,
        hartree."""
        assert self.rows is not None
        energy = self.orbital_derivatives(coeff_sknG, filling_skn).energy
        return energy, expectation(self.atoms.basis, self.rows, coeff_sknG, filling_skn)

    def in_double(self) -> None:
        """Pairs are in double precision from the next operator on, which begins a new history."""
        self.operator, self.doubled = self.operator.in_double(), True
        self._history, self._shares, self._derived = OperatorHistory(), None, None

    def memory(self, excess: Sequence[float]) -> ExchangeMemory:
        """All that `renew` depends on, and what each operator has changed."""
        history = self._history
        return ExchangeMemory(
            self.rows, self.energy, self.applications, tuple(excess), kept=tuple(history.rows),
            inputs=tuple(history.inputs), overlap_jj=history.overlap_jj, share_j=self._shares, doubled=self.doubled,
        )

    def restore(self, memory: ExchangeMemory) -> None:
        """Go on as after this memory was made."""
        if memory.doubled and self.operator.single:
            self.in_double()
        self.rows, self.energy, self.applications = memory.rows, memory.energy, memory.applications
        self._history.restore(memory.kept, memory.inputs, memory.overlap_jj)
        self._shares = memory.share_j

    def settle(self, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor) -> None:
        """The orbitals at the end of a run, whose exchange orbitals of other points feel."""
        self._orbitals = coeff_sknG, occ_skn

    def rows_at(self, atoms: PawAtoms) -> "RowsAt":
        """What makes rows for orbitals of other points, in the exchange with those of `settle`."""
        assert self._orbitals is not None
        return RowsAt(self.operator.at(atoms), *self._orbitals)

    def __call__(self, charges: Charges) -> Contribution:
        """E_x of the orbitals last given, and the rows of V_x."""
        energy_e = charges.density.occupancy_sx.real.new_tensor([self.energy])
        return Contribution((NAME,), energy_e, rows=self.rows, rows_counted=2 * self.energy)

    def orbital_derivatives(self, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor) -> OrbitalDerivatives:
        """What moves with atoms and cell in E_x of these orbitals, whatever `renew` was given; found once for them."""
        known = self._derived
        if known is None or known[0]() is not coeff_sknG or not torch.equal(known[1], filling_skn):
            sources = self._sources(coeff_sknG, filling_skn)
            found = exchange_derivatives(self.operator, sources, coeff_sknG, filling_skn)
            self._derived = known = ref(coeff_sknG), filling_skn, found
        return known[2]

    def _sources(self, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor) -> MeshOrbitals:
        basis = self.atoms.basis
        full_k = (basis.weight_k.cpu() * basis.spin.degeneracy)[:, None]
        occ_skn = torch.where(full_k > 0, filling_skn / full_k.clamp_min(1e-300), 0.0)
        return self.operator.sources(coeff_sknG, occ_skn)


class RowsAt:
    """The operator for orbitals of points beside the mesh."""

    def __init__(self, operator: ExchangeOperator, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor):
        """coeff_sknG, occ_skn: the occupied orbitals, those of the mesh."""
        self.operator, self.sources = operator, operator.sources(coeff_sknG, occ_skn)

    def __call__(self, coeff_sknG: torch.Tensor) -> LowRank:
        """Rows that are exact for these orbitals."""
        return compressed(self.operator.basis, coeff_sknG, self.operator.apply(self.sources, coeff_sknG))
