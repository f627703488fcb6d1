"""Which reader of VASP's files opens a run of eigenwerk: every reader on every run, each in words, none left out.

    python benchmarks/readers/readers.py --python /path/of/an/environment/bin/python [--runs build/readers]

The runs (silicon, iron with spin, water, a band path of silicon) are made with the Python of this repository, all
files asked for; the readers run with --python, which needs pymatgen, ase, phonopy, py4vasp, custodian, emmet-core,
atomate2, sumo, boltztrap2, dpdata, parsevasp and vasppy (what is missing is said).  A reader passes if it returns the
numbers of the run, not only if it raises nothing.  Results: results.json and results.md beside this file.
"""

import argparse
import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]

# with PREC = Normal the density is cut, and ripples in a vacuum are below zero, which custodian takes for damage
ALL_FILES = "NSW = 0\nPREC = Accurate\nLORBIT = 11\nLVHAR = T\nLELF = T\nLAECHG = T\nLWAVE = T\n"
PATH_TAGS = ALL_FILES + "ICHARG = 11\n"
PATH = "Gamma to X, L to Gamma\n10\nLine-mode\nreciprocal\n0 0 0 \\Gamma\n0.5 0 0.5 X\n\n0.5 0.5 0.5 L\n0 0 0 \\Gamma\n"
CASES = {"Si": "01_silicon_pbe", "Fe, spin": "03_iron_magnet", "H2O": "04_water_molecule", "Si, path": None}


# --- the runs --------------------------------------------------------------------------------------------------------


def make_runs(folder: Path) -> None:
    """All cases under a folder; what stands on the screen goes to vasp.out, as under custodian."""
    for case, example in CASES.items():
        place = folder / case
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for name in ("INCAR", "POSCAR", "KPOINTS"):
            shutil.copy(REPOSITORY / "examples" / (example or CASES["Si"]) / name, place)
        with open(place / "INCAR", "a") as incar:
            incar.write(ALL_FILES if example else PATH_TAGS)
        if example is None:
            (place / "KPOINTS").write_text(PATH)
            for name in ("eigenwerk.h5", "CHGCAR"):
                shutil.copy(folder / "Si" / name, place)
        program = "from eigenwerk.cli.entry import command; command()"
        command = [sys.executable, "-c", program, "run", str(place)]
        with open(place / "vasp.out", "w") as out, open(place / "std_err.txt", "w") as err:
            done = subprocess.run(command, cwd=REPOSITORY, stdout=out, stderr=err)
        print(f"{case}: exit code {done.returncode}")


# --- the readers, in the other environment ----------------------------------------------------------------------------


def close(found: Any, expected: Any, limit: float = 1e-5) -> None:
    """Raise if numbers differ."""
    import numpy as np

    worst = float(np.abs(np.asarray(found, float) - np.asarray(expected, float)).max())
    if not worst <= limit:
        raise AssertionError(f"differs from the run by {worst:.1e}")


class Truth:
    """What eigenwerk.h5's neighbour, the file of band energies and vasprun.xml's own text say of a run."""

    def __init__(self, folder: Path) -> None:
        from xml.etree import ElementTree

        root = ElementTree.parse(folder / "vasprun.xml").getroot()
        energy = root.findall("calculation")[-1].find("energy")
        self.free, self.zero, _ = (float(entry.text) for entry in energy.findall("i"))
        self.fermi = float(root.find("calculation/dos/i[@name='efermi']").text)
        rows = [row.text.split() for row in root.findall("calculation/eigenvalues/array/set/set/set/r")]
        self.eig_x = [float(row[0]) for row in rows]
        forces = root.find("calculation/varray[@name='forces']")
        self.forces_av = None if forces is None else [[float(x) for x in row.text.split()] for row in forces]
        self.spin = len(root.findall("calculation/eigenvalues/array/set/set")) == 2
        self.electrons = float(root.find(".//parameters//i[@name='NELECT']").text)


