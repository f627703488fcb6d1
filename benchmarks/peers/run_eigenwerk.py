"""One cell with eigenwerk: python run_eigenwerk.py CELL EDIFF_EV THREADS OUT.json [single]."""

import json
import sys
import time
from pathlib import Path

_PROCESS = time.perf_counter()

sys.path.insert(0, str(Path(__file__).parent))
from eigenwerk.parallel.launch.own_process import prepare_process, quick_imports  # noqa: E402

prepare_process()  # and PyTorch, as `eigenwerk run` has them
with quick_imports():
    import numpy as np
    import torch
    from cases import Cell, named

    import eigenwerk
    from eigenwerk.dft.calculation import Calculation
    from eigenwerk.dft.crystal.kpoints import mesh_kpoints
    from eigenwerk.dft.crystal.structure import Structure
    from eigenwerk.dft.crystal.symmetry import find_symmetry
    from eigenwerk.dft.scf.cycle import RESIDUAL_SQUARE
    from eigenwerk.dft.scf.state import ScfStep
    from eigenwerk.dft.settings.parameters import Parameters
    from eigenwerk.io.paw.paw_library import choose_dataset
    from eigenwerk.io.paw.paw_xml import read_paw_xml
    from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

_IMPORTED = time.perf_counter()


def build(cell: Cell, tolerance_eV: float, single: bool = False) -> Calculation:
    """The calculation of a cell; single: its first steps in single precision."""
    moment_a = None if cell.moments is None else np.array(cell.moments)
    structure = Structure(np.array(cell.cell) / BOHR_ANGSTROM, cell.symbols, np.array(cell.scaled), moment_a)
    symmetry = find_symmetry(structure, 1e-5 / BOHR_ANGSTROM, 2)
    kpoints = mesh_kpoints(cell.mesh, (0.0, 0.0, 0.0), True, symmetry)
    datasets = {symbol: read_paw_xml(choose_dataset(symbol)) for symbol in structure.species}
    electrons = sum(datasets[symbol].valence for symbol in cell.symbols)
    fine = (2 * cell.gpts[0], 2 * cell.gpts[1], 2 * cell.gpts[2])
    parameters = Parameters(
        cutoff=cell.cutoff / HARTREE_EV, electrons=float(electrons), bands=cell.bands, wave_grid=cell.gpts,
        fine_grid=fine, spins=1 if cell.moments is None else 2, ismear=-1, width=cell.width / HARTREE_EV,
        energy_tolerance=tolerance_eV / HARTREE_EV, max_steps=100, start_single=single,
    )  # fmt: skip
    return Calculation(structure, kpoints, parameters, datasets)


def met_by(step: ScfStep, electrons: float) -> float:
    """The smallest EDIFF, eV, with which the loop would end after this step."""
    return max(abs(step.change), step.residual**2 / (electrons * RESIDUAL_SQUARE)) * HARTREE_EV


def main() -> None:
    """Command line."""
    name, tolerance, threads, out = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    code = "single" if "single" in sys.argv[5:] else "eigenwerk"
    torch.set_num_threads(threads)
    started = time.perf_counter()
    calculation = build(named(name), tolerance, code == "single")
    ground = calculation.run()
    seconds = time.perf_counter() - started
    state, basis = ground.state, calculation.basis
    out.write_text(json.dumps({
        "code": code, "version": eigenwerk.__version__, "torch": torch.__version__, "cell": name,
        "energy_eV": state.energies.free * HARTREE_EV, "steps": len(state.history), "converged": state.converged,
        "seconds": seconds, "import_seconds": _IMPORTED - _PROCESS,
        "applications": sum(step.applications for step in state.history),
        "kpoints": len(basis.count_k), "plane_waves": sum(basis.count_k) / len(basis.count_k),
        "padded_plane_waves": basis.mask_kG.shape[1], "wave_grid": basis.grids.wave, "fine_grid": basis.grids.fine,
        "projectors": calculation.atoms.layout.projector_count, "bands": calculation.parameters.bands,
        "spins": calculation.parameters.spins, "real": basis.form.real,
        "force_eV_A": float(abs(ground.forces_av).max()) * HARTREE_EV / BOHR_ANGSTROM,
        "criterion": [met_by(step, calculation.parameters.electrons) for step in state.history],
        "moment": state.history[-1].moment, "history_eV": [step.energies.free * HARTREE_EV for step in state.history],
        "trace": calculation.runtime.trace.as_dict(),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
