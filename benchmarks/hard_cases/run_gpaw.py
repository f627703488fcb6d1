"""One case with GPAW (its own Python): python run_gpaw.py DESCRIPTION.json OUT.json.

GPAW's defaults for eigensolver, mixer, starting orbitals, grids and convergence, except that the energy must stand
still to the same number of eV as in the other code.  Applications of the Hamiltonian are counted where GPAW multiplies
orbitals with the local potential: every H psi on plane waves passes there once, with its number of orbitals.  Matrix
elements in GPAW's first, atomic basis are not counted.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import gpaw
from ase import Atoms
from ase.units import Ha
from gpaw import PW, KohnShamConvergenceError
from gpaw.dft import GPAW as make_calculator
from gpaw.new.pw.hamiltonian import PWHamiltonian
from gpaw.new.scf import SCFLoop

MAX_STEPS = 200


class Watch:
    """Counts applications and keeps energies, moments and density errors of all steps."""

    def __init__(self) -> None:
        self.count = 0
        self.energies: list[float] = []
        self.applications: list[int] = []
        self.moments: list[float] = []
        self.residuals: list[float] = []
        self._wrap_hamiltonian()
        self._wrap_loop()

    def _wrap_hamiltonian(self) -> None:
        apply, watch = PWHamiltonian.apply_local_potential, self

        def counted(self: Any, vt_R: Any, psit_nG: Any, out: Any) -> Any:
            watch.count += int(psit_nG.mydims[0])
            return apply(self, vt_R, psit_nG, out)

        PWHamiltonian.apply_local_potential = counted

    def _wrap_loop(self) -> None:
        iterate, watch = SCFLoop.iterate, self

        def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
            for step in iterate(self, *args, **kwargs):
                watch.energies.append(float(step.energies.total_free) * Ha)
                watch.applications.append(watch.count)
                watch.residuals.append(float(step.dens.error))
                if step.wfs.nspins == 2:
                    watch.moments.append(float(step.dens.calculate_magnetic_moments()[0][2]))
                yield step

        SCFLoop.iterate = watched


def calculator(case: dict[str, Any], txt: Path) -> Any:
    """GPAW for a description."""
    occupations: dict[str, Any] = {"name": "fermi-dirac", "width": case["width"]}
    if case["ismear"] >= 0:
        occupations = {"name": "methfessel-paxton", "width": case["width"], "order": case["ismear"]}
    return make_calculator(
        mode=PW(case["cutoff"]), xc="PBE", kpts={"size": case["mesh"], "gamma": True}, nbands=case["bands"],
        occupations=occupations, charge=case["charge"], spinpol=case["spins"] == 2, maxiter=MAX_STEPS,
        symmetry={"symmorphic": False},
        convergence={"energy": case["tolerance"] / case["electrons"]}, txt=str(txt),
    )  # fmt: skip


def main() -> None:
    """Command line."""
    case, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    watch = Watch()
    started, began = time.process_time(), time.perf_counter()
    atoms = Atoms(case["symbols"], scaled_positions=case["scaled"], cell=case["cell"], pbc=True,
                  magmoms=case["moments"])  # fmt: skip
    atoms.calc = calculator(case, out.with_suffix(".txt"))
    status, converged = "converged", True
    try:
        atoms.get_potential_energy()
    except KohnShamConvergenceError:
        status, converged = f"not converged in {MAX_STEPS} steps", False
    out.write_text(json.dumps({
        "code": "gpaw", "version": gpaw.__version__, "converged": converged, "status": status,
        "energy": watch.energies[-1], "kpoints": len(atoms.calc.get_ibz_k_points()),
        "moment": watch.moments[-1] if watch.moments else None,
        "steps": len(watch.energies), "energies": watch.energies, "applications": watch.applications,
        "residuals": watch.residuals, "moments": watch.moments,
        "cpu_seconds": time.process_time() - started, "wall_seconds": time.perf_counter() - began,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
