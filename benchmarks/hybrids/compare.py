"""Hybrids beside GPAW on the same data sets: energies, levels, gaps and forces of the cases of gpaw.json.

    python benchmarks/hybrids/compare.py [case ...]     writes compare.json beside itself

GPAW keeps pair densities up to the cutoff of the orbitals, as PRECFOCK = Low does here; each case is done with it and
with Normal, the default.  1/r ends at the Wigner-Seitz cell here, as in GPAW; HSE06 has all exchange by the hole of PBE
(PE-HOLE).
"""

import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np

from eigenwerk import __version__
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.parameters import Parameters
from eigenwerk.functionals.hybrid import HARTREE_FOCK, Hybrid
from eigenwerk.io.paw_library import choose_dataset
from eigenwerk.io.paw_xml import read_paw_xml
from eigenwerk.units import BOHR_ANGSTROM, FORCE_EV_PER_ANGSTROM, HARTREE_EV

HERE = Path(__file__).resolve().parent
HYBRIDS = {
    # xc of GPAW: functional, hybrid
    "PBE0": ("PE", Hybrid.of(0.25)), "EXX": ("PE", HARTREE_FOCK), "HSE06": ("PE-HOLE", Hybrid.of(0.25, 0.11)),
}  # fmt: skip


def solve(case, precision: str):
    """The ground state of a case; precision: PRECFOCK."""
    given, settings = case["structure"], case["settings"]
    moments = given.get("initial_magmoms")
    structure = Structure(
        np.array(given["cell_A"], float) / BOHR_ANGSTROM, tuple(given["symbols"]),
        np.array(given["scaled_positions"], float), None if moments is None else tuple(moments),
    )  # fmt: skip
    datasets = {symbol: read_paw_xml(choose_dataset(symbol, "PBE")) for symbol in structure.species}
    functional, hybrid = HYBRIDS[settings["xc"]]
    parameters = Parameters(
        cutoff=settings["ecut_eV"] / HARTREE_EV, bands=settings["nbands"],
        electrons=sum(datasets[symbol].valence for symbol in structure.symbols), precision="Accurate",
        functional=functional, hybrid=hybrid, exchange_range="Wigner-Seitz", spins=1 if moments is None else 2,
        ismear=-1, width=settings["occupations"]["width"] / HARTREE_EV, energy_tolerance=1e-5 / HARTREE_EV,
        stress=False, pair_precision=precision,
    )  # fmt: skip
    symmetry = find_symmetry(structure, 1e-5 / BOHR_ANGSTROM, 2)
    kpoints = mesh_kpoints(tuple(settings["kpts_size"]), (0.0, 0.0, 0.0), True, symmetry)
    calculation = Calculation(structure, kpoints, parameters, datasets)
    started = time.perf_counter()
    found = calculation.run()
    return calculation, found, time.perf_counter() - started


def row(case, precision: str) -> dict[str, object]:
    """What is compared, in eV and Å; ours less GPAW's, levels at the k-points that both have."""
    calculation, found, seconds = solve(case, precision)
    results, bands = case["results"], case["settings"]["bands_to_compare"]
    terms, parts = found.state.energies.terms, results["energy_components_eV"]
    valence = (terms["exact exchange"] + terms["exact exchange in spheres"]) * HARTREE_EV
    ours_kc = calculation.kpoints.point_kc
    level_skn, theirs_skn = found.state.eig_skn.numpy() * HARTREE_EV, np.array(results["eigenvalues_eV"])
    # points of one star may stand for each other: levels by the nearest lists
    difference = max(
        float(np.abs(theirs_skn[:, :, :bands] - level_skn[:, k : k + 1, :bands]).max((0, 2)).min())
        for k in range(len(ours_kc))
    )
    answer: dict[str, object] = {
        "valence_exchange_eV": valence, "valence_exchange_difference_meV": 1e3 * (valence - parts["hybrid_xc_vv"]),
        "largest_level_difference_meV": 1e3 * difference, "applications": calculation.exchange.applications,
        "steps": len(found.state.history), "seconds": round(seconds, 1), "converged": found.state.converged,
        "absolute_free_eV": found.state.energies.absolute_free * HARTREE_EV,
    }  # fmt: skip
    if case["settings"]["xc"] != "HSE06":  # there the atoms that energies count from differ
        answer["free_difference_meV"] = 1e3 * (found.state.energies.free * HARTREE_EV - results["free_energy_eV"])
    filled = round(calculation.parameters.electrons / 2)
    if calculation.parameters.spins == 1 and max(case["settings"]["kpts_size"]) > 1:
        gaps = [x[..., filled].min() - x[..., filled - 1].max() for x in (level_skn, theirs_skn)]
        answer |= {"gap_eV": float(gaps[0]), "gap_difference_meV": 1e3 * float(gaps[0] - gaps[1])}
    if "forces_eV_per_A" in results:
        change_av = found.forces_av * FORCE_EV_PER_ANGSTROM - np.array(results["forces_eV_per_A"])
        answer["largest_force_difference_eV_per_A"] = float(np.abs(change_av).max())
    return answer


def main() -> None:
    """All cases, or those named; results are added to compare.json."""
    cases = json.loads((HERE / "gpaw.json").read_text())
    wanted = sys.argv[1:] or [name for name, case in cases.items() if case["settings"]["xc"] in HYBRIDS]
    target = HERE / "compare.json"
    table = json.loads(target.read_text()) if target.is_file() else {"cases": {}}
    table["machine"] = f"{platform.machine()}, {os.cpu_count()} cores, shared with other work"
    table["eigenwerk"], table["date"] = __version__, time.strftime("%Y-%m-%d")
    for name in wanted:
        table["cases"][name] = {}
        for precision in ("Normal", "Low"):
            table["cases"][name][f"PRECFOCK = {precision}"] = row(cases[name], precision)
        print(name, json.dumps(table["cases"][name], indent=1), flush=True)
        target.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
