"""What a calculation gives: the states with their energies, quantum numbers and observables, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eigenwerk.ncci.inputs.inputs import interaction_title

MIXED = 1e-3
"""<J^2> may differ so much from J (J + 1); more is a mixture of several J, or a state not converged."""

KNOWN = 1e-2
"""Residual (MeV) above which a state is a mixture because it is no state yet."""

COULOMB_LEFT = "V_C_srg"
"""Among the values: what the evolution by srg_lambda, had it been applied to it, would add to the Coulomb repulsion."""

SPURIOUS = 0.5
"""Quanta of the centre of mass above which a state is none of the nucleus; without truncation errors they are whole."""


@dataclass(frozen=True, eq=False)
class Levels:
    """The lowest states of one case; axis n is the state.  MeV, fm, nuclear magnetons, fm^2.

    about: the case in plain values (nucleus, interaction, srg_lambda, hw, Nmax, twice_M, parity, ...).  dimension:
    many-body states.  nonzeros: elements of the lower triangle with the diagonal, by MFDn's rule.  energy_n:
    eigenvalues without the Lawson term.  residual_n: |H x - E x|.  j_n: J as <J^2> gives it.  isospin_n: T from <T^2>.
    values: observables by name, (n,) or (n, x).  transitions: reduced matrix elements by name, (n, n), final state
    first, nan where M cannot tell.  orbitals: (n, l, 2j) by species.  solver: what it cost.  smaller: of the case in a
    smaller space that the solver began from, Nmax, hw, energy_m and overlap_nm = |<n|m>|^2 with its states m; empty
    where there was none.
    """

    about: Mapping[str, Any]
    dimension: int
    nonzeros: int
    energy_n: np.ndarray
    residual_n: np.ndarray
    converged: bool
    j_n: np.ndarray
    isospin_n: np.ndarray
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    transitions: Mapping[str, np.ndarray] = field(default_factory=dict)
    orbitals: Mapping[str, np.ndarray] = field(default_factory=dict)
    solver: Mapping[str, Any] = field(default_factory=dict)
    smaller: Mapping[str, Any] = field(default_factory=dict)

    @property
    def twice_j_n(self) -> np.ndarray:
        """2J, whole numbers of the right kind for the number of nucleons."""
        odd = (int(self.about["Z"]) + int(self.about["N"])) % 2
        return (2 * np.rint((2 * self.j_n - odd) / 2) + odd).astype(np.int64)

    @property
    def spurious_n(self) -> np.ndarray:
        """Which states have their centre of mass excited: they are none of the nucleus."""
        return np.asarray(self.values.get("N_cm", np.zeros(len(self.energy_n)))) > SPURIOUS

    @property
    def order_n(self) -> np.ndarray:
        """Which state of its J each one is, from 1; those with an excited centre of mass have 0."""
        seen: dict[int, int] = {}
        order = []
        for twice, spurious in zip(self.twice_j_n.tolist(), self.spurious_n.tolist(), strict=True):
            seen[twice] = seen.get(twice, 0) + (not spurious)
            order.append(0 if spurious else seen[twice])
        return np.array(order, dtype=np.int64)

    @property
    def excited_n(self) -> np.ndarray:
        """Energies above the lowest state of the nucleus (MeV); nan where the centre of mass is excited."""
        own_n = np.where(self.spurious_n, np.nan, self.energy_n)
        return own_n - (np.nanmin(own_n) if not self.spurious_n.all() else np.nan)

    @property
    def interaction(self) -> str:
        """The interaction in words, with how far it was evolved."""
        return interaction_title(str(self.about["interaction"]), self.about.get("srg_lambda"))

    @property
    def parity(self) -> int:
        """1 or -1."""
        return int(self.about["parity"])

    def label(self, n: int) -> str:
        """The state as people write it: 3+ or 1/2-."""
        twice = int(self.twice_j_n[n])
        spin = f"{twice}/2" if twice % 2 else f"{twice // 2}"
        return spin + ("+" if self.parity > 0 else "-")


def spin_of(square: np.ndarray) -> np.ndarray:
    """j of <j^2> = j (j + 1)."""
    return np.sqrt(np.maximum(square, 0.0) + 0.25) - 0.5
