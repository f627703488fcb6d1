"""Programs that drive VASP, driving eigenwerk: ASE's Vasp, custodian, atomate2, as they are.

    PYTHON_OF_ANOTHER_ENVIRONMENT benchmarks/readers/flows.py --eigenwerk /path/of/bin/eigenwerk [--folder build/flows]

That environment needs ase, custodian, atomate2 and pymatgen; what it lacks is said.  Each case runs in a folder of its
own, with POTCAR stand-ins made by `eigenwerk potcars`, on silicon; a case passes if its numbers are there and are those
of the file of the run.  The table goes to flows.md beside this file.
"""

import argparse
import json
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SMALL = {"ENCUT": 200, "EDIFF": 1e-5, "ISMEAR": 0, "LREAL": False}


def silicon() -> Any:
    """Two atoms, as pymatgen has them."""
    from pymatgen.core import Lattice, Structure

    return Structure(Lattice.from_parameters(3.84, 3.84, 3.84, 60, 60, 60), ["Si", "Si"], [[0, 0, 0], [0.25] * 3])


def ase_static() -> str:
    """Energy, forces, stress of ASE's calculator."""
    from ase.build import bulk
    from ase.calculators.vasp import Vasp

    atoms = bulk("Si")
    atoms.rattle(0.05, seed=1)
    settings = {"xc": "pbe", "encut": 200, "kpts": (2, 2, 2), "gamma": True, "ismear": 0, "sigma": 0.05}
    atoms.calc = Vasp(directory="scf", ediff=1e-6, **settings)
    energy, largest = atoms.get_potential_energy(), abs(atoms.get_forces()).max()
    atoms.get_stress()
    assert atoms.calc.converged
    return f"{energy:.4f} eV, largest force {largest:.3f} eV/Å, stress"


def ase_bands() -> str:
    """ASE's recipe: the calculator again, with the density kept, along a path."""
    from ase.build import bulk
    from ase.calculators.vasp import Vasp

    atoms = bulk("Si")
    settings = {"xc": "pbe", "encut": 200, "ismear": 0, "sigma": 0.05, "directory": "bands"}
    atoms.calc = Vasp(kpts=(2, 2, 2), gamma=True, **settings)
    atoms.get_potential_energy()
    path = atoms.cell.bandpath("LGX", npoints=11)
    atoms.calc.set(icharg=11, kpts=path.kpts, reciprocal=True, gamma=None)
    atoms.get_potential_energy()
    levels = [atoms.calc.get_eigenvalues(kpt=k) for k in range(len(path.kpts))]
    return f"{len(levels)} k-points, {len(levels[0])} bands"


def ase_unconverged() -> str:
    """Too few steps are no crash."""
    from ase.build import bulk
    from ase.calculators.vasp import Vasp

    atoms = bulk("Si")
    atoms.calc = Vasp(directory="unconverged", xc="pbe", encut=200, kpts=(2, 2, 2), nelm=3, ediff=1e-7)
    energy = atoms.get_potential_energy()
    assert not atoms.calc.converged
    return f"{energy:.4f} eV, converged False"


def ase_relaxation() -> str:
    """ASE's own optimiser on its Vasp calculator."""
    from ase.build import bulk
    from ase.calculators.vasp import Vasp
    from ase.optimize import BFGS

    atoms = bulk("Si")
    atoms.rattle(0.05, seed=1)
    atoms.calc = Vasp(directory="bfgs", xc="pbe", encut=200, kpts=(2, 2, 2), gamma=True, ismear=0, sigma=0.05)
    found = BFGS(atoms, logfile=None)
    assert found.run(fmax=0.05, steps=15)
    return f"{found.nsteps} steps"


def custodian_job(**changes: Any) -> tuple[list[Any], Any]:
    """MPStaticSet under a VaspJob with handlers and validators: corrections, and what pymatgen reads."""
    from custodian import Custodian
    from custodian.vasp import handlers, validators
    from custodian.vasp.jobs import VaspJob
    from pymatgen.io.vasp.outputs import Vasprun
    from pymatgen.io.vasp.sets import MPStaticSet

    settings = SMALL | {"LORBIT": None} | changes
    MPStaticSet(
        silicon(), user_incar_settings=settings, user_kpoints_settings={"reciprocal_density": 20}
    ).write_input(".")
    watchers = [
        handlers.VaspErrorHandler(), handlers.MeshSymmetryErrorHandler(), handlers.UnconvergedErrorHandler(),
        handlers.NonConvergingErrorHandler(), handlers.PotimErrorHandler(), handlers.PositiveEnergyErrorHandler(),
        handlers.FrozenJobErrorHandler(), handlers.StdErrHandler(), handlers.WalltimeHandler(wall_time=3600),
        handlers.LargeSigmaHandler(), handlers.IncorrectSmearingHandler(),
    ]  # fmt: skip
    checks = [validators.VasprunXMLValidator(), validators.VaspFilesValidator()]
    job = VaspJob(os.environ["ASE_VASP_COMMAND"].split(), auto_npar=False)
    done = Custodian(watchers, [job], validators=checks, max_errors=4).run()
    return [one for run in done for one in run["corrections"]], Vasprun("vasprun.xml", parse_potcar_file=False)


