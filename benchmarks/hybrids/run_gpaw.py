"""Hybrid functionals with GPAW, the settings of the other oracle (benchmarks/accuracy/oracle/full_gpaw.py).

Run with the Python of a GPAW installation (made for version 26.7), never imported by eigenwerk:

    python run_gpaw.py [CASE ...] [--again]         into gpaw.json

What GPAW's plane-wave mode does with exact exchange, as its files `new/pw/hybrids.py`, `hybrids/wstc.py` and
`hybrids/__init__.py` have it:

- k-points: sums over the full gamma-centred mesh, orbitals of the irreducible part rotated.
- HSE06: omega = 0.11 per bohr; 4 pi (1 - exp(-G²/(4 omega²)))/G² and, at q + G = 0, its limit pi/omega²; no further
  correction, so the energy depends on the mesh.  PBE0, B3LYP, EXX: the Coulomb interaction truncated at the
  Wigner-Seitz cell of the supercell that the mesh stands for (Sundararaman and Arias, Phys. Rev. B 87, 165122 (2013)).
- pair densities with their compensation charges, cut at the sphere |q + G|²/2 <= ecut of the orbitals.
- one-centre terms: exchange between valence electrons, all-electron minus smooth with compensation charges, between
  valence and core, and between core electrons are those of the data set, of the bare Coulomb interaction with screening
  too.  Of HSE06 this moves the energy by a constant per atom.
- semilocal parts by libxc: hyb_gga_xc_hse06, hyb_gga_xc_pbeh, hyb_gga_xc_b3lyp; nothing for EXX.
- energies count from the PBE atoms of the data sets; free_energy_eV is so, too.

Compare gaps, eigenvalues relative to the band top, and energy differences: of the cell (`base`) and of functionals.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "accuracy" / "oracle")]

from full_gpaw import main  # noqa: E402
from oracle_cases import CASES  # noqa: E402

if __name__ == "__main__":
    main(CASES, HERE / "gpaw.json", "run_gpaw.py")
