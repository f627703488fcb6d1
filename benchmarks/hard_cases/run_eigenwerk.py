"""One folder with eigenwerk: python run_eigenwerk.py FOLDER OUT.json.

One thread; the files of the run are thrown away.
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
from eigenwerk.dft.run.run import run_inputs


def solved(folder: Path) -> dict[str, Any]:
    """The way to self-consistency and its end; eV, Bohr magnetons, seconds of processor time."""
    started, began = time.process_time(), time.perf_counter()
    with tempfile.TemporaryDirectory() as output:
        result = run_inputs(read_inputs(folder, output), output, threads=1)
    steps = result.steps
    return {
        "code": "eigenwerk", "version": eigenwerk.__version__, "converged": result.converged, "status": result.status,
        "energy": result.free_energy, "kpoints": len(result.weight_k), "moment": result.moment, "steps": len(steps),
        "energies": [step.free_energy for step in steps],
        "applications": [*accumulate(step.applications for step in steps)],
        "residuals": [step.density_residual for step in steps], "moments": [step.moment for step in steps],
        "events": [f"step {step.step}: {event}" for step in steps for event in step.events],
        "cpu_seconds": time.process_time() - started, "wall_seconds": time.perf_counter() - began,
    }  # fmt: skip


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(solved(Path(sys.argv[1]))))