def vasprun(folder: Path, truth: Truth) -> str:
    from pymatgen.io.vasp.outputs import Vasprun

    run = Vasprun(folder / "vasprun.xml", parse_potcar_file=False, parse_projected_eigen=True, parse_dos=True)
    close(run.final_energy, truth.zero)
    close(run.efermi, truth.fermi)
    run.get_computed_entry()
    run.get_band_structure(kpoints_filename=str(folder / "KPOINTS"), line_mode="path" in folder.name)
    run.as_dict()
    projected = "projections" if run.projected_eigenvalues else "no projections"
    partial = "partial densities" if run.complete_dos.pdos else "no partial densities"
    return f"energy, Fermi level, entry, bands, density of states; {projected}, {partial}"


def bsvasprun(folder: Path, truth: Truth) -> str:
    from pymatgen.io.vasp.outputs import BSVasprun

    run = BSVasprun(str(folder / "vasprun.xml"), parse_potcar_file=False, parse_projected_eigen=True)
    bands = run.get_band_structure(kpoints_filename=str(folder / "KPOINTS"), line_mode="path" in folder.name)
    values = [bands.bands[spin].T.ravel() for spin in bands.bands]
    close(sorted(x for value in values for x in value), sorted(truth.eig_x))
    return f"bands{' along the path' if 'path' in folder.name else ''}, gap {bands.get_band_gap()['energy']:.3f} eV"


def outcar(folder: Path, truth: Truth) -> str:
    from pymatgen.io.vasp.outputs import Outcar

    run = Outcar(str(folder / "OUTCAR"))
    close(run.efermi, truth.fermi)
    close(run.nelect, truth.electrons)
    if truth.forces_av is not None:
        close(run.final_energy, truth.zero)
    run.as_dict()
    tables = " and ".join(["charges"] * bool(run.charge) + ["moments"] * bool(run.magnetization)) or "no tables"
    return f"Fermi level, electrons, {'energies, drift, ' if truth.forces_av else ''}times; {tables} by atom"


def eigenval(folder: Path, truth: Truth) -> str:
    from pymatgen.io.vasp.outputs import Eigenval

    found = Eigenval(str(folder / "EIGENVAL"))
    close([x for value in found.eigenvalues.values() for x in value[..., 0].ravel()], truth.eig_x)
    return f"{found.nkpt} k-points, {found.nbands} bands"


def procar(folder: Path, truth: Truth) -> str:
    from pymatgen.io.vasp.outputs import Procar

    found = Procar(str(folder / "PROCAR"))
    return f"{found.nkpoints} k-points, {found.nbands} bands, {found.nions} atoms, columns {' '.join(found.orbitals)}"


def wavecar(folder: Path, truth: Truth) -> str:
    from pymatgen.io.vasp.outputs import Wavecar

    found = Wavecar(str(folder / "WAVECAR"))
    energies = found.band_energy if truth.spin else [found.band_energy]
    close([x for spin in energies for k in spin for x in k[:, 0]], truth.eig_x)
    found.fft_mesh(0, 0)
    return f"{found.nk} k-points, {found.nb} bands, {len(found.Gpoints[0])} plane waves at the first"


def xdatcar(folder: Path, truth: Truth) -> str:
    from pymatgen.io.vasp.outputs import Xdatcar

    return f"{len(Xdatcar(str(folder / 'XDATCAR')).structures)} structure"


def volumetric(kind: str, name: str) -> Callable[[Path, Truth], str]:
    """A reader of pymatgen for one of the files on grids."""

    def read(folder: Path, truth: Truth) -> str:
        from pymatgen.io.vasp import outputs

        found = getattr(outputs, kind).from_file(str(folder / name))
        total = found.data["total"]
        if name == "CHGCAR":
            close(total.mean(), truth.electrons, 1e-4)
            moment = (found.net_magnetization or 0) / total.size
            return f"{total.size} points, {total.mean():.6f} electrons, moment {moment:.4f}"
        return f"{' x '.join(map(str, total.shape))} points"

    return read


