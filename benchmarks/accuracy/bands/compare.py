"""Bands of eigenwerk and of GPAW at points of paths, on the same data sets, cutoff and mesh.

    python benchmarks/accuracy/bands/compare.py [CASE ...]        (default: all that run_gpaw.py has found)

Each case is made self-consistent, then its bands are found in the converged potential, to results.json and results.md.
Both programs have the same zero of energy: levels are compared as they are.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "accuracy"), str(HERE.parents[1] / "accuracy" / "oracle")]
from cases import CASES  # noqa: E402
from entries import changing, load  # noqa: E402
from our_run import HARTREE, make_calculation  # noqa: E402
from points import PATHS, compared  # noqa: E402

from eigenwerk.dft.after.fixed_potential import bands_at  # noqa: E402
from eigenwerk.dft.crystal.kpoints import explicit  # noqa: E402

RESULTS = HERE / "results.json"

WIDEST_OF_GAPS = 0.05
"""Insulators are run with a smearing below this, eV."""


def run(name):
    """Eigenvalues at the points, (s, k, n) in eV, and what they cost."""
    case, started = CASES[name], time.perf_counter()
    calculation = make_calculation(case["structure"], case["settings"])
    state = calculation.run().state
    points = explicit(np.array(PATHS[name], dtype=float), np.ones(len(PATHS[name])), calculation.kpoints.symmetry)
    wanted = compared(name, case["settings"])
    more = replace(calculation.parameters, bands=max(wanted, calculation.parameters.bands))
    bands = bands_at(replace(calculation, parameters=more), state.density, points)
    return {
        "free_energy_eV": state.energies.free * HARTREE, "fermi_level_eV": state.occupations.fermi_level * HARTREE,
        "eigenvalues_eV": (bands.eig_skn[..., :wanted] * HARTREE).tolist(), "converged": bands.converged,
        "residual_eV": bands.residual * HARTREE, "applications": bands.applications,
        "seconds": time.perf_counter() - started,
    }  # fmt: skip


def row(name, ours, theirs):
    """One line of the table."""
    difference_skn = np.array(ours["eigenvalues_eV"]) - np.array(theirs["eigenvalues_eV"])
    spins, points, bands = difference_skn.shape
    filled_skn = np.array(theirs["eigenvalues_eV"]) < ours["fermi_level_eV"]
    worst = [1e3 * np.abs(difference_skn[chosen]).max() for chosen in (filled_skn, ~filled_skn)]
    # anywhere in a gap a level is as good as another
    metal = CASES[name]["settings"]["occupations"]["width"] > WIDEST_OF_GAPS
    fermi = f"{1e3 * (ours['fermi_level_eV'] - theirs['fermi_level_eV']):+.2f}" if metal else "–"
    mean = 1e3 * np.abs(difference_skn).mean()
    return (
        f"| {name} | {spins} | {points} | {bands} | {worst[0]:.2f} | {worst[1]:.2f} | {mean:.2f} | {fermi} | "
        f"{ours['residual_eV']:.0e} |"
    )


def main():
    for name in sys.argv[1:] or [name for name in PATHS if f"{name} gpaw" in load(RESULTS)]:
        if f"{name} ours" not in load(RESULTS) or sys.argv[1:]:
            found = run(name)
            with changing(RESULTS) as stored:
                stored[f"{name} ours"] = found
    stored = load(RESULTS)
    lines = [
        "# Bands along paths against GPAW", "",
        "Written by `benchmarks/accuracy/bands/compare.py`. GPAW 26.7 in plane-wave mode on the same data "
        "sets, cutoff and",
        "mesh, with its short cuts taken out (`benchmarks/accuracy/oracle/full_gpaw.py`), its bands in its density.",
        "Differences in meV of single levels, as they are: no zero is shifted. The last column is the largest residual",
        "of our orbitals in eV.", "",
        "| case | spins | points | bands | largest, filled | largest, empty | mean | Fermi level | residual |",
        "|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    both = [name for name in PATHS if f"{name} gpaw" in stored and f"{name} ours" in stored]
    lines += [row(name, stored[f"{name} ours"], stored[f"{name} gpaw"]) for name in both]
    (HERE / "results.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[7:]))


if __name__ == "__main__":
    main()
