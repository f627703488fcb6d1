"""HSE06 of silicon beside the reference runs of ../shared/reference/dft/hse06_si.json (GPAW), mesh by mesh.

    python benchmarks/hybrids/reference_si.py        writes reference_si.json and reference_si.md beside itself

Band differences count from the valence band top; energies: from one mesh to the next, and from cutoff to cutoff, per
atom.  Run `full` has the whole spheres of densities; runs `default` have GPAW's smaller grids, so they are compared for
what changes with the mesh.  Both have HSE06 by libxc (PE-HOLE here, HFSCREEN 0.11 per bohr) and exchange with cores by
1/r.  Pair densities: ours as eigenwerk has them, theirs cut at the sphere of the orbitals.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk import __version__
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.io.paw.paw_library import choose_dataset
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parents[2] / "shared/reference/dft/hse06_si.json"
BANDS, FILLED = 6, 4


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """Energy (eV) and levels of the same input."""
    given, settings = case["structure"], case["settings"]
    lattice_cv = np.array(given["cell_A"], float) / BOHR_ANGSTROM
    structure = Structure(lattice_cv, tuple(given["symbols"]), np.array(given["scaled_positions"], float))
    data = read_paw_xml(choose_dataset("Si", "PBE"))
    parameters = Parameters(
        cutoff=settings["ecut_eV"] / HARTREE_EV, bands=settings["nbands"], electrons=2 * data.valence,
        precision="Accurate", functional="PE-HOLE", hybrid=Hybrid.of(0.25, 0.11), ismear=-1,
        width=settings["occupations"]["width"] / HARTREE_EV, energy_tolerance=1e-6 / HARTREE_EV, stress=False,
    )  # fmt: skip
    symmetry = find_symmetry(structure, 1e-5 / BOHR_ANGSTROM, 2)
    kpoints = mesh_kpoints(tuple(settings["kpts_size"]), (0.0, 0.0, 0.0), True, symmetry)
    found = Calculation(structure, kpoints, parameters, {"Si": data}).run()
    assert found.state.converged
    return {"energy": found.state.energies.free * HARTREE_EV, "level_kn": found.state.eig_skn[0].numpy() * HARTREE_EV}


def compare(case: dict[str, Any]) -> dict[str, Any]:
    """Ours beside theirs; points of one star may stand for each other, so levels are matched by the nearest lists."""
    ours, results = solve(case), case["results"]
    theirs_kn, level_kn = np.array(results["eigenvalues_eV"])[0], ours["level_kn"]
    aligned = [x_kn[:, :BANDS] - x_kn[:, FILLED - 1].max() for x_kn in (level_kn, theirs_kn)]
    apart_k = [float(np.abs(aligned[1] - own_n).max(1).min()) for own_n in aligned[0]]
    gaps = [float(x_kn[:, FILLED].min() - x_kn[:, FILLED - 1].max()) for x_kn in (level_kn, theirs_kn)]
    return {
        "gap_eV": gaps[0], "reference_gap_eV": gaps[1], "gap_difference_meV": 1e3 * (gaps[0] - gaps[1]),
        "largest_band_difference_meV": 1e3 * max(apart_k), "energy_eV": ours["energy"],
        "reference_energy_eV": results["free_energy_eV"],
    }  # fmt: skip


def main() -> None:
    """All runs, and their table."""
    cases = {case["label"]: case for case in json.loads(REFERENCE.read_text())["runs"]}
    table = {}
    for label, case in cases.items():
        table[label] = compare(case)
        print(label, table[label], flush=True)
    about = {"eigenwerk": __version__, "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "runs": table}
    (HERE / "reference_si.json").write_text(json.dumps(about, indent=1) + "\n")
    lines = [
        f"# HSE06 of silicon beside GPAW, mesh by mesh ({about['date']}, eigenwerk {__version__})", "",
        "| run | gap eV | GPAW | difference meV | bands to 6, largest difference meV |", "|---|---|---|---|---|",
        *(f"| {label} | {row['gap_eV']:.4f} | {row['reference_gap_eV']:.4f} | {row['gap_difference_meV']:.2f} | "
          f"{row['largest_band_difference_meV']:.2f} |" for label, row in table.items()), "",
        "| energy difference | eV per atom | GPAW | difference meV per atom |", "|---|---|---|---|",
    ]  # fmt: skip
    steps = [("HSE06_k2_ecut300", "HSE06_k2_ecut400"), ("HSE06_k2_ecut400", "HSE06_k3_ecut400"),
             ("HSE06_k3_ecut400", "HSE06_k4_ecut400")]  # fmt: skip
    for first, last in steps:
        pair = [table[f"{name}/default"] for name in (first, last)]
        own, other = ((pair[1][key] - pair[0][key]) / 2 for key in ("energy_eV", "reference_energy_eV"))
        lines.append(f"| {first} to {last} | {own:.5f} | {other:.5f} | {1e3 * (own - other):.2f} |")
    (HERE / "reference_si.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
