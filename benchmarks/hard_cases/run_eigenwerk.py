"""One folder with eigenwerk: python run_eigenwerk.py FOLDER OUT.json [FIRST].

One thread; the files of the run are thrown away.  FIRST is a folder that is run before, and whose state FOLDER may
start from (ISTART = 1); the record is that of FOLDER alone.
"""

import json
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path
from typing import Any

import eigenwerk
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.run import run_inputs


def solved(folder: Path, first: Path | None = None) -> dict[str, Any]:
    """The way to self-consistency and its end; eV, Bohr magnetons, seconds of processor time."""
    started, began = time.process_time(), time.perf_counter()
    with tempfile.TemporaryDirectory() as output:
        if first is not None:
            run_inputs(read_inputs(first, output), output, threads=1)
        result = run_inputs(read_inputs(folder, output), output, threads=1)
    steps, moment_a = result.steps, result.moment_a
    return {
        "code": "eigenwerk", "version": eigenwerk.__version__, "converged": result.converged, "status": result.status,
        "energy": result.free_energy, "kpoints": len(result.weight_k), "moment": result.moment,
        "moments_of_atoms": None if moment_a is None else [round(float(moment), 3) for moment in moment_a],
        "steps": len(steps), "energies": [step.free_energy for step in steps],
        "applications": [*accumulate(step.applications for step in steps)],
        "residuals": [step.density_residual for step in steps], "moments": [step.moment for step in steps],
        "events": [f"step {step.step}: {event}" for step in steps for event in step.events],
        "warnings": list(result.warnings),
        "cpu_seconds": time.process_time() - started, "wall_seconds": time.perf_counter() - began,
    }  # fmt: skip


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(solved(*(Path(word) for word in (sys.argv[1], *sys.argv[3:])))))
