"""What follows from a state at once: forces, stress, weights of its orbitals on atoms."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.after.projections import Projections, site_projections
from eigenwerk.dft.density.symmetrise import Symmetriser
from eigenwerk.dft.derivatives.forces import Forces, correction, forces
from eigenwerk.dft.derivatives.pulay import cutoff_slope, pulay_pressure
from eigenwerk.dft.derivatives.stress import stress
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.stages.exchange_loop import force_error_of
from eigenwerk.dft.scf.state import State
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.terms.builder import PotentialBuilder


@dataclass(frozen=True, eq=False)
class DerivedQuantities:
    """Of the states of one calculation, whose parts these are."""

    parameters: Parameters
    builder: PotentialBuilder
    symmetrise: Symmetriser

    def forces(self, state: State) -> Forces:
        """Forces of a state and their error."""
        with state.system.basis.runtime.trace.span("forces"):
            found = forces(*self._of(state))
            force_av, correction_av = map(self.symmetrise.forces, (found.force_av, found.correction_av))
            return Forces(force_av, correction_av, found.error + _exchange_error(state))

    def force_error(self, state: State) -> float:
        """The error of a state's forces alone, which needs nothing of its orbitals."""
        with state.system.basis.runtime.trace.span("forces"):
            density_a = correction(self.builder, state.density, state.output)[1]
            return float(density_a.max()) + _exchange_error(state)

    def stress(self, state: State) -> tuple[np.ndarray | None, float | None]:
        """Stress of a state, (3, 3), and the Pulay stress in its pressure, hartree per bohr³; None if not wanted."""
        if not self.parameters.stress:
            return None, None
        basis = state.system.basis
        with basis.runtime.trace.span("stress"):
            found_vv = stress(*self._of(state))
            slope = cutoff_slope(basis, state.coeff_sknG, state.eig_skn, state.filling_skn)
            return self.symmetrise.tensor(found_vv).cpu().numpy(), pulay_pressure(basis, slope)

    def projections(
        self, atoms: PawAtoms, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor | None = None
    ) -> Projections | None:
        """Weights of orbitals on the atoms, if they are wanted, on all ranks.

        atoms: on the basis of the orbitals; filling_skn: None at k-points that hold no electrons.
        """
        wanted, runtime = self.parameters.projection, atoms.runtime
        if wanted is None:
            return None
        if filling_skn is None:
            shape = len(coeff_sknG), len(atoms.basis.kpoints.point_kc), coeff_sknG.shape[2]
            filling_skn = torch.zeros(shape, dtype=runtime.real)
        with runtime.trace.span("projections"):
            return site_projections(
                atoms, coeff_sknG, filling_skn, wanted.radius, self.symmetrise.symmetry, wanted.phases
            )

    def _of(self, state: State) -> tuple[Any, ...]:
        """What a derivative of the free energy is made of."""
        return (
            self.builder, state.density, state.output, state.coeff_sknG, state.eig_skn, state.filling_skn,
            self.parameters.correct_forces,
        )  # fmt: skip


def _exchange_error(state: State) -> float:
    """The part of exact exchange in the error of forces."""
    return 0.0 if state.exchange is None else force_error_of(state.exchange.expected, len(state.structure.symbols))
