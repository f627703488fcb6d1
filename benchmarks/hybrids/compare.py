"""Hybrids beside GPAW on the same data sets: energies, levels, gaps and forces of the cases of gpaw.json.

    OMP_NUM_THREADS=1 python benchmarks/hybrids/compare.py [case ...] [--table]   compare.json and .md beside itself

Cases with whole products in GPAW ("full") stand beside PRECFOCK = Normal, the default, and Accurate.  The others, where
GPAW keeps pair densities up to the cutoff of the orbitals, stand beside Low, which does so, too.  1/r ends at the
Wigner-Seitz cell here, as in GPAW; HSE06 has all exchange by the hole of PBE (PE-HOLE).
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

import numpy as np

from eigenwerk import __version__
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.functionals.hybrid import HARTREE_FOCK, Hybrid
from eigenwerk.io.paw.paw_library import choose_dataset
from eigenwerk.io.paw.paw_xml import read_paw_xml
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
    ours_kc, atoms = calculation.kpoints.point_kc, len(calculation.structure.symbols)
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
        "free_eV_per_atom": found.state.energies.free * HARTREE_EV / atoms,
    }  # fmt: skip
    answer["free_difference_meV_per_atom"] = 1e3 * (answer["free_eV_per_atom"] - results["free_energy_eV"] / atoms)
    filled = round(calculation.parameters.electrons / 2)
    if calculation.parameters.spins == 1 and max(case["settings"]["kpts_size"]) > 1:
        gaps = [float(x[..., filled].min() - x[..., filled - 1].max()) for x in (level_skn, theirs_skn)]
        if min(gaps) > 0:  # no metal
            answer |= {"gap_eV": gaps[0], "gap_difference_meV": 1e3 * (gaps[0] - gaps[1])}
    # GPAW's forces are no reference with spin and other fractions: see run_gpaw.py
    if case["settings"]["xc"] in ("PBE0", "HSE06") and calculation.parameters.spins == 1:
        change_av = found.forces_av * FORCE_EV_PER_ANGSTROM - np.array(results["forces_eV_per_A"])
        answer["largest_force_difference_meV_per_A"] = 1e3 * float(np.abs(change_av).max())
    return answer


def precisions(case) -> tuple[str, ...]:
    """Values of PRECFOCK that stand beside a case."""
    return ("Normal", "Accurate") if case["settings"].get("whole_products") else ("Low",)


COLUMNS = {
    # column: key, digits
    "gap eV": ("gap_eV", 3), "gap, meV": ("gap_difference_meV", 1), "levels, meV": ("largest_level_difference_meV", 1),
    "exchange, meV": ("valence_exchange_difference_meV", 2), "energy, meV/atom": ("free_difference_meV_per_atom", 2),
    "forces, meV/Å": ("largest_force_difference_meV_per_A", 2), "applications": ("applications", 0),
    "steps": ("steps", 0), "s": ("seconds", 0),
}  # fmt: skip


def page(table, cases) -> str:
    """compare.md: a row for each case and PRECFOCK."""
    lines = [
        "# Hybrids beside GPAW", "",
        "Made by `compare.py` of `gpaw.json`; ours less GPAW's: band gap, largest difference of a level (as they are, "
        "not aligned), exact exchange of valence electrons, free energy against atoms, the same less that of the "
        "`base` cell or atom, largest component of forces (where GPAW's are derivatives of its energy, see "
        "`run_gpaw.py`).  Energies of HSE06 differ by a constant per atom, for they count from atoms in different "
        "functionals: the difference to the base is what can be compared.  In cases named full GPAW keeps pair "
        "densities whole; in the others it cuts them, Gaussians of compensation charges included, at the sphere of the "
        "orbitals, and what that costs stands in these rows: `PRECFOCK = Low` has the same sphere, but charges that "
        "fit it.", "",
        f"eigenwerk {table['eigenwerk']}, {table['date']}, {table['machine']}.", "",
        "| case | PRECFOCK | " + " | ".join(COLUMNS) + " | base | to base, meV/atom |",
        "|---" * (len(COLUMNS) + 4) + "|",
    ]  # fmt: skip
    for name, by_precision in sorted(table["cases"].items(), key=lambda one: ("_full" not in one[0], one[0])):
        for precision, found in by_precision.items():
            cells = [f"{found[key]:.{digits}f}" if key in found else "" for key, digits in COLUMNS.values()]
            base, key = cases[name].get("base"), "free_difference_meV_per_atom"
            other = table["cases"].get(base, {}).get(precision)
            change = f"{base} | {found[key] - other[key]:.2f}" if other else " | "
            lines.append(f"| {name} | {precision} | " + " | ".join(cells) + f" | {change} |")
            assert found["converged"], f"{name}, {precision}: not converged"
    return "\n".join([*lines, ""])


def main() -> None:
    """All cases, or those named; results are added to compare.json."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--table", action="store_true", help="compare.md alone, of the results that exist")
    given, cases = parser.parse_args(), json.loads((HERE / "gpaw.json").read_text())
    wanted = given.cases or [name for name, case in cases.items() if case["settings"]["xc"] in HYBRIDS]
    target = HERE / "compare.json"
    table = json.loads(target.read_text()) if target.is_file() else {"cases": {}}
    for name in () if given.table else wanted:
        table["machine"] = f"{platform.machine()}, {os.cpu_count()} cores, shared with other work"
        table["eigenwerk"], table["date"] = __version__, time.strftime("%Y-%m-%d")
        table["cases"][name] = {precision: row(cases[name], precision) for precision in precisions(cases[name])}
        print(name, json.dumps(table["cases"][name], indent=1), flush=True)
        target.write_text(json.dumps(table, indent=1) + "\n")
    target.with_suffix(".md").write_text(page(table, cases), encoding="utf-8")


if __name__ == "__main__":
    main()
