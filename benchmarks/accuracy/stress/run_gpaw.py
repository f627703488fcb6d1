"""Stresses by GPAW, with two of its short cuts taken out as in benchmarks/accuracy (its stress needs the gradients as
they are).

Run with the Python of a GPAW installation (made for version 26.7), never imported by eigenwerk:

    python run_gpaw.py [CELL ...]           (default: all of cells.py, into results.json)
"""

import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "accuracy" / "oracle")]
from ase import Atoms  # noqa: E402
from ase.units import GPa  # noqa: E402
from cells import CELLS  # noqa: E402
from entries import changing  # noqa: E402
from full_gpaw import density_sphere, fine_splines, grid_points  # noqa: E402
from gpaw.new.ase_interface import GPAW  # noqa: E402


def run(name):
    """Stress (v, v) in GPa, positive where the cell wants to shrink, free energy in eV, and seconds."""
    structure, settings = CELLS[name]["structure"], CELLS[name]["settings"]
    atoms = Atoms(
        structure["symbols"], cell=structure["cell_A"], scaled_positions=structure["scaled_positions"], pbc=True,
        magmoms=structure.get("initial_magmoms"),
    )
    started = time.perf_counter()
    atoms.calc = GPAW(
        mode={"name": "pw", "ecut": settings["ecut_eV"]}, xc=settings["xc"],
        gpts=grid_points(atoms.cell.array, settings["ecut_eV"]),
        kpts={"size": settings["kpts_size"], "gamma": True}, occupations=settings["occupations"],
        convergence=settings["convergence"] | {"bands": "occupied"}, nbands=settings["nbands"],
        setups=settings.get("setups", {}), txt=f"/tmp/gpaw_stress_{name}.txt",
    )
    free = atoms.get_potential_energy(force_consistent=True)
    return {
        "free_energy_eV": float(free), "stress_GPa": (atoms.get_stress(voigt=False) / GPa).tolist(),
        "seconds": time.perf_counter() - started,
    }  # fmt: skip


def main():
    density_sphere()
    fine_splines()
    for name in sys.argv[1:] or CELLS:
        found = run(name)
        with changing(HERE / "results.json") as entries:
            entries.setdefault(name, {})["gpaw"] = found
        print(name, found["free_energy_eV"], found["stress_GPa"], f"{found['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
