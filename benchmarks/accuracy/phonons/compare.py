"""Vibrations and elastic constants beside GPAW's: one mover, forces and stresses of both programs at the same points.

    python benchmarks/accuracy/phonons/compare.py [CELL ...]         ours, into results.json
    GPAW's python run_gpaw.py [CELL ...]                    GPAW's at the same arrangements
    python benchmarks/accuracy/phonons/compare.py --table            results.md from both
"""

import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1]), str(HERE.parents[1] / "accuracy")]
from cells import CELLS, ELASTIC, MASSES, STEP, VIBRATIONS, moved  # noqa: E402
from entries import changing, load  # noqa: E402
from our_run import BOHR, HARTREE, make_calculation, make_structure  # noqa: E402

from eigenwerk.dft.crystal.symmetry import find_symmetry  # noqa: E402
from eigenwerk.motion.mover import drive  # noqa: E402
from eigenwerk.motion.surface import Arrangement, SurfacePoint  # noqa: E402
from eigenwerk.motion.vibrations.operations import Operations  # noqa: E402
from eigenwerk.motion.vibrations.vibrations import VibrationSettings, vibrations  # noqa: E402
from eigenwerk.units import THZ_PER_CM  # noqa: E402

RESULTS = HERE / "results.json"


def mover_of(name):
    """The mover of a cell."""
    structure, settings = CELLS[name]["structure"], CELLS[name]["settings"]
    symmetry = find_symmetry(make_structure(structure, settings), 1e-5 / BOHR, 2)
    start = Arrangement(np.array(structure["cell_A"]), np.array(structure["scaled_positions"]))
    masses_a = np.array([MASSES[symbol] for symbol in structure["symbols"]])
    asked = VibrationSettings(STEP, strains=name in ELASTIC)
    operations = Operations.of(symmetry.rotation_occ, symmetry.atom_map_oa)
    return vibrations(asked, start, masses_a, None, operations)


def run(name):
    """Our points, each from atoms."""
    points, mover, started = [], mover_of(name), time.perf_counter()

    def surface(arrangement):
        case = moved(name, arrangement.lattice_cv, arrangement.scaled_ac)
        calculation = make_calculation(case["structure"], case["settings"])
        ground = calculation.run()
        assert ground.state.converged
        stress_vv = ground.stress_vv * HARTREE / BOHR**3
        point = SurfacePoint(
            arrangement, ground.state.energies.free * HARTREE, ground.forces_av * HARTREE / BOHR, stress_vv
        )
        points.append(
            {"cell_A": arrangement.lattice_cv.tolist(), "scaled_positions": arrangement.scaled_ac.tolist(),
             "forces": point.forces_av.tolist(), "stress": stress_vv.tolist()}
        )  # fmt: skip
        print(name, mover.status, f"{time.perf_counter() - started:.0f} s", flush=True)
        return point

    drive(mover, surface)
    return {"points": points, "steps": [step.name for step in mover.steps]}


def result(name, points):
    """What the mover makes of points that are known."""
    mover = mover_of(name)
    table = iter(points)

    def surface(arrangement):
        point = next(table)
        assert np.allclose(point["scaled_positions"], arrangement.scaled_ac, atol=1e-12)
        return SurfacePoint(arrangement, 0.0, np.array(point["forces"]), np.array(point["stress"]))

    drive(mover, surface)
    return mover.result


def described(name):
    """A cell with its settings."""
    settings = CELLS[name]["settings"]
    return f"{name}: {settings['ecut_eV']} eV, {'×'.join(map(str, settings['kpts_size']))}"


def report(entries):
    """Both tables."""
    both = [name for name, entry in entries.items() if "ours" in entry and "gpaw" in entry]
    results = {name: [result(name, entries[name][who]["points"]) for who in ("ours", "gpaw")] for name in both}
    lines = [
        "# Vibrations and elastic constants beside GPAW's", "",
        "Made by `benchmarks/accuracy/phonons/compare.py`: PBE, the same data sets, cutoffs, meshes, "
        "displaced atoms and",
        f"strained cells ({STEP} Å, {STEP}), central differences, only inequivalent ones. GPAW 26.7 with the density",
        "sphere and splines of benchmarks/accuracy. The points of each code go through the same mover.", "",
        "## Frequencies", "",
        "Eight atoms behind each other along [001]: q = 0, 1/2 and 1 of Γ-X together, without LO-TO splitting.",
        "Acoustic: the largest of three frequencies at q = 0 before the sum rule, and after it; negative: imaginary.",
        "",
        "| cell | highest (cm⁻¹) | GPAW's | largest difference of 24 | acoustic, raw | GPAW's | after the sum rule |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name in (name for name in both if name in VIBRATIONS):
        ours, theirs = (found.modes for found in results[name])
        raw = [max(modes.acoustic_thz_y, key=abs) * THZ_PER_CM for modes in (ours, theirs)]
        lines.append(
            f"| {described(name)} | {ours.per_cm_n[0]:.2f} | {theirs.per_cm_n[0]:.2f} | "
            f"{np.abs(ours.per_cm_n - theirs.per_cm_n).max():.2f} | {raw[0]:.2f} | {raw[1]:.2f} | "
            f"{np.sort(np.abs(ours.per_cm_n))[2]:.4f} |"
        )
    lines += ["", "All of them, cm⁻¹, ours and GPAW's:", ""]
    for name in (name for name in both if name in VIBRATIONS):
        ours, theirs = (found.modes.per_cm_n[:-3] for found in results[name])
        lines.append(f"- {name}: " + ", ".join(f"{x:.2f} {y:.2f}" for x, y in zip(ours, theirs, strict=True)))
    lines += [
        "", "## Elastic constants", "", "GPa, ions relaxed; in brackets C44 of clamped ions.", "",
        "| cell | | C11 | C12 | C44 | bulk | shear (Hill) |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name in (name for name in both if name in ELASTIC):
        for who, found in zip(("eigenwerk", "GPAW"), results[name], strict=True):
            tensor, moduli = found.elastic, found.elastic.moduli
            lines.append(
                f"| {described(name)} | {who} | {tensor.total_jj[0, 0]:.2f} | {tensor.total_jj[0, 1]:.2f} | "
                f"{tensor.total_jj[3, 3]:.2f} ({tensor.clamped_jj[3, 3]:.2f}) | "
                + (f"{moduli.bulk:.2f} | {moduli.shear:.2f} |" if moduli else "| unstable |")
            )
        numbers = [found.elastic.total_jj[(0, 0, 3), (0, 1, 3)] for found in results[name]]
        parts = [f"{(x / y - 1) * 100:+.2f} %" for x, y in zip(*numbers, strict=True)]
        lines.append(f"| | difference | {' | '.join(parts)} | | |")
    return "\n".join(lines) + "\n"


def main():
    for name in [name for name in sys.argv[1:] if name != "--table"] or ([] if "--table" in sys.argv else CELLS):
        found = run(name)
        with changing(RESULTS) as entries:
            entries[name] = {"ours": found}
    (HERE / "results.md").write_text(report(load(RESULTS)))


if __name__ == "__main__":
    main()
