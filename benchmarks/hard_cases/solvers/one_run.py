"""One folder to self-consistency on one thread; prints a line of JSON: python one_run.py FOLDER."""

import json
import sys
import time

import torch

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.scf import bands
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.units import HARTREE_EV


class BandsClock:
    """Processor seconds in `solve_bands`."""

    def __init__(self) -> None:
        self.seconds, self.solve = 0.0, bands.solve_bands

    def __call__(self, *args, **kwargs):
        """`solve_bands`, timed."""
        started = time.process_time()
        found = self.solve(*args, **kwargs)
        self.seconds += time.process_time() - started
        return found


def main() -> None:
    """Command line."""
    torch.set_num_threads(1)
    inputs = read_inputs(sys.argv[1])
    inputs.raise_on_errors()
    datasets = {symbol: read_paw_xml(path) for symbol, path in inputs.datasets.items()}
    calculation = Calculation(inputs.structure, inputs.kpoints, inputs.parameters, datasets)
    bands.solve_bands = clock = BandsClock()
    started = time.process_time()
    state = calculation.run().state
    history = state.history
    print(json.dumps({
        "energy": state.energies.free * HARTREE_EV, "converged": state.converged, "steps": len(history),
        "applications": sum(step.applications for step in history), "seconds": time.process_time() - started,
        "bands_seconds": clock.seconds, "residual": history[-1].orbital_residual * HARTREE_EV,
        "bands": inputs.parameters.bands, "kpoints": len(inputs.kpoints.point_kc),
        "plane_waves": calculation.basis.mask_kG.shape[1], "real": calculation.basis.form.real,
        "solvers": [step.solver for step in history], "events": list(state.events),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
