"""The last states of moving atoms, and the next one as they predict it.

Densities are predicted as what is left when superposed atoms are taken away, orbitals after each set has been turned so
that it is as near to the newest one as a unitary matrix between bands allows (the polar factor of their overlaps).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.crystal.structure import Structure, shortest
from eigenwerk.dft.density.density import Density, moment_per_atom, superposed_atoms
from eigenwerk.dft.density.kinds.table import WAVES
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.start.carried import with_electrons
from eigenwerk.dft.scf.state import StartingPoint, State, wanted_bands
from eigenwerk.motion.prediction import LONGEST, NONE, weights


@dataclass(frozen=True)
class KeptState:
    """What is kept of a state.

    rest: its density without superposed atoms, times the volume of its cell, and its occupancies; moment_a: of these
    atoms; coeff_sknG: orbitals, turned to those of the newest state.
    """

    structure: Structure
    rest: Density
    moment_a: np.ndarray | None
    coeff_sknG: torch.Tensor


LEARNED = 12
"""Changes of the density that the mixer of the next ionic step begins with."""


class StateHistory:
    """States of one system on the same plane waves, those of `basis`, newest first, as many as the method can use."""

    def __init__(self, method: str, electrons: float):
        self.method, self.electrons = method, electrons
        self.kept: list[KeptState] = []
        self.basis: PlaneWaveBasis | None = None
        self.occ_skn: torch.Tensor | None = None
        self.learned: Mapping[str, Any] | None = None

    def copy(self) -> "StateHistory":
        """As it is now."""
        other = StateHistory(self.method, self.electrons)
        other.kept, other.basis = list(self.kept), self.basis
        other.occ_skn, other.learned = self.occ_skn, self.learned
        return other

    def add(self, state: State, atoms: PawAtoms) -> None:
        """Take in the newest state; those before are turned to it."""
        density = state.following
        moment_a = moment_per_atom(density, atoms) if density.spin.polarised else None
        new = KeptState(state.structure, _without_atoms(density, atoms, moment_a), moment_a, state.coeff_sknG)
        alike = [one for one in self.kept if one.rest.value.keys() == density.value.keys()]
        older = alike[: LONGEST[self.method] - 1]
        self.kept = [new, *(_turned(one, new.coeff_sknG, atoms) for one in older)]
        self.occ_skn, self.basis = state.occupations.occ_skn, atoms.basis
        self.learned = _newest(state.progress.mixer())

    def predict(self, atoms: PawAtoms) -> StartingPoint | None:
        """Where to begin for atoms elsewhere; None if nothing is known."""
        if not self.kept or self.occ_skn is None:
            return None
        newest = self.kept[0]
        wanted_skn = wanted_bands(self.occ_skn)
        if self.method == NONE:
            density = newest.rest.map_names(_times(1 / newest.structure.volume))
            there = superposed_atoms(atoms, density.spin, newest.moment_a, newest.structure, density.value)
            density = _plus(density, there)
            density = with_electrons(density, atoms, self.electrons)
            return StartingPoint(density, newest.coeff_sknG, wanted_skn, occ_skn=self.occ_skn)
        places = _unwrapped([one.structure for one in self.kept], atoms.basis.structure)
        weight_x = weights(self.method, places[1:], places[0])
        pairs = list(zip(weight_x.tolist(), self.kept, strict=False))
        rest = newest.rest.map(lambda *values: sum(w * v for (w, _), v in zip(pairs, values, strict=True)),
                               *(one.rest for _, one in pairs[1:]))  # fmt: skip
        moment_a = None
        if newest.moment_a is not None:
            moment_a = sum(weight * one.moment_a for weight, one in pairs)
        here = superposed_atoms(atoms, rest.spin, moment_a, fields=rest.value)
        density = _plus(rest.map_names(_times(1 / float(atoms.basis.volume))), here)
        coeff_sknG = sum(weight * one.coeff_sknG for weight, one in pairs)
        assert isinstance(coeff_sknG, torch.Tensor)
        density = with_electrons(density, atoms, self.electrons)
        return StartingPoint(density, coeff_sknG, wanted_skn, learned=lambda: self.learned, occ_skn=self.occ_skn)


def _newest(memory: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What a mixer has learned, in single precision: what is saved is what is used."""
    if memory is None or memory["history"] is None or memory["change_ixjy"] is None:
        return None
    places = memory["history"]["places"][-LEARNED:]
    change_ixjy = memory["change_ixjy"][:, :, -LEARNED:].astype(np.float32)
    forgotten = {"last_ixy": None, "best_ixy": None}
    return {**memory, **forgotten, "history": {**memory["history"], "places": places}, "change_ixjy": change_ixjy}


def _times(factor: float) -> Callable[[str, torch.Tensor], torch.Tensor]:
    return lambda name, value_sx: value_sx * factor if name in WAVES else value_sx


def _plus(density: Density, atomic: Density) -> Density:
    """Waves of both; matrices of the first."""
    return density.map_names(lambda name, x_sx: x_sx + atomic.value[name] if name in WAVES else x_sx)


def _without_atoms(density: Density, atoms: PawAtoms, moment_a: np.ndarray | None) -> Density:
    here, volume = superposed_atoms(atoms, density.spin, moment_a, fields=density.value), float(atoms.basis.volume)
    return density.map_names(
        lambda name, x_sx: (x_sx - here.value[name]) * volume if name in WAVES else x_sx
    )


def _turned(one: KeptState, newest_sknG: torch.Tensor, atoms: PawAtoms) -> KeptState:
    """The orbitals turned by U of U P = ⟨old|newest⟩, the nearest that bands among themselves can come."""
    overlap_sknm = atoms.runtime.bands.sum(one.coeff_sknG.conj() @ newest_sknG.mT)
    left_sknm, _, right_sknm = torch.linalg.svd(overlap_sknm)
    turn_sknm = left_sknm @ right_sknm
    return KeptState(one.structure, one.rest, one.moment_a, turn_sknm.mT @ one.coeff_sknG)


def _unwrapped(structures: list[Structure], wanted: Structure) -> list[np.ndarray]:
    """Cartesian places of the wanted structure and the earlier ones, each atom at its image next to the wanted one."""
    places = [wanted.positions_av]
    for structure in structures:
        step_ac = shortest(structure.scaled_ac - wanted.scaled_ac)
        places.append((wanted.scaled_ac + step_ac) @ structure.lattice_cv)
    return places