def oszicar(folder: Path, truth: Truth) -> str:
    from pymatgen.io.vasp.outputs import Oszicar

    found = Oszicar(str(folder / "OSZICAR"))
    close(found.final_energy, truth.zero, 1e-4)
    return f"{len(found.electronic_steps[-1])} steps"


def ibzkpt(folder: Path, truth: Truth) -> str:
    from pymatgen.io.vasp import Kpoints

    if "path" in folder.name:
        return "not tried: VASP writes it for meshes alone"
    return f"{len(Kpoints.from_file(folder / 'IBZKPT').kpts)} k-points"


def ase_read(name: str, kind: str) -> Callable[[Path, Truth], str]:
    """A reader of ASE."""

    def read(folder: Path, truth: Truth) -> str:
        from ase.io import read as ase

        atoms = ase(folder / name, format=kind)
        if kind in ("vasp-xml", "vasp-out"):
            close(atoms.get_potential_energy(), truth.zero)
            if truth.forces_av is None:
                return "energy"
            close(atoms.get_forces(), truth.forces_av)
            return f"energy, forces{', stress' if 'stress' in atoms.calc.results else ''}"
        return f"{len(atoms)} atoms"

    return read


def ase_chgcar(folder: Path, truth: Truth) -> str:
    from ase.calculators.vasp import VaspChargeDensity

    density = VaspChargeDensity(str(folder / "CHGCAR"))
    volume = density.atoms[0].get_volume()
    close(density.chg[0].mean() * volume, truth.electrons, 1e-4)
    return f"{density.chg[0].size} points{', magnetisation' if len(density.chgdiff) else ''}"


def ase_doscar(folder: Path, truth: Truth) -> str:
    from ase.calculators.vasp import VaspDos

    found = VaspDos(str(folder / "DOSCAR"))
    partial = "partial densities" if found._site_dos is not None and len(found._site_dos) else "total density alone"
    return f"{len(found.energy)} energies; {partial}"


def ase_calculator(folder: Path, truth: Truth) -> str:
    """What ASE's Vasp does after a run: read_results, with the parameters of the folder."""
    from ase.calculators.vasp import Vasp
    from ase.io import read

    calculator = Vasp(directory=str(folder), ispin=2 if truth.spin else 1, lorbit=11)
    calculator.atoms = read(folder / "POSCAR")
    calculator.sort = calculator.resort = list(range(len(calculator.atoms)))
    calculator.spinpol = truth.spin
    calculator.read_results()
    close(calculator.results["energy"], truth.zero)
    moments = f", moment {calculator.results['magmom']:.3f}" if truth.spin else ""
    return f"converged {calculator.converged}, {calculator.results['nbands']} bands{moments}"


def phonopy_forces(folder: Path, truth: Truth) -> str:
    from phonopy.interface.vasp import parse_set_of_forces, read_vasp

    if truth.forces_av is None:
        return "not tried: no forces at a fixed density"
    atoms = read_vasp(str(folder / "POSCAR"))
    found = parse_set_of_forces(len(atoms), [str(folder / "vasprun.xml")], verbose=False)
    forces = found["forces"][0] if isinstance(found, dict) else found[0]
    close(forces - forces.mean(axis=0), [[x - sum(c) / len(truth.forces_av) for x, c in
          zip(row, zip(*truth.forces_av, strict=True), strict=True)] for row in truth.forces_av])  # fmt: skip
    return "forces (drift taken off)"


def sumo_dos(folder: Path, truth: Truth) -> str:
    from sumo.electronic_structure.dos import load_dos
    from sumo.plotting.dos_plotter import SDOSPlotter

    dos, partial = load_dos(str(folder / "vasprun.xml"))
    SDOSPlotter(dos, partial).get_plot()
    return f"plot; partial densities of {', '.join(partial) or 'nothing'}"


