"""D2: dispersion between pairs of atoms, with coefficients of the elements.

    E = -s6 Σ_a<b C_ab f(r_ab) / r_ab⁶,  C_ab = √(C_a C_b),  f(r) = 1 / (1 + exp(-d (r / (s_R (R_a + R_b)) - 1)))

over all atoms and images nearer than a radius; 1/2 for an atom and its own images.
Source: S. Grimme, J. Comput. Chem. 27, 1787 (2006), table 1; s_R = 1 and the radius as in VASP.
"""

from collections.abc import Iterator

import numpy as np

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.dispersion.correction import DispersionCorrection
from eigenwerk.dft.dispersion.position_energy import PositionEnergy
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

C6_UNIT = 10.364269656 / HARTREE_EV / BOHR_ANGSTROM**6
"""1 J nm⁶/mol in hartree bohr⁶: 1e6 Å⁶ times 1.0364269656e-5 eV."""

_TABLE = """
    H 0.14 1.001  He 0.08 1.012
    Li 1.61 0.825  Be 1.61 1.408  B 3.13 1.485  C 1.75 1.452  N 1.23 1.397  O 0.70 1.342  F 0.75 1.287  Ne 0.63 1.243
    Na 5.71 1.144  Mg 5.71 1.364  Al 10.79 1.639  Si 9.23 1.716  P 7.84 1.705  S 5.57 1.683  Cl 5.07 1.639
    Ar 4.61 1.595
    K 10.80 1.485  Ca 10.80 1.474  Sc 10.80 1.562  Ti 10.80 1.562  V 10.80 1.562  Cr 10.80 1.562  Mn 10.80 1.562
    Fe 10.80 1.562  Co 10.80 1.562  Ni 10.80 1.562  Cu 10.80 1.562  Zn 10.80 1.562  Ga 16.99 1.650  Ge 17.10 1.727
    As 16.37 1.760  Se 12.64 1.771  Br 12.47 1.749  Kr 12.01 1.727
    Rb 24.67 1.628  Sr 24.67 1.606  Y 24.67 1.639  Zr 24.67 1.639  Nb 24.67 1.639  Mo 24.67 1.639  Tc 24.67 1.639
    Ru 24.67 1.639  Rh 24.67 1.639  Pd 24.67 1.639  Ag 24.67 1.639  Cd 24.67 1.639  In 37.32 1.672  Sn 38.71 1.804
    Sb 38.44 1.881  Te 31.74 1.892  I 31.50 1.892  Xe 29.99 1.881
""".split()

COEFFICIENTS: dict[str, tuple[float, float]] = {
    symbol: (float(c6), float(radius))
    for symbol, c6, radius in zip(_TABLE[::3], _TABLE[1::3], _TABLE[2::3], strict=True)
}
"""Element -> C6 in J nm⁶/mol and R0 in Å, as papers and INCAR have them."""

SCALES = {"pbe": 0.75, "blyp": 1.2, "bp": 1.05, "tpss": 1.0, "b3lyp": 1.05, "revpbe": 1.25, "pbe0": 0.6}
"""s6 by functional: of the paper, and revPBE and PBE0 as Grimme's programs and VASP have them."""

BLOCK = 400_000
"""Pairs that are looked at at a time."""


def pair_energy(correction: DispersionCorrection, structure: Structure) -> PositionEnergy:
    """The energy with its derivatives."""
    given, radius, place_av = correction.parameters, correction.radius, structure.positions_av
    assert radius is not None
    c6_a, r0_a = np.array([correction.coefficients[symbol] for symbol in structure.symbols]).T
    energy, gradient_av, virial_vv = 0.0, np.zeros_like(place_av), np.zeros((3, 3))
    for a, shift_nv in _images(structure, radius):
        apart_anv = place_av[:, None] - place_av[a] + shift_nv
        r2_an = np.einsum("anv,anv->an", apart_anv, apart_anv)
        b_x, n_x = np.nonzero((r2_an < radius**2) & (r2_an > 1e-12))
        apart_xv, r_x = apart_anv[b_x, n_x], np.sqrt(r2_an[b_x, n_x])
        scale_x = given["sr"] * (r0_a[a] + r0_a[b_x])
        damping_x = 1 / (1 + np.exp(-given["d"] * (r_x / scale_x - 1)))
        energy_x = -0.5 * given["s6"] * np.sqrt(c6_a[a] * c6_a[b_x]) * damping_x / r_x**6
        slope_x = energy_x * (given["d"] * (1 - damping_x) / scale_x - 6 / r_x) / r_x
        force_xv = slope_x[:, None] * apart_xv
        energy += float(energy_x.sum())
        gradient_av[a] -= force_xv.sum(0)
        for v in range(3):
            gradient_av[:, v] += np.bincount(b_x, force_xv[:, v], len(gradient_av))
        virial_vv += force_xv.T @ apart_xv
    return PositionEnergy(energy, gradient_av, virial_vv)


def mean_neighbours(structure: Structure, radius: float) -> float:
    """Atoms and images within a radius (bohr) of an atom, by the first atom of each element with its weight."""
    total, symbols = 0.0, structure.symbols
    firsts = {symbols.index(symbol): symbols.count(symbol) for symbol in dict.fromkeys(symbols)}
    for a, shift_nv in _images(structure, radius, tuple(firsts)):
        apart_anv = structure.positions_av[:, None] - structure.positions_av[a] + shift_nv
        total += firsts[a] * int((np.einsum("anv,anv->an", apart_anv, apart_anv) < radius**2).sum())
    return total / len(symbols) - 1.0


def _images(
    structure: Structure, radius: float, atoms: tuple[int, ...] | None = None
) -> Iterator[tuple[int, np.ndarray]]:
    """For each atom, or for some, blocks of lattice vectors that may bring another one within its reach."""
    height_c = 1 / np.linalg.norm(np.linalg.inv(structure.lattice_cv), axis=0)
    scaled_ac = structure.scaled_ac
    block = max(1, BLOCK // len(scaled_ac))
    for a in range(len(scaled_ac)) if atoms is None else atoms:
        here_c = scaled_ac[a]
        low_c = np.ceil(here_c - scaled_ac.max(0) - radius / height_c).astype(int)
        high_c = np.floor(here_c - scaled_ac.min(0) + radius / height_c).astype(int)
        count_c = high_c - low_c + 1
        for first in range(0, int(count_c.prod()), block):
            flat_n = np.arange(first, min(first + block, int(count_c.prod())))
            yield a, (np.stack(np.unravel_index(flat_n, count_c), axis=1) + low_c) @ structure.lattice_cv
