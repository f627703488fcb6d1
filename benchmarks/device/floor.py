"""What a step on one GPU takes, by phase, beside the least that arithmetic and memory of an H200 allow.

    python benchmarks/device/floor.py steps_split --folders hfo2_96 gaasbi_64 pdo4 si512 [--ranks 1]
    python benchmarks/device/floor.py full_runs --folders build/jobs/ceo2_108 build/jobs/ausurf112

reads a list of results.json, records of steps.py (means per step) or full_runs.py (whole runs, divided by their
steps), and prints a table for each; jobs of benchmarks/jobs are made.  For a applications of H to single orbitals in a
step, all k-points and spins together, n bands, N points of the wave grid, G plane waves, I projectors, a floor is

    local         2 a FFT(N), three passes through memory each; half for real orbitals, two of which share a grid
    projectors    16 a I G FLOP: two products; a quarter for real orbitals
    rest of bands a Rayleigh-Ritz step for each k-point, 40 n² G FLOP (a quarter for real orbitals), and four passes
                  over the orbitals for each application: x, A x, the new direction and its image
    dense         one eigenproblem of n for each k-point and spin: its reduction to tridiagonal form reads what is left
                  of the matrix once for each column, n³/3 numbers, and all of it takes 40 n³ FLOP (10 n³ for real ones)
    density       FFT(N) for each filled band; their projections are known
    potential     real FFTs of the fine grid, 12 for each spin, and 20 passes over its fields; mixing the same passes

at 4.28 TB/s, 56 TFLOP/s; launches and everything of the host are no part of it.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.plan.job_size import JobSize
from eigenwerk.dft.plan.machine import H200

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from entries import load
from vasp_folders import folder_or_job

GEMM = 56e12
FIELD_PASSES, FIELD_FFTS, VECTOR_PASSES = 20, 12, 4
ROWS = ("local", "projectors", "rest of bands", "dense", "density", "potential and mixing")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", metavar="NAME")
    parser.add_argument("--json", type=Path, default=Path(__file__).resolve().parent / "results.json", metavar="FILE")
    parser.add_argument("--folders", type=folder_or_job, nargs="+", required=True, metavar="FOLDER or JOB")
    parser.add_argument("--ranks", type=int, default=1)
    given = parser.parse_args()
    folders = {folder.name: folder for folder in given.folders}
    for record in load(given.json)[given.records]:
        if "phases" not in record and "phases_per_step" not in record:  # a command, of which only its length is known
            continue
        if record["job"] in folders and record.get("ranks", 1) == given.ranks:
            print(table(record, size_of(folders[record["job"]], record), given.ranks))


def size_of(folder: Path, record: dict) -> JobSize:
    """Sizes of the input, with those that the run itself tells."""
    size = read_inputs(folder, "/nowhere").size
    return replace(size, bands=record.get("bands", size.bands), plane_waves=record.get("plane_waves", size.plane_waves))


def floors(size: JobSize, applied: float) -> dict[str, float]:
    """Seconds of a step on one GPU."""
    quarter, half = (0.25, 0.5) if size.real else (1.0, 1.0)
    points, n, waves = size.kpoints * size.spins, size.bands, size.plane_waves
    fft, vector = 3 * 32 * size.wave_points / H200.copy, size.number_bytes * waves / H200.copy
    field = 16 * size.fine_points * size.spins / H200.copy
    dense = points * (size.number_bytes * n**3 / 3 / H200.copy + 40 * n**3 * quarter / GEMM)
    return {
        "local": 2 * applied * fft * half,
        "projectors": 16 * applied * size.projectors * waves * quarter / GEMM,
        "rest of bands": 40 * points * n**2 * waves * quarter / GEMM + VECTOR_PASSES * applied * vector,
        "dense": dense,
        "density": points * size.filled * fft * half,
        "potential and mixing": field * (3 * FIELD_FFTS / 2 + FIELD_PASSES),
    }


def measured(record: dict) -> tuple[dict[str, float], float]:
    """Seconds of the phases, and of all, in a step."""
    if "phases_per_step" in record:
        found = {name: phase["device"] for name, phase in record["phases_per_step"].items()}
        total = record["seconds_per_step"]
    else:
        found = dict(_flat(record["phases"], 1 / record["steps"]))
        total = sum(record["seconds_of_steps"][1:]) / (record["steps"] - 1)
    parts = {name: found.get(f"bands / {inner}", 0.0) for name, inner in
             (("local", "local"), ("projectors", "projectors"), ("dense", "dense eigenproblems"))}  # fmt: skip
    return {
        **parts, "rest of bands": found["bands"] - sum(parts.values()), "density": found["density"],
        "potential and mixing": found["potential"] + found["mixing"],
    }, total  # fmt: skip


def _flat(phases: dict | list, share: float, path: str = "") -> list[tuple[str, float]]:
    """(name with those above it, device seconds times the share) of all phases."""
    found = []
    for phase in phases.values() if isinstance(phases, dict) else phases:
        name = f"{path}{phase['name']}"
        found.append((name, (phase.get("device_seconds") or phase["seconds"]) * share))
        found += _flat(phase["children"], share, f"{name} / ")
    return found


def table(record: dict, size: JobSize, ranks: int) -> str:
    """Lines of Markdown."""
    applied = record.get("applications_per_step") or record["applications"] / record["steps"]
    least = {name: seconds / ranks for name, seconds in floors(size, applied).items()}
    took, total = measured(record)
    kind = "real" if size.real else "complex"
    lines = [
        f"`{record['job']}` {record.get('kind', '')}: {total:.3f} s per step, floor {sum(least.values()):.3f} s, "
        f"{100 * sum(least.values()) / total:.0f} %; {size.bands} bands, {size.plane_waves} plane waves, "
        f"{size.kpoints} k-points, {kind}, {applied / size.bands / size.kpoints / size.spins:.2f} H per band",
        "", "| phase | s | floor | % of floor |", "|---|---|---|---|",
    ]  # fmt: skip
    for name in ROWS:
        share = f"{100 * least[name] / took[name]:.0f}" if took[name] > 0 else ""
        lines.append(f"| {name} | {took[name]:.4f} | {least[name]:.4f} | {share} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
