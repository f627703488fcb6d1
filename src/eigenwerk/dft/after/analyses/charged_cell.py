"""What a charged cell would have of its energy without its images and the background: corrections, none of them added.

    monopole     q² α / 2εL                          Makov and Payne's first order, α the Madelung constant of the cell
    quadrupole   -2π/3Ω (q Q - p²)                    second order, of a molecule in a cubic box
    alignment    -q (v(far) - q φ(far))               the same by the potential far from a molecule, in any cell

p = ∫ρ r, Q = ∫ρ r² with the charge ρ whose mean Hartree potential is zero, that of pseudo-densities with compensation
charges: the zero of its potential differs by 2πQ/3Ω from that of a point charge.  v: its potential, φ that of point
charges (`crystal.madelung`) at the centre of charge, far: half a cell away from it.  Quadrupole and alignment are two
ways to the same, so only one of them may be added.

Sources: Makov and Payne, Phys. Rev. B 51, 4014 (1995); sign of the second order as in Dabo, Kozinsky, Singh-Miller and
Marzari, Phys. Rev. B 77, 115139 (2008); Freysoldt, Neugebauer and Van de Walle, Phys. Rev. Lett. 102, 016402 (2009).
"""

from collections.abc import Sequence
from itertools import product
from math import fsum, pi
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.after.analysis import AfterScene, Analysis
from eigenwerk.dft.crystal.madelung import madelung_constant, point_charge_potential
from eigenwerk.dft.crystal.structure import Structure, is_cubic, shortest, vacuum, widest_gaps
from eigenwerk.dft.inputs.checks import APART
from eigenwerk.dft.inputs.steps.electrons import NEUTRAL
from eigenwerk.dft.settings.tags_in_force import number
from eigenwerk.dft.terms.hartree import hartree
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.dft.terms.term import Charges
from eigenwerk.errors import InputError
from eigenwerk.io.quantity import Quantity
from eigenwerk.io.vasp.output.potentials import ChargedCell
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV


def charged_cell(potential: Potential, charge: float, epsilon: float) -> ChargedCell:
    """The corrections of a cell with a charge (positive without electrons) in a medium of dielectric constant epsilon.

    Those of second order for molecules in vacuum alone: their charge has ends, and epsilon = 1.  None for slabs and
    chains: the energy of their charge grows with the vacuum, and has no limit.
    """
    structure = potential.charges.atoms.basis.structure
    length, alpha = structure.volume ** (1 / 3), madelung_constant(structure.lattice_cv)
    first = charge**2 * alpha / (2 * length) * HARTREE_EV
    second, shift = None, None
    empty = int((vacuum(structure) >= APART / BOHR_ANGSTROM).sum())
    if epsilon == 1.0 and empty == 3:
        moment_c, square = _moments(potential.charges)
        shift = _shift(potential.charges, -charge, moment_c) * HARTREE_EV
        if is_cubic(structure.lattice_cv):
            spread = (moment_c**2).sum() - -charge * square
            second = 2 * pi / (3 * structure.volume) * float(spread) * HARTREE_EV
    return ChargedCell(
        charge, alpha, length * BOHR_ANGSTROM, epsilon, -first, first / epsilon if empty in (0, 3) else None, second,
        shift, None if shift is None else charge * shift,
    )  # fmt: skip


def alignment_at_cores(
    structure: Structure, place_c: Sequence[float], charged_a: np.ndarray, neutral_a: np.ndarray, charge: float,
    epsilon: float,
) -> tuple[float, float]:  # fmt: skip
    """Alignment for a defect in a crystal, from potentials at cores: (mean difference far away, correction), eV.

    ΔV = mean over atoms beyond R of v_charged - v_neutral + q φ/ε, v in eV of an electron; the correction is q ΔV.  R
    is the radius of the largest sphere between neighbouring defects, half the shortest lattice vector.
    Source: Y. Kumagai and F. Oba, Phys. Rev. B 89, 195205 (2014), in an isotropic medium.

    structure: the atoms that both cells have, in one order; place_c: of the defect, fractional; charged_a, neutral_a:
    their potentials (`RunResult.core_potentials_eV`); charge: e, positive where electrons are missing.  Raises
    InputError for arrays of other lengths, and where no atom is far enough.
    """
    atoms = len(structure.symbols)
    if len(charged_a) != atoms or len(neutral_a) != atoms:
        raise InputError(
            f"{len(charged_a)} and {len(neutral_a)} potentials for {atoms} atoms: give those of the atoms that both "
            "cells have, in the order of the structure."
        )
    image_xv = np.array(list(product((-1, 0, 1), repeat=3))) @ structure.lattice_cv
    size_x = np.linalg.norm(image_xv, axis=1)
    offset_av = shortest(structure.scaled_ac - np.asarray(place_c)) @ structure.lattice_cv
    distance_a = np.linalg.norm(offset_av[:, None] + image_xv, axis=2).min(axis=1)
    far_a = np.flatnonzero(distance_a > size_x[size_x > 0].min() / 2)
    if not len(far_a):
        raise InputError("no atom is beyond half the shortest lattice vector from the defect: take a larger cell.")
    point_a = [point_charge_potential(structure.lattice_cv, offset_av[a]) for a in far_a]
    shift_a = charged_a[far_a] - neutral_a[far_a] + charge / epsilon * HARTREE_EV * np.array(point_a)
    return float(shift_a.mean()), charge * float(shift_a.mean())


