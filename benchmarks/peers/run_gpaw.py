"""One cell with GPAW (its own Python): python run_gpaw.py CELL ENERGY_TOLERANCE OUT.json.

The tolerance is GPAW's `convergence['energy']` in eV per electron; density and eigenstates do not stop the run, so
that the energy alone decides, as it does in the other code.
"""

import json
import sys
import time
from pathlib import Path

_PROCESS = time.perf_counter()

import gpaw  # noqa: E402
import numpy as np  # noqa: E402
from ase import Atoms  # noqa: E402
from gpaw import GPAW, PW, FermiDirac  # noqa: E402
from gpaw.mpi import world  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from cases import named  # noqa: E402

_IMPORTED = time.perf_counter()


def main() -> None:
    """Command line."""
    name, tolerance, out = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    cell = named(name)
    started = time.perf_counter()
    atoms = Atoms(cell.symbols, scaled_positions=cell.scaled, cell=cell.cell, pbc=True, magmoms=cell.moments)
    atoms.calc = GPAW(
        mode=PW(cell.cutoff), xc="PBE", kpts={"size": cell.mesh, "gamma": True}, gpts=cell.gpts, nbands=cell.bands,
        occupations=FermiDirac(cell.width), symmetry={"symmorphic": False}, maxiter=100,
        convergence={"energy": tolerance, "density": 1.0, "eigenstates": 1e6}, txt=str(out.with_suffix(".txt")),
    )  # fmt: skip
    atoms.get_potential_energy()
    energy = atoms.calc.get_potential_energy(force_consistent=True)
    forces = atoms.get_forces()
    seconds = time.perf_counter() - started
    steps = atoms.calc.get_number_of_iterations()
    kpoints = len(atoms.calc.get_ibz_k_points())
    # asked on all ranks: it may communicate
    moment = None if cell.moments is None else float(atoms.get_magnetic_moment())
    if world.rank == 0:
        history = [float(row.split("|")[3].strip(" c")) for row in out.with_suffix(".txt").read_text().splitlines()
                   if row.startswith("|iter:")]  # fmt: skip
        electrons = float(atoms.calc.setups.nvalence)
        # the criterion is the spread of three energies, per electron
        criterion = [float("inf")] * 2 + [
            (max(history[n - 2 : n + 1]) - min(history[n - 2 : n + 1])) / electrons for n in range(2, len(history))
        ]
        out.write_text(json.dumps({
            "history_eV": history, "criterion": criterion,
            "code": "gpaw", "version": gpaw.__version__, "cell": name, "energy_eV": float(energy), "steps": int(steps),
            "converged": True, "seconds": seconds, "import_seconds": _IMPORTED - _PROCESS, "ranks": world.size,
            "kpoints": kpoints, "force_eV_A": float(np.abs(forces).max()), "gpts": list(cell.gpts),
            "moment": moment,
        }))  # fmt: skip


if __name__ == "__main__":
    main()
