"""In which precision each step of self-consistency improves the orbitals.

docs/equations/precision.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.single_precision import SingleTables, lowered
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.solvers import BandSolver
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.units import HARTREE_EV

ENOUGH = 3.0
"""Single precision serves while its error over sqrt(N) is at most this multiple of the tolerance of the orbitals: the
tolerance is meant for errors that all N electrons have in common, rounding differs from band to band."""

LAST_SQUARE, LAST_SQUARE_BUT_ONE = 150.0, 500.0
"""Squared density residual per electron, in units of EDIFF, below which steps are in double precision: the next may be
the last, which must be; and so must the one before it, which F is compared with, if errors of F are above EDIFF."""

SAMPLE = 16
"""Orbitals on which the error is measured, at most."""


@dataclass(frozen=True)
class SingleError:
    """What single precision changes, hartree.

    residual: largest norm of (δH - e δS) x of orbitals x; energy: of the free energy, N times the root mean square of
    <x|δH - e δS|x>, as if all electrons had the same error.
    """

    residual: float
    energy: float


def measured_error(
    atoms: PawAtoms, single: SingleTables, potential: Potential, coeff_sknG: torch.Tensor, electrons: float
) -> SingleError:
    """The error on some orbitals of the first k-point of each group; the same on every rank."""
    whole = Hamiltonian.of(atoms, potential)
    twin, lower = (hamiltonian.block(0, slice(0, 1)) for hamiltonian in (whole, single.hamiltonian(whole)))
    x_knG = coeff_sknG[0, :1, :: max(1, -(-coeff_sknG.shape[2] // SAMPLE))]
    h_knG, s_knG = twin.apply(x_knG)
    lower_h_knG, lower_s_knG = lower.apply(lowered(x_knG))
    eig_kn, norm_kn = (twin.sum(torch.linalg.vecdot(x_knG, y_knG).real) for y_knG in (h_knG, s_knG))
    eig_kn = eig_kn / norm_kn
    error_knG = (lower_h_knG - h_knG) - eig_kn[..., None] * (lower_s_knG - s_knG)
    square_kn = twin.sum(torch.linalg.vecdot(error_knG, error_knG).real)
    energy_kn = twin.sum(torch.linalg.vecdot(x_knG, error_knG).real)
    found = torch.stack([square_kn.max().sqrt(), electrons * energy_kn.square().mean().sqrt()])
    return SingleError(*atoms.runtime.world.max(found).tolist())


class PrecisionChoice:
    """Names the precision of the next step: single at first if wished for, and once double again, always double."""

    def __init__(
        self, atoms: PawAtoms, *, wished: bool, continued: bool, electrons: float, energy_tolerance: float,
        max_steps: int,
    ):  # fmt: skip
        """continued: whether the run goes on from orbitals of another one."""
        self.atoms, self.wished, self.continued, self.electrons = atoms, wished, continued, max(electrons, 1.0)
        self.energy_tolerance, self.max_steps = energy_tolerance, max_steps
        self.tables: SingleTables | None = None
        self.error: SingleError | None = None

    def state(self) -> dict[str, Any]:
        """What the next choice depends on."""
        error = None if self.error is None else (self.error.residual, self.error.energy)
        return {"wished": self.wished, "error": error}

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Continue where the choice of the same calculation stood; nothing of one that wished for something else."""
        self.wished, error = stored.get("wished", self.wished), stored.get("error")
        self.error = None if error is None else SingleError(*error)

    def next(
        self, step: int, method: BandSolver, potential: Potential, coeff_sknG: torch.Tensor, *, residual: float | None,
        tolerance: float,
    ) -> tuple[SingleTables | None, tuple[str, ...]]:  # fmt: skip
        """The tables for single precision, or None for double, and what is to be said about it.

        coeff_sknG: where the step begins; residual: of the density in the last step, electrons, None if there was none;
        tolerance: of the orbitals.
        """
        # orbitals of another run may be converged already: what they need is known after one step
        if not self.wished or (self.continued and residual is None):
            return None, ()
        begins = self.tables is None
        reason = self._last(step, method, residual)
        if not reason and begins:
            self.tables = SingleTables.of(self.atoms)
        if not reason and self.tables is not None and self.error is None:
            self.error = measured_error(self.atoms, self.tables, potential, coeff_sknG, self.electrons)
        if not reason and self.error is not None and self.error.residual > ENOUGH * tolerance * self.electrons**0.5:
            reason = "the density asks for better orbitals"
        if reason:
            # a run that goes on from here is not bound by the NELM of this one
            self.wished, self.tables = step == self.max_steps, None
            return None, (f"orbitals in double precision from here on: {reason}{self._words()}",)
        return self.tables, (f"orbitals in single precision from here on{self._words()}",) if begins else ()

    def _last(self, step: int, method: BandSolver, residual: float | None) -> str:
        """Why a step must be in double precision whatever the orbitals need; empty if nothing says so."""
        if method.solver.dense:
            return f"{method.solver.title} knows no other"
        if step == self.max_steps:
            return f"step {step} is the last that NELM allows"
        exact_change = self.error is not None and self.error.energy > self.energy_tolerance
        square = (LAST_SQUARE_BUT_ONE if exact_change else LAST_SQUARE) * self.energy_tolerance * self.electrons
        return "self-consistency is near" if residual is not None and residual**2 < square else ""

    def _words(self) -> str:
        """The error, once it is known."""
        if self.error is None:
            return ""
        residual, energy = (value * HARTREE_EV for value in (self.error.residual, self.error.energy))
        return f"; single precision is good to {residual:.1e} eV in residuals, about {energy:.1e} eV in the free energy"