def sumo_bands(folder: Path, truth: Truth) -> str:
    from pymatgen.io.vasp.outputs import BSVasprun
    from sumo.plotting.bs_plotter import SBSPlotter

    if "path" not in folder.name:
        return "not tried: no path"
    run = BSVasprun(str(folder / "vasprun.xml"), parse_projected_eigen=True, parse_potcar_file=False)
    bands = run.get_band_structure(kpoints_filename=str(folder / "KPOINTS"), line_mode=True)
    SBSPlotter(bands).get_plot()
    projected = bool(bands.projections)
    if projected:
        SBSPlotter(bands).get_projected_plot([("Si", "s"), ("Si", "p")], mode="rgb")
    return f"plot; {'coloured by projections' if projected else 'no projections'}"


def sumo_optics(folder: Path, truth: Truth) -> str:
    from pymatgen.io.vasp.outputs import Vasprun
    from sumo.electronic_structure.optics import calculate_dielectric_properties

    run = Vasprun(str(folder / "vasprun.xml"), parse_potcar_file=False)
    try:
        has = bool(run.dielectric)
    except KeyError:
        has = False
    if not has:
        return "refused: no run has a dielectric function (LOPTICS is an error)"
    calculate_dielectric_properties(run.dielectric, {"absorption"})
    return "absorption"


def py4vasp(folder: Path, truth: Truth) -> str:
    import py4vasp as package

    run, done = package.Calculation.from_path(folder), []
    for quantity in ("structure", "energy", "band", "dos", "force", "stress", "kpoint", "electronic_minimization"):
        if quantity in ("force", "stress") and truth.forces_av is None:
            continue
        found = getattr(run, quantity).read()
        str(getattr(run, quantity))
        done.append(quantity)
        if quantity == "energy":
            close(found["energy(sigma->0)"], truth.zero)
        if quantity == "band":
            run.band.plot()
        if quantity == "dos":
            run.dos.plot()
    for quantity in ("projector", "local_moment"):
        with suppress(package.exception.NoData):
            done += [quantity] * bool(getattr(run, quantity, None) and getattr(run, quantity).read())
    return ", ".join(done)


def custodian(folder: Path, truth: Truth) -> str:
    """Validators and handlers of a static run: all must be content."""
    import os

    from custodian.vasp import handlers, validators

    here = os.getcwd()
    checks = [validators.VasprunXMLValidator(), validators.VaspFilesValidator(), validators.VaspNpTMDValidator()]
    if (folder / "AECCAR0").is_file():
        checks.append(validators.VaspAECCARValidator())
    checks += [
        handlers.VaspErrorHandler(), handlers.AliasingErrorHandler(), handlers.MeshSymmetryErrorHandler(),
        handlers.UnconvergedErrorHandler(), handlers.NonConvergingErrorHandler(), handlers.PotimErrorHandler(),
        handlers.PositiveEnergyErrorHandler(), handlers.LargeSigmaHandler(), handlers.IncorrectSmearingHandler(),
        handlers.KspacingMetalHandler(), handlers.DriftErrorHandler(), handlers.StdErrHandler(),
        handlers.WalltimeHandler(wall_time=10**6),
    ]  # fmt: skip
    if "path" in folder.name:  # atomate2 runs paths without these: they know no KPOINTS in line mode
        checks = [check for check in checks if not isinstance(check, handlers.KspacingMetalHandler)]
    try:
        os.chdir(folder)
        unhappy = [type(check).__name__ for check in checks if check.check(str(folder))]
    finally:
        os.chdir(here)
    if unhappy:
        raise AssertionError(f"not content: {', '.join(unhappy)}")
    return f"{len(checks)} validators and handlers content"


def emmet(folder: Path, truth: Truth) -> str:
    from emmet.core.tasks import TaskDoc

    document = TaskDoc.from_directory(folder)
    close(document.output.energy, truth.zero)
    return f"{document.state}, {document.task_type}, gap {document.output.bandgap:.3f} eV"


def boltztrap(folder: Path, truth: Truth) -> str:
    from BoltzTraP2 import dft

    data = dft.DFTData(str(folder))
    return f"{data.kpoints.shape[0]} k-points, {data.ebands.shape[0]} bands"


