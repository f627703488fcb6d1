"""Density and potential of a result on the grid: of its state, or of the files of its folder.

Axes of values: points along the three lattice vectors from the origin on, in equal steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenwerk.dft.after.fields.charge import charge_blocks
from eigenwerk.dft.after.fields.potential import electrostatic_blocks
from eigenwerk.dft.calculation import Calculation, Made
from eigenwerk.dft.scf.state import State
from eigenwerk.dft.waves_and_atoms import atoms_of
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.volumetric import GridBlock, read_volumetric


@dataclass(frozen=True, eq=False, repr=False)
class DensityOnGrid:
    """Valence electrons, as CHGCAR has them: smooth inside the spheres about the atoms, their number right."""

    electrons_per_A3: np.ndarray
    magnetisation_muB_per_A3: np.ndarray | None
    """None without spin."""
    lattice_A: np.ndarray

    def __repr__(self) -> str:
        electrons = self.electrons_per_A3.mean() * abs(np.linalg.det(self.lattice_A))
        return f"<density of {electrons:.4f} electrons on {_points(self.electrons_per_A3)} points>"


@dataclass(frozen=True, eq=False, repr=False)
class PotentialOnGrid:
    """What an electron feels of charges (ionic and Hartree, LVHAR of LOCPOT); its zero is that of the levels."""

    electrostatic_eV: np.ndarray
    lattice_A: np.ndarray

    def planar_average(self, axis: int = 2) -> tuple[np.ndarray, np.ndarray]:
        """Distance (Å) along the normal of the planes across a lattice vector, and the mean over each plane (eV)."""
        mean_x = self.electrostatic_eV.mean(axis=tuple(c for c in range(3) if c != axis))
        height = 1 / float(np.linalg.norm(np.linalg.inv(self.lattice_A)[:, axis]))
        return np.arange(len(mean_x)) / len(mean_x) * height, mean_x

    def __repr__(self) -> str:
        return f"<electrostatic potential on {_points(self.electrostatic_eV)} points>"


def density_of(state: State | None, files: Mapping[str, Path], lattice_A: np.ndarray) -> DensityOnGrid:
    """Of a state, else of CHGCAR.  Raises InputError without both."""
    if state is None:
        blocks = _blocks("CHGCAR", "lcharg", files)
    else:
        blocks = charge_blocks(state.following, _calculation(state).atoms, 0)
    volume = abs(float(np.linalg.det(lattice_A)))
    density_R, *more = (block.value_R / volume for block in blocks)
    return DensityOnGrid(density_R, more[0] if more else None, lattice_A)


def potential_of(state: State | None, files: Mapping[str, Path], lattice_A: np.ndarray) -> PotentialOnGrid:
    """Of a state, else of LOCPOT with lvhar.  Raises InputError without both."""
    if state is None:
        return PotentialOnGrid(_blocks("LOCPOT", "lvhar", files)[0].value_R, lattice_A)
    calculation = _calculation(state)
    potential = calculation.builder(state.density)
    return PotentialOnGrid(electrostatic_blocks(potential, calculation.builder.dipole)[0], lattice_A)


def _calculation(state: State) -> Calculation:
    basis, parameters, datasets = state.system.basis, state.system.parameters, state.system.datasets
    made = Made(atoms_of(parameters, basis, datasets))
    return Calculation(state.structure, basis.kpoints, parameters, datasets, basis.runtime, made=made)


def _blocks(name: str, keyword: str, files: Mapping[str, Path]) -> tuple[GridBlock, ...]:
    if name not in files:
        raise InputError(f"this result was read, and its folder has no {name} of its run: set {keyword}=True.")
    return read_volumetric(files[name])[1].blocks


def _points(value_R: np.ndarray) -> str:
    return " x ".join(map(str, value_R.shape))
