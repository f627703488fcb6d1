"""Stresses of eigenwerk beside GPAW's, beside differences of energies, with and without symmetry.

    python benchmarks/accuracy/stress/compare.py [CELL ...]        (default: all that run_gpaw.py has found)

Differences: of the free energy by the volume at the strained plane waves, which is what the stress is the derivative
of.  To results.json and results.md.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "accuracy")]
from cells import CELLS  # noqa: E402
from entries import changing, load  # noqa: E402
from our_run import BOHR, HARTREE, make_calculation  # noqa: E402

from eigenwerk.dft.crystal.kpoints import NO_SHIFT, mesh_kpoints  # noqa: E402
from eigenwerk.dft.crystal.symmetry import find_symmetry  # noqa: E402

RESULTS = HERE / "results.json"
GPA = 160.21766208
"""Of one eV/Å³."""


def stress_of(calculation):
    """(v, v) in GPa, the free energy in eV, and the share of the stress in a step of self-consistency."""
    ground = calculation.run()
    assert ground.state.converged
    began = time.perf_counter()
    calculation.derived.stress(ground.state)
    share = (time.perf_counter() - began) / float(np.median([step.seconds for step in ground.state.history]))
    return ground.stress_vv * HARTREE / BOHR**3 * GPA, ground.state.energies.free * HARTREE, share


def run(name):
    """Stress with symmetry and without."""
    case, started = CELLS[name], time.perf_counter()
    calculation = make_calculation(case["structure"], case["settings"])
    stress_vv, free, share = stress_of(calculation)
    plain = make_calculation(case["structure"], case["settings"])
    none = find_symmetry(plain.structure, 1e-5 / BOHR, 0)
    plain = replace(plain, kpoints=mesh_kpoints(plain.kpoints.mesh, NO_SHIFT, True, none))
    other_vv, other_free, _ = stress_of(plain)
    return {
        "stress_GPa": stress_vv.tolist(), "free_energy_eV": free, "share_of_a_step": share,
        "without_symmetry_GPa": float(np.abs(other_vv - stress_vv).max()),
        "without_symmetry_eV": other_free - free, "seconds": time.perf_counter() - started,
    }  # fmt: skip


def report(entries):
    """The table."""
    lines = [
        "# Stresses beside GPAW's", "",
        "GPa. GPAW 26.7 with the density sphere and splines of benchmarks/accuracy; the same data sets, cutoff, mesh.",
        "ISYM = 0: the largest difference of any component between a run with all operations and one with none but",
        "time reversal. Cost: of the stress, in steps of self-consistency (median).", "",
        "| cell | pressure | GPAW's | difference | largest of any component | ISYM = 0 | cost, steps |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, entry in entries.items():
        if "ours" not in entry or "gpaw" not in entry:
            continue
        ours_vv, theirs_vv = (np.array(entry[who]["stress_GPa"]) for who in ("ours", "gpaw"))
        pressures = [-np.trace(stress_vv) / 3 for stress_vv in (ours_vv, theirs_vv)]
        lines.append(
            f"| {name} | {pressures[0]:.3f} | {pressures[1]:.3f} | {pressures[0] - pressures[1]:+.3f} | "
            f"{np.abs(ours_vv - theirs_vv).max():.3f} | {entry['ours']['without_symmetry_GPa']:.5f} | "
            f"{entry['ours']['share_of_a_step']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def main():
    for name in sys.argv[1:] or [name for name in load(RESULTS) if name in CELLS]:
        found = run(name)
        with changing(RESULTS) as entries:
            entries.setdefault(name, {})["ours"] = found
        print(name, found, flush=True)
        (HERE / "results.md").write_text(report(load(RESULTS)))


if __name__ == "__main__":
    main()
