"""Work function of Al(111) and Bader charges of MgO and water from files of eigenwerk, beside GPAW's on the same data.

    OMP_NUM_THREADS=1 python benchmarks/accuracy/fields/compare.py run  # folders and runs, in build/fields
    GPAW_PYTHON benchmarks/accuracy/fields/compare.py gpaw                                 # the same by GPAW
    BADER_PYTHON benchmarks/accuracy/fields/compare.py bader                               # charges of both by baderkit
    OMP_NUM_THREADS=1 python benchmarks/accuracy/fields/compare.py table                   # results.md

GPAW_PYTHON, BADER_PYTHON: of environments with gpaw, and with baderkit.
"""

import json
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
BUILD = REPOSITORY / "build" / "fields"
SLAB_A, SLAB_C = 4.04 / 2**0.5, 22.997485262578266
LAYERS = [8.0 + 4.04 / 3**0.5 * n for n in range(4)]
SHIFTS = [0.0, 1 / 3, 2 / 3, 0.0]
WATER = [(4.013, 4.021, 3.987), (4.770629, 4.608025, 3.987), (3.255371, 4.608025, 3.987)]

CASES = {
    # name: (POSCAR, mesh, ENCUT, INCAR, refinement of GPAW's all-electron density)
    "al111": (
        f"Al(111)\n1\n{SLAB_A} 0 0\n{SLAB_A / 2} {SLAB_A * 0.75**0.5} 0\n0 0 {SLAB_C}\nAl\n4\nDirect\n"
        + "".join(f"{s} {s} {z / SLAB_C}\n" for s, z in zip(SHIFTS, LAYERS, strict=True)),
        (8, 8, 1), 300, "ISMEAR = 1\nSIGMA = 0.2\nLVHAR = T\n", None,
    ),
    "mgo": (
        "MgO\n4.21\n0 .5 .5\n.5 0 .5\n.5 .5 0\nMg O\n1 1\nDirect\n0 0 0\n.5 .5 .5\n",
        (4, 4, 4), 600, "ISMEAR = 0\nSIGMA = 0.05\nLAECHG = T\nNGXF = 120\nNGYF = 120\nNGZF = 120\n", 4,
    ),
    "water": (
        "water\n1\n8 0 0\n0 8 0\n0 0 8\nO H\n1 2\nCartesian\n"
        + "".join("{:f} {:f} {:f}\n".format(*row) for row in WATER),
        (1, 1, 1), 600, "ISMEAR = 0\nSIGMA = 0.01\nLAECHG = T\n", 2,
    ),
}  # fmt: skip
VALENCE = {"mgo": (10, 6), "water": (6, 1, 1)}
CORE = {"mgo": (2, 2), "water": (2, 0, 0)}


def run() -> None:
    for name, (poscar, mesh, cutoff, incar, _) in CASES.items():
        folder = BUILD / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "POSCAR").write_text(poscar)
        (folder / "KPOINTS").write_text("mesh\n0\nGamma\n{} {} {}\n".format(*mesh))
        (folder / "INCAR").write_text(f"ENCUT = {cutoff}\nEDIFF = 1E-6\nPREC = Accurate\nISIF = 0\n{incar}")
        command = [sys.executable, "-m", "eigenwerk.cli.main", "run", str(folder), "--no-plot", "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        (folder / "run.json").write_bytes(done.stdout)
        if (folder / "AECCAR0").is_file():
            write_sum(folder)


def write_sum(folder: Path) -> None:
    from eigenwerk.io.vasp.output.volumetric import write_fields
    from eigenwerk.io.vasp.volumetric import GridBlock, Volumetric, read_volumetric

    head, core = read_volumetric(folder / "AECCAR0")
    _, valence = read_volumetric(folder / "AECCAR2")
    total = GridBlock(core.blocks[0].value_R + valence.blocks[0].value_R)
    write_fields(folder / "CHGCAR_sum", head.poscar, Volumetric((total,), {}))


def gpaw() -> None:
    from ase.io import read
    from gpaw import GPAW, PW, FermiDirac, MethfesselPaxton

    sys.path.insert(0, str(REPOSITORY / "src"))
    from eigenwerk.io.vasp.input.poscar import Poscar
    from eigenwerk.io.vasp.output.volumetric import write_fields
    from eigenwerk.io.vasp.volumetric import GridBlock, Volumetric

    for name, (_, mesh, cutoff, _, refinement) in CASES.items():
        atoms = read(BUILD / name / "POSCAR")
        atoms.pbc = True
        metal = refinement is None
        calc = GPAW(
            mode=PW(cutoff), xc="PBE", kpts={"size": mesh, "gamma": True}, txt=str(BUILD / name / "gpaw.txt"),
            occupations=MethfesselPaxton(0.2, 1) if metal else FermiDirac(0.01), convergence={"density": 1e-6},
            **({} if metal else {"h": 0.13 if name == "water" else 0.11}),
        )  # fmt: skip
        atoms.calc = calc
        atoms.get_potential_energy()
        if metal:
            level = float(calc.get_electrostatic_potential().mean((0, 1))[0])
            found = {"work_function": level - calc.get_fermi_level()}
            (BUILD / name / "gpaw.json").write_text(json.dumps(found))
            continue
        density = calc.get_all_electron_density(gridrefinement=refinement) * atoms.get_volume()
        symbols = tuple(atoms.get_chemical_symbols())
        cell = Poscar(name, atoms.cell.array, symbols, atoms.get_scaled_positions())
        write_fields(BUILD / name / "CHGCAR_gpaw", cell, Volumetric((GridBlock(density),), {}))


def bader() -> None:
    from baderkit import Bader

    for name in VALENCE:
        folder, found = BUILD / name, {}
        for code, charge, reference in (("eigenwerk", "CHGCAR", "CHGCAR_sum"), ("GPAW", "CHGCAR_gpaw", "CHGCAR_gpaw")):
            basins = Bader.from_vasp(
                str(folder / charge), total_charge_grid=str(folder / reference), vacuum_tol=False, method="weight",
                reference_grid=str(folder / reference),
            )  # fmt: skip
            found[code] = [float(charge) for charge in basins.atom_charges]
        (folder / "bader.json").write_text(json.dumps(found))


def table() -> None:
    ours = json.loads((BUILD / "al111" / "run.json").read_text())["vacuum"]["work_functions_eV"][0]
    theirs = json.loads((BUILD / "al111" / "gpaw.json").read_text())["work_function"]
    rows = [f"| work function of Al(111), four layers | {ours:.4f} eV | {theirs:.4f} eV |"]
    for name, valence in VALENCE.items():
        found = json.loads((BUILD / name / "bader.json").read_text())
        for a, symbol in enumerate({"mgo": ("Mg", "O"), "water": ("O", "H", "H")}[name]):
            charges = valence[a] - found["eigenwerk"][a], valence[a] + CORE[name][a] - found["GPAW"][a]
            rows.append(f"| Bader charge of {symbol} in {name} | {charges[0]:+.3f} e | {charges[1]:+.3f} e |")
    print("| quantity | eigenwerk | GPAW |\n|---|---|---|\n" + "\n".join(rows))


if __name__ == "__main__":
    {"run": run, "gpaw": gpaw, "bader": bader, "table": table}[sys.argv[1]]()