def custodian_static() -> str:
    corrections, run = custodian_job()
    assert not corrections and run.converged
    return f"{run.final_energy:.4f} eV, no correction"


def custodian_unconverged() -> str:
    """NELM = 4 is seen by its handler, which changes ALGO and mixing as with VASP, but never NELM."""
    from custodian.custodian import MaxCorrectionsPerJobError
    from pymatgen.io.vasp import Incar

    with suppress(MaxCorrectionsPerJobError):
        custodian_job(NELM=4, EDIFF=1e-7)
    found = json.loads(Path("custodian.json").read_text())[0]["corrections"]
    assert {error for one in found for error in one["errors"]} == {"Unconverged"}
    return f"seen, and {len(found)} times acted on; in the end ALGO = {Incar.from_file('INCAR')['ALGO']}"


def atomate(flow: Any, settings: dict[str, Any]) -> list[Any]:
    """The documents of all jobs of a flow."""
    from atomate2.vasp.powerups import update_user_incar_settings
    from jobflow import run_locally

    done = run_locally(update_user_incar_settings(flow, settings), create_folders=True, raise_immediately=True)
    return [response.output for jobs in done.values() for response in jobs.values()]


def documents(found: list[Any]) -> str:
    """What they say."""
    words = []
    for one in found:
        if hasattr(one, "task_label"):
            assert str(one.state).endswith("SUCCESS") or str(one.state) == "successful", one.state
            words.append(f"{one.task_label} {one.output.energy:.4f} eV, gap {one.output.bandgap:.3f} eV")
    assert words
    return "; ".join(words)


def atomate_static() -> str:
    from atomate2.vasp.jobs.core import StaticMaker

    return documents(atomate(StaticMaker().make(silicon()), {"ENCUT": 200}))


def atomate_bands() -> str:
    from atomate2.vasp.flows.core import BandStructureMaker

    return documents(atomate(BandStructureMaker(bandstructure_type="both").make(silicon()), {"ENCUT": 200}))


def atomate_relaxation() -> str:
    from atomate2.vasp.jobs.core import RelaxMaker

    return documents(atomate(RelaxMaker().make(silicon().perturb(0.03)), {"ENCUT": 200, "ISIF": 2, "EDIFFG": -0.05}))


CASES: dict[str, Callable[[], str]] = {
    "ASE Vasp: energy, forces, stress": ase_static,
    "ASE Vasp: bands with ICHARG = 11": ase_bands,
    "ASE Vasp: NELM too small": ase_unconverged,
    "ASE Vasp under ASE's BFGS": ase_relaxation,
    "custodian VaspJob, MPStaticSet, 11 handlers, 2 validators": custodian_static,
    "custodian, NELM too small": custodian_unconverged,
    "atomate2 StaticMaker": atomate_static,
    "atomate2 BandStructureMaker, uniform and line": atomate_bands,
    "atomate2 RelaxMaker": atomate_relaxation,
}


def versions() -> str:
    """Of the packages that drive."""
    found = []
    for name in ("ase", "custodian", "atomate2", "jobflow", "pymatgen", "emmet-core"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} is not installed")
    return ", ".join(found)


def main() -> None:
    """All cases, each in a process of its own, or those whose names have a word."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eigenwerk", default="eigenwerk", help="the command")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "build" / "flows")
    parser.add_argument("--only", default="")
    parser.add_argument("--case", help="used by this script itself")
    given = parser.parse_args()
    if given.case:
        warnings.simplefilter("ignore")
        print("RESULT " + json.dumps(CASES[given.case]()))
        return
    potcars = (given.folder / "potcars").resolve()
    subprocess.run([given.eigenwerk, "potcars", str(potcars)], check=True, capture_output=True)
    command = f"{given.eigenwerk} run . --vasp-exit-codes"
    environment = os.environ | {
        "PMG_VASP_PSP_DIR": str(potcars), "VASP_PP_PATH": str(potcars), "ASE_VASP_COMMAND": command,
        "ATOMATE2_VASP_CMD": command,
    }  # fmt: skip
    lines = ["# Programs that drive VASP", "", f"Made by `benchmarks/readers/flows.py` with {versions()}.", "",
             "| program | what came of it |", "|---|---|"]  # fmt: skip
    for number, name in enumerate(CASES):
        if given.only not in name:
            continue
        place = given.folder / str(number)
        subprocess.run(["rm", "-rf", str(place)], check=True)
        place.mkdir(parents=True)
        call = [sys.executable, str(Path(__file__).resolve()), "--case", name]
        done = subprocess.run(call, cwd=place, env=environment, capture_output=True, text=True)
        (place / "log").write_text(done.stdout + done.stderr)
        found = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        failure = (done.stderr.strip().splitlines() or ["nothing was said"])[-1][:200]
        words = json.loads(found[-1].partition(" ")[2]) if found else f"**No**: {failure}"
        lines.append(f"| {name} | {words} |")
        print(lines[-1], flush=True)
    if not given.only:
        (HERE / "flows.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc()
        raise SystemExit(1) from None
