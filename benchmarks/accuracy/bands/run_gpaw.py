"""Bands by GPAW in its own converged density, with its short cuts taken out as in benchmarks/accuracy.

Run with the Python of a GPAW installation (made for version 26.7), never imported by eigenwerk:

    python run_gpaw.py [CASE ...]           (default: all of points.py, into results.json)
"""

import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "accuracy" / "oracle")]
from ase import Atoms  # noqa: E402
from cases import CASES  # noqa: E402
from entries import changing, load  # noqa: E402
from full_gpaw import density_sphere, fine_splines, grid_points, spectral_gradient  # noqa: E402
from gpaw.new.ase_interface import GPAW  # noqa: E402
from points import MORE, PATHS, compared  # noqa: E402

BAND_TOLERANCE = 1e-12
"""Of orbitals in the fixed density: eV² per electron."""


def run(name):
    """Eigenvalues at the points, (s, k, n) in eV, the Fermi level of the mesh, and seconds."""
    structure, settings = CASES[name]["structure"], CASES[name]["settings"]
    atoms = Atoms(
        structure["symbols"], cell=structure["cell_A"], scaled_positions=structure["scaled_positions"], pbc=True,
        magmoms=structure.get("initial_magmoms"),
    )
    ecut, wanted, started = settings["ecut_eV"], compared(name, settings), time.perf_counter()
    atoms.calc = GPAW(
        mode={"name": "pw", "ecut": ecut}, xc=settings["xc"], gpts=grid_points(atoms.cell.array, ecut),
        kpts={"size": settings["kpts_size"], "gamma": True}, occupations=settings["occupations"],
        convergence=settings["convergence"] | {"bands": "occupied"}, nbands=settings["nbands"],
        setups=settings.get("setups", {}), txt=f"/tmp/gpaw_bands_{name}.txt",
    )
    free = atoms.get_potential_energy(force_consistent=True)
    bands = atoms.calc.fixed_density(
        kpts=PATHS[name], symmetry="off", maxiter=2000, txt=f"/tmp/gpaw_bands_{name}_path.txt",
        convergence={"eigenstates": BAND_TOLERANCE, "bands": wanted},
        nbands=MORE.get(name, [settings["nbands"]])[0],
    )
    spins = bands.get_number_of_spins()
    return {
        "free_energy_eV": float(free), "fermi_level_eV": float(atoms.calc.get_fermi_level()),
        "eigenvalues_eV": [
            [bands.get_eigenvalues(k, s)[:wanted].tolist() for k in range(len(PATHS[name]))]
            for s in range(spins)
        ],
        "seconds": time.perf_counter() - started,
    }  # fmt: skip


def main():
    density_sphere()
    spectral_gradient()
    fine_splines()
    for name in sys.argv[1:] or PATHS:
        if f"{name} gpaw" in load(HERE / "results.json"):
            continue
        found = run(name)
        with changing(HERE / "results.json") as stored:
            stored[f"{name} gpaw"] = found
        print(name, f"{found['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