def dpdata_frames(name: str) -> Callable[[Path, Truth], str]:
    """DeePMD's reader, which counts lines of OUTCAR."""

    def read(folder: Path, truth: Truth) -> str:
        import dpdata
        import numpy as np

        if truth.forces_av is None:
            return "not tried: no forces at a fixed density"
        found = dpdata.LabeledSystem(str(folder / name))
        close(found["energies"][-1], truth.free if name == "OUTCAR" else truth.zero, 1e-4)
        close(found["forces"][-1], truth.forces_av)
        other = dpdata.LabeledSystem(str(folder / "vasprun.xml"))
        close(found["virials"], other["virials"], 1e-4)
        return f"{len(found)} frame, energy, forces, virial of trace {np.trace(found['virials'][-1]):.4f} eV"

    return read


def parsevasp_xml(folder: Path, truth: Truth) -> str:
    """What aiida-vasp reads by."""
    import logging

    from parsevasp.vasprun import Xml

    logging.disable(logging.CRITICAL)
    found = Xml(file_path=str(folder / "vasprun.xml"))
    close(found.get_fermi_level(), truth.fermi)
    dos = found.get_dos()
    partial = dos.get("total", dos.get("up", {})).get("partial") or dos.get("up", {}).get("partial")
    return f"Fermi level, density of states{', partial' if partial else ''}, {len(found.get_kpoints())} k-points"


def parsevasp_files(folder: Path, truth: Truth) -> str:
    from parsevasp.doscar import Doscar
    from parsevasp.eigenval import Eigenval
    from parsevasp.outcar import Outcar

    partial = Doscar(file_path=str(folder / "DOSCAR")).get_pdos()
    close(sorted(Eigenval(file_path=str(folder / "EIGENVAL")).get_eigenvalues().ravel()), sorted(truth.eig_x))
    finished = Outcar(file_path=str(folder / "OUTCAR")).get_run_status()["finished"]
    assert finished
    return f"OUTCAR finished, EIGENVAL, DOSCAR with {len(partial.dtype.names)} columns of each atom"


def vasppy_files(folder: Path, truth: Truth) -> str:
    """Its DOSCAR takes nine columns of each atom and spin, unless told otherwise."""
    from vasppy.doscar import Doscar
    from vasppy.outcar import final_energy_from_outcar, forces_from_outcar
    from vasppy.procar import Procar

    if truth.forces_av is not None:
        close(final_energy_from_outcar(str(folder / "OUTCAR")), truth.zero)
        close(forces_from_outcar(str(folder / "OUTCAR"))[-1], truth.forces_av)
    partial = Doscar(str(folder / "DOSCAR"), lmax=2).pdos
    lines = (folder / "DOSCAR").read_text().splitlines()
    energies = int(lines[5].split()[2])
    columns = [[float(x) for x in line.split()[1:]] for line in lines[7 + energies : 7 + 2 * energies]]
    close(partial[0].sum(), sum(map(sum, columns)), 1e-3)
    found = Procar.from_file(str(folder / "PROCAR"))
    return f"PROCAR with {found.number_of_bands} bands; DOSCAR: all of its parts"


