"""Dipole corrections of slabs and molecules, and an electric field across them.

    m = ∫ ρ(r) z̃(r) d³r,   z̃ = h (s - s₀) between -h/2 and h/2,   E = 2π f m² / Ω - F m,   v = (4π f m / Ω - F) z̃

along a lattice axis: s is its fractional coordinate, s₀ the centre, h the height of the cell, ρ the electrons with
cores, compensation charges and nuclei (electrons positive), F the force of the field on an electron.  The repetition of
a slab makes the mean field in the cell vanish; its own moment is then in a field of 4πm/Ω, which E takes back (f = 1).
In a cubic box of a molecule it is a third of that for each axis (f = 1/3).  The step of z̃ has to lie where nothing is.

Sources: Neugebauer and Scheffler, Phys. Rev. B 46, 16067 (1992); Bengtsson, Phys. Rev. B 59, 12301 (1999); Makov and
Payne, Phys. Rev. B 51, 4014 (1995).
"""

from math import pi
from typing import ClassVar, Self

import numpy as np
import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.density.kinds.occupancy import OCCUPANCY
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.settings.dipole import DipoleCorrection
from eigenwerk.dft.terms.hartree import charge_forces, on_moments
from eigenwerk.dft.terms.term import Charges, Contribution, Scene, Term
from eigenwerk.functionals.functional import DENSITY


class Dipole(Term):
    """The term of the axes of a correction.

    Where the potential is not corrected E is added to the energy, and nothing else knows of it: forces and orbitals are
    those of the periodic cell, as in VASP without LDIPOL.
    """

    words: ClassVar = {"electrostatic": "of a dipole in the field of its images, and in one that is applied"}

    @classmethod
    def of(cls, scene: Scene) -> Self | None:
        """With IDIPOL."""
        return cls(scene.atoms, scene.parameters.dipole) if scene.parameters.dipole else None

    def __init__(self, atoms: PawAtoms, given: DipoleCorrection):
        self.atoms, self.given = atoms, given

    def __call__(self, charges: Charges) -> Contribution:
        """Energy "electrostatic", and v where it is corrected."""
        energy = self._energy(charges.charge_g, self.atoms.basis)[None]
        if not self.given.in_potential:
            return Contribution(("electrostatic",), energy)
        potential_g = self.potential(charges)
        waves = {DENSITY: potential_g[: self.atoms.basis.density_count]}
        return Contribution(("electrostatic",), energy, waves, {OCCUPANCY: on_moments(self.atoms, potential_g)})

    def moments(self, charges: Charges) -> list[float]:
        """m of each axis, electrons times bohr."""
        basis = self.atoms.basis
        return [float(basis.inner(charges.charge_g, self._sawtooth_g(basis, axis))) for axis in self.given.axes]

    def false_field(self, charges: Charges) -> float:
        """The largest field of the cell's images, 4π f m / Ω, left in potential and forces; hartree per bohr."""
        if self.given.in_potential:
            return 0.0
        return max(abs(float(slope)) for slope in self._slopes(charges.charge_g, self.atoms.basis))

    def potential(self, charges: Charges) -> torch.Tensor:
        """v on the electrostatic sphere, hartree."""
        return self._potential(charges.charge_g, self.atoms.basis)

    def line(self, charges: Charges, axis: int, s_x: np.ndarray) -> np.ndarray:
        """v as a line with a sharp step, at fractional coordinates s along an axis, hartree; zero for other axes.

        For pictures and levels.  The waves of `potential` end at the electrostatic sphere, so their sum swings about
        this line by some 4π m / (Ω g_max) everywhere (Gibbs); charges that end there too feel nothing of that.
        """
        slope = dict(zip(self.given.axes, self._slopes(charges.charge_g, self.atoms.basis), strict=True)).get(axis)
        if slope is None:
            return np.zeros_like(s_x)
        apart_x = s_x - self.given.centre_c[axis]
        apart_x = apart_x - np.rint(apart_x)
        on_step_x = np.isclose(np.abs(apart_x), 0.5, rtol=0, atol=1e-9)
        return np.asarray(float(slope) * self._height(self.atoms.basis, axis) * np.where(on_step_x, 0.0, apart_x))

    def strained(self, charges: Charges, atoms: PawAtoms) -> torch.Tensor | None:
        """E of fixed ρ(g), and the compensation charges in v."""
        if not self.given.in_potential:
            return None
        moving_g = atoms.compensation_charge(charges.occupancy_x)
        basis = self.atoms.basis
        return self._energy(charges.charge_g, atoms.basis) + basis.inner(self.potential(charges), moving_g)

    def forces(self, charges: Charges) -> torch.Tensor | None:
        """Of the compensation charges in v."""
        return charge_forces(charges, self.potential(charges)) if self.given.in_potential else None

    @property
    def _share(self) -> float:
        """4π f."""
        return 4 * pi / len(self.given.axes)

    def _energy(self, charge_g: torch.Tensor, basis: PlaneWaveBasis) -> torch.Tensor:
        total = charge_g.real.new_zeros(())
        for axis in self.given.axes:
            moment = basis.inner(charge_g, self._sawtooth_g(basis, axis))
            total = total + moment**2 * (self._share / 2 / basis.volume) - self.given.force * moment
        return total

    def _potential(self, charge_g: torch.Tensor, basis: PlaneWaveBasis) -> torch.Tensor:
        total_g = torch.zeros_like(charge_g)
        for axis, slope in zip(self.given.axes, self._slopes(charge_g, basis), strict=True):
            total_g = total_g + slope * self._sawtooth_g(basis, axis)
        return total_g

    def _slopes(self, charge_g: torch.Tensor, basis: PlaneWaveBasis) -> list[torch.Tensor]:
        """4π f m / Ω - F of each axis."""
        moment_x = [basis.inner(charge_g, self._sawtooth_g(basis, axis)) for axis in self.given.axes]
        return [moment * (self._share / basis.volume) - self.given.force for moment in moment_x]

    @staticmethod
    def _height(basis: PlaneWaveBasis, axis: int) -> float:
        """Of the cell along an axis, h."""
        return 2 * pi / float(basis.lattice.reciprocal_cv[axis].norm())

    def _sawtooth_g(self, basis: PlaneWaveBasis, axis: int) -> torch.Tensor:
        """z̃(n b) = h i (-1)^n exp(-2πi n s₀) / 2πn on the electrostatic sphere, zero for all other waves."""
        n_g, others = basis.index_gc[:, axis].to(basis.weight_g.dtype), [c for c in range(3) if c != axis]
        along_g = (n_g != 0) & ~basis.index_gc[:, others].any(1)
        height = 2 * pi / basis.lattice.reciprocal_cv[axis].norm()
        size_g = along_g * (1 - 2 * (n_g % 2)) / (2 * pi * torch.where(along_g, n_g, 1))
        turn_g = torch.polar(torch.ones_like(n_g), 0.5 * pi - 2 * pi * self.given.centre_c[axis] * n_g)
        return turn_g * (size_g * height)
