"""The band of a finished `eigenwerk run benchmarks/moving/saddle/ammonia -o OUT` in GPAW: energies, and forces of
ASE's band.

    python benchmarks/moving/saddle/gpaw_ammonia.py OUT CUTOFF

For a Python that has GPAW, whose data sets gpaw-data brings.  Prints the barrier between the first and the third image.
"""

import sys

from ase.io import read
from ase.mep import NEB
from gpaw import GPAW, PW

folder, cutoff = sys.argv[1], float(sys.argv[2])
images = [read(f"{folder}/{number:02d}/CONTCAR") for number in range(5)]
for image in images:
    image.calc = GPAW(
        mode=PW(cutoff), xc="PBE", kpts=(1, 1, 1), occupations={"name": "fermi-dirac", "width": 0.0}, nbands=8,
        convergence={"energy": 1e-6, "density": 1e-6}, symmetry="off", txt=None,
    )  # fmt: skip
band = NEB(images, k=5.0, climb=True, method="improvedtangent")
forces = band.get_forces()
energies = [image.get_potential_energy() for image in images]
print(f"cutoff {cutoff:g} eV: barrier {energies[2] - energies[0]:.4f} eV, largest force {abs(forces).max():.4f} eV/Å")