def _middle(structure: Structure) -> np.ndarray:
    """Fractional coordinates opposite to the middle of the widest gaps."""
    after_c, gap_c = widest_gaps(structure.scaled_ac % 1.0)
    return np.asarray(after_c + (1.0 - gap_c) / 2)


def _moments(charges: Charges) -> tuple[np.ndarray, float]:
    """∫ρ h (s - s₀) of each axis, h its height, and for a right-angled cell ∫ρ r²; electrons positive, bohr.

    Coefficients of the sawtooth s - s₀ from -1/2 to 1/2: i (-1)^n / 2πn, of its square (-1)^n / 2π²n² and 1/12, each
    times exp(-2πi n s₀).
    """
    basis = charges.atoms.basis
    structure = basis.structure
    index_gc, charge_g = basis.index_gc[: len(charges.charge_g)], charges.charge_g
    height_c = 2 * pi / np.linalg.norm(structure.reciprocal_cv, axis=1)
    moment_c, square = np.zeros(3), 0.0
    for axis, centre in enumerate(_middle(structure)):
        n_g = index_gc[:, axis].to(basis.weight_g.dtype)
        along_g = ~index_gc[:, [c for c in range(3) if c != axis]].any(1)
        moves_g = along_g & (n_g != 0)
        divisor_g = torch.where(moves_g, n_g, 1)
        sign_g, turn_g = 1 - 2 * (n_g % 2), torch.polar(torch.ones_like(n_g), -2 * pi * float(centre) * n_g)
        saw_g = 1j * moves_g * sign_g / (2 * pi * divisor_g) * turn_g
        square_g = moves_g * sign_g / (2 * pi**2 * divisor_g**2) * turn_g + (along_g & ~moves_g) / 12
        moment_c[axis] = float(basis.inner(charge_g, saw_g)) * height_c[axis]
        square += float(basis.inner(charge_g, square_g)) * height_c[axis] ** 2
    return moment_c, square


def _shift(charges: Charges, electrons: float, moment_c: np.ndarray) -> float:
    """v(far) - q φ(far) for electrons, hartree: half a cell from the centre of the charge."""
    basis = charges.atoms.basis
    structure = basis.structure
    height_c = 2 * pi / np.linalg.norm(structure.reciprocal_cv, axis=1)
    far_c = torch.as_tensor(_middle(structure) + moment_c / (electrons * height_c) + 0.5)
    phase_g = -2 * pi * (basis.index_gc.to(torch.float64).cpu() @ far_c)
    point_g = torch.polar(torch.ones_like(phase_g), phase_g).to(charges.charge_g) / structure.volume
    potential_g = hartree(charges.charge_g, basis)[1]
    far = float(basis.inner(potential_g, point_g[: len(potential_g)]))
    return far - electrons * point_charge_potential(structure.lattice_cv, np.full(3, 0.5) @ structure.lattice_cv)


def _of_scene(scene: AfterScene) -> tuple[Any, ...]:
    inputs = scene.inputs
    valence = fsum(inputs.data[symbol].header.valence for symbol in inputs.structure.symbols)
    charge, epsilon = valence - inputs.parameters.electrons, number(inputs.incar, "EPSILON")
    return (charged_cell(scene.potential, charge, epsilon) if abs(charge) > NEUTRAL else None,)


def _in_document(cell: ChargedCell, _: float) -> dict[str, Any]:
    return {
        "charge_e": cell.charge, "madelung_constant": cell.madelung, "length_A": cell.length,
        "dielectric_constant": cell.epsilon, "background_eV": cell.background,
        "corrections_not_in_the_energies_eV": {
            "monopole": cell.monopole, "quadrupole": cell.quadrupole, "potential_alignment": cell.alignment,
        },
        "potential_shift_eV": cell.potential_shift,
    }  # fmt: skip


ANALYSIS = Analysis((Quantity("charged", "eV", entries={"charged_cell": _in_document}),), _of_scene, place=2)