READERS: dict[str, Callable[[Path, Truth], str]] = {
    "pymatgen Vasprun (projections, DOS, entry)": vasprun,
    "pymatgen BSVasprun": bsvasprun,
    "pymatgen Outcar": outcar,
    "pymatgen Oszicar": oszicar,
    "pymatgen Eigenval": eigenval,
    "pymatgen Procar": procar,
    "pymatgen Wavecar": wavecar,
    "pymatgen Xdatcar": xdatcar,
    "pymatgen Kpoints of IBZKPT": ibzkpt,
    "pymatgen Chgcar": volumetric("Chgcar", "CHGCAR"),
    "pymatgen Chgcar of AECCAR0": volumetric("Chgcar", "AECCAR0"),
    "pymatgen Locpot": volumetric("Locpot", "LOCPOT"),
    "pymatgen Elfcar": volumetric("Elfcar", "ELFCAR"),
    "ASE vasprun.xml": ase_read("vasprun.xml", "vasp-xml"),
    "ASE OUTCAR": ase_read("OUTCAR", "vasp-out"),
    "ASE CONTCAR": ase_read("CONTCAR", "vasp"),
    "ASE XDATCAR": ase_read("XDATCAR", "vasp-xdatcar"),
    "ASE CHGCAR": ase_chgcar,
    "ASE DOSCAR": ase_doscar,
    "ASE Vasp calculator": ase_calculator,
    "phonopy": phonopy_forces,
    "sumo DOS": sumo_dos,
    "sumo bands": sumo_bands,
    "sumo optics": sumo_optics,
    "py4vasp": py4vasp,
    "custodian": custodian,
    "emmet TaskDoc (atomate2's drone)": emmet,
    "BoltzTraP2": boltztrap,
    "dpdata OUTCAR": dpdata_frames("OUTCAR"),
    "dpdata vasprun.xml": dpdata_frames("vasprun.xml"),
    "parsevasp vasprun.xml (aiida-vasp)": parsevasp_xml,
    "parsevasp DOSCAR, EIGENVAL, OUTCAR": parsevasp_files,
    "vasppy": vasppy_files,
}


def read_all(folder: Path) -> dict[str, dict[str, Any]]:
    """Every reader on one run."""
    import os

    os.environ.setdefault("MPLBACKEND", "Agg")
    warnings.simplefilter("ignore")
    truth, found = Truth(folder), {}
    for name, reader in READERS.items():
        try:
            found[name] = {"ok": True, "words": reader(folder, truth)}
        except ModuleNotFoundError as error:
            found[name] = {"ok": True, "words": f"not tried: {error.name} is not installed"}
        except FileNotFoundError:
            found[name] = {"ok": False, "words": "such a run does not write the file"}
        except Exception as error:
            words = " ".join(str(error).split())[:150]
            found[name] = {"ok": False, "words": f"{type(error).__name__}: {words}"}
    return found


def versions() -> dict[str, str]:
    """Of the packages that read."""
    from importlib.metadata import PackageNotFoundError, version

    packages = "pymatgen-core ase phonopy sumo py4vasp custodian emmet-core atomate2 boltztrap2 dpdata parsevasp vasppy"
    found = {}
    for name in (*packages.split(), "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


# --- the table -------------------------------------------------------------------------------------------------------


def write_results(results: dict[str, Any], place: Path) -> None:
    """results.json and results.md."""
    (place / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    packages = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    lines = ["# Which reader opens what", "", f"Made by `benchmarks/readers/readers.py` with {packages}.", ""]
    cells = [cell for case in results["cases"].values() for cell in case.values() if "not tried" not in cell["words"]]
    passed = sum(cell["ok"] for cell in cells)
    lines += [f"{passed} of {len(cells)} cells pass: the reader gives numbers of the run. **No** marks the rest.", ""]
    lines += [f"| reader | {' | '.join(results['cases'])} |", f"|---|{'---|' * len(results['cases'])}"]
    for name in READERS:
        row = [case[name] for case in results["cases"].values()]
        words = [cell["words"].replace("|", "/") if cell["ok"] else f"**No**: {cell['words']}" for cell in row]
        lines.append(f"| {name} | {' | '.join(words)} |")
    (place / "results.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Runs, readers, table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="Python of the environment with the readers")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "build" / "readers")
    parser.add_argument("--keep-runs", action="store_true", help="read the runs that are there")
    parser.add_argument("--read", type=Path, help="used by this script itself")
    given = parser.parse_args()
    if given.read is not None:
        print(json.dumps({"found": read_all(given.read), "versions": versions()}))
        return
    if not given.keep_runs:
        make_runs(given.runs)
    results: dict[str, Any] = {"versions": {}, "cases": {}}
    for case in CASES:
        command = [given.python, __file__, "--read", str((given.runs / case).resolve())]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        results["cases"][case], results["versions"] = answer["found"], answer["versions"]
    write_results(results, HERE)


if __name__ == "__main__":
    main()
