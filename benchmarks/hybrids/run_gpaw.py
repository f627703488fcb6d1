"""Hybrid functionals with GPAW, the settings of the other oracle (benchmarks/accuracy/oracle/full_gpaw.py).

Run with the Python of a GPAW installation (made for version 26.7), never imported by eigenwerk:

    python run_gpaw.py [CASE ...] [--again]         into gpaw.json

What GPAW's plane-wave mode does with exact exchange, as its files `new/pw/hybrids.py`, `hybrids/wstc.py` and
`hybrids/__init__.py` have it:

- k-points: sums over the full gamma-centred mesh, orbitals of the irreducible part rotated.
- HSE06: omega = 0.11 per bohr; 4 pi (1 - exp(-G²/(4 omega²)))/G² and, at q + G = 0, its limit pi/omega²; no further
  correction, so the energy depends on the mesh.  PBE0, B3LYP, EXX: the Coulomb interaction truncated at the
  Wigner-Seitz cell of the supercell that the mesh stands for (Sundararaman and Arias, Phys. Rev. B 87, 165122 (2013)).
- pair densities with their compensation charges, cut at the sphere |q + G|²/2 <= ecut of the orbitals.  Cases with
  "whole_products" in their settings ("full" in their names) keep them whole: `PWHybridHamiltonian._apply3` is given a
  descriptor of plane waves up to 4 ecut, twice the radius of the orbitals, and the interaction on it, for energy,
  potential and forces; the grid holds that sphere around every q (`gpts`).  Nothing else is changed, no file of GPAW.
- one-centre terms: exchange between valence electrons, all-electron minus smooth with compensation charges, between
  valence and core, and between core electrons are those of the data set, of the bare Coulomb interaction with screening
  too.  Of HSE06 this moves the energy by a constant per atom.
- semilocal parts by libxc: hyb_gga_xc_hse06, hyb_gga_xc_pbeh, hyb_gga_xc_b3lyp; nothing for EXX.
- energies count from the PBE atoms of the data sets; free_energy_eV is so, too.

- forces: the function `forces` has the fraction 0.25 written into it, so those of EXX and B3LYP are not derivatives of
  the energy; with spin, what the one-centre potential of exchange adds is taken from the first channel alone
  (`if F1_av is not None and u == 0`).  Both are no reference.

Compare gaps, eigenvalues relative to the band top, and energy differences: of the cell (`base`) and of functionals.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "accuracy" / "oracle")]

from full_gpaw import grid_points, run  # noqa: E402
from full_gpaw import main as oracle  # noqa: E402
from gpaw.new.pw.hybrids import PWHybridHamiltonian  # noqa: E402
from oracle_cases import CASES  # noqa: E402

HOLDS_PRODUCTS = 4.0
"""Of the cutoff: products of two orbitals reach to twice the radius of their sphere."""

LARGEST_SHIFT = 0.5
"""Of q along an axis, in reciprocal cells, on meshes about gamma."""


def pairs_up_to(factor):
    """Pair densities up to |q + G|²/2 <= factor * ecut in all runs that follow."""

    def apply(self, pw, v_G, *words):
        if factor != 1.0:
            pw = pw.new(ecut=factor * pw.ecut)
            v_G = self.coulomb(pw)
        return PAIRS_OF_GPAW(self, pw, v_G, *words)

    PWHybridHamiltonian._apply3 = apply


PAIRS_OF_GPAW = PWHybridHamiltonian._apply3


def solve(structure, settings):
    """One calculation, with whole products where the case asks for them."""
    whole = settings.get("whole_products", False)
    pairs_up_to(HOLDS_PRODUCTS if whole else 1.0)
    gpts = {"gpts": grid_points(structure["cell_A"], settings["ecut_eV"], LARGEST_SHIFT)} if whole else {}
    return run(structure, {**settings, **gpts})


if __name__ == "__main__":
    oracle(CASES, HERE / "gpaw.json", "run_gpaw.py", solve)
