"""Forces and stresses of GPAW at the arrangements that compare.py has left in results.json.

Run with the Python of a GPAW installation (made for version 26.7), never imported by eigenwerk.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "accuracy" / "oracle")]
from ase import Atoms  # noqa: E402
from cells import CELLS  # noqa: E402
from entries import changing, load  # noqa: E402
from full_gpaw import density_sphere, fine_splines, grid_points  # noqa: E402
from gpaw.new.ase_interface import GPAW  # noqa: E402


def calculator(name):
    """With the grid of the start, as the other code keeps it."""
    structure, settings = CELLS[name]["structure"], CELLS[name]["settings"]
    return GPAW(
        mode={"name": "pw", "ecut": settings["ecut_eV"]}, xc=settings["xc"],
        gpts=grid_points(structure["cell_A"], settings["ecut_eV"]),
        kpts={"size": settings["kpts_size"], "gamma": True}, occupations=settings["occupations"],
        convergence=settings["convergence"] | {"bands": "occupied"}, nbands=settings["nbands"],
        txt=f"/tmp/gpaw_phonons_{name}.txt",
    )  # fmt: skip


def main():
    density_sphere()
    fine_splines()
    results = HERE / "results.json"
    for name in sys.argv[1:] or load(results):
        points = []
        for point in load(results)[name]["ours"]["points"]:
            place = {"cell_A": point["cell_A"], "scaled_positions": point["scaled_positions"]}
            symbols = CELLS[name]["structure"]["symbols"]
            atoms = Atoms(symbols, cell=place["cell_A"], scaled_positions=place["scaled_positions"], pbc=True)
            atoms.calc = calculator(name)
            atoms.get_potential_energy()
            forces_av, stress_vv = atoms.get_forces(apply_constraint=False), atoms.get_stress(voigt=False)
            points.append(place | {"forces": forces_av.tolist(), "stress": stress_vv.tolist()})
            print(name, len(points), flush=True)
        with changing(results) as entries:
            entries[name]["gpaw"] = {"points": points}


if __name__ == "__main__":
    main()
