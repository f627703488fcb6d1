"""Cells with displaced atoms, each as a folder with INCAR, POSCAR and KPOINTS: all kinds of binding, cheap to solve."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.build import add_adsorbate, bulk, fcc100, fcc111, molecule, mx2
from ase.io import write
from ase.spacegroup import crystal

SHIFT = 0.05
"""Standard deviation of each coordinate's displacement, Å."""

METAL = {"ISMEAR": "1", "SIGMA": "0.2"}
INSULATOR = {"ISMEAR": "0", "SIGMA": "0.05"}
MAGNET = {"ISMEAR": "1", "SIGMA": "0.1", "ISPIN": "2"}


@dataclass(frozen=True)
class Cell:
    """name: of the folder; atoms: makes the structure before the displacement; mesh: Gamma-centred; tags: of INCAR."""

    name: str
    atoms: Callable[[], Atoms]
    mesh: tuple[int, int, int]
    cutoff: int
    tags: dict[str, str] = field(default_factory=lambda: INSULATOR)

    def write(self, folder: Path, **more: str) -> Path:
        """The three input files, with more tags; the displacement depends on the name alone."""
        folder.mkdir(parents=True, exist_ok=True)
        atoms = self.atoms()
        atoms = atoms[np.argsort(atoms.get_chemical_symbols(), kind="stable")]
        atoms.rattle(SHIFT, seed=sum(map(ord, self.name)))
        write(folder / "POSCAR", atoms, format="vasp", direct=True)
        tags = {"SYSTEM": self.name, "ENCUT": str(self.cutoff), **self.tags, **more, "LWAVE": ".FALSE."}
        (folder / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in tags.items()))
        (folder / "KPOINTS").write_text("mesh\n0\nGamma\n{} {} {}\n".format(*self.mesh))
        return folder


def _boxed(name: str, edges: tuple[float, float, float]) -> Atoms:
    atoms = molecule(name, cell=edges, pbc=True)
    atoms.center()
    return atoms


def _rutile(metal: str, a: float, c: float, u: float) -> Atoms:
    cell = [a, a, c, 90, 90, 90]
    return crystal([metal, "O"], [(0, 0, 0), (u, u, 0)], spacegroup=136, cellpar=cell)


def _quartz() -> Atoms:
    sites = [(0.4697, 0, 1 / 3), (0.4135, 0.2669, 0.7858)]
    return crystal(["Si", "O"], sites, spacegroup=152, cellpar=[4.916, 4.916, 5.405, 90, 90, 120])


def _perovskite(corner: str, centre: str, a: float) -> Atoms:
    places = [(0, 0, 0), (0.5, 0.5, 0.5), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)]
    return Atoms([corner, centre, "O", "O", "O"], scaled_positions=places, cell=[a, a, a], pbc=True)


def _rock_salt_layers(metal: str, a: float) -> Atoms:
    """Two metal and two oxygen atoms; (111) layers may alternate in spin."""
    cell = 0.5 * a * np.array([[2.0, 1, 1], [1, 2, 1], [1, 1, 2]])
    places = [(0, 0, 0), (0.5, 0.5, 0.5), (0.25, 0.25, 0.25), (0.75, 0.75, 0.75)]
    return Atoms([metal, metal, "O", "O"], scaled_positions=places, cell=cell, pbc=True)


def _monoxide_on_copper() -> Atoms:
    slab = fcc100("Cu", (1, 1, 3), a=3.615, vacuum=4.5, periodic=True)
    add_adsorbate(slab, molecule("CO")[[1, 0]], 1.85, "ontop")
    return slab


def _graphene() -> Atoms:
    cell = [[2.46, 0, 0], [-1.23, 2.1304, 0], [0, 0, 8.0]]
    return Atoms("C2", scaled_positions=[(0, 0, 0.5), (1 / 3, 2 / 3, 0.5)], cell=cell, pbc=True)


def _disulfide() -> Atoms:
    layer = mx2("MoS2", "2H", a=3.18, thickness=3.13, vacuum=4.0)
    layer.pbc = True
    return layer


CELLS = (
    Cell("si", lambda: bulk("Si", "diamond", 5.43), (3, 3, 3), 250),
    Cell("gaas", lambda: bulk("GaAs", "zincblende", 5.65), (2, 2, 2), 300),
    Cell("gan", lambda: bulk("GaN", "wurtzite", 3.19, 5.189), (2, 2, 2), 400),
    Cell("cdte", lambda: bulk("CdTe", "zincblende", 6.48), (2, 2, 2), 300),
    Cell("nacl", lambda: bulk("NaCl", "rocksalt", 5.64), (2, 2, 2), 350),
    Cell("mgo", lambda: bulk("MgO", "rocksalt", 4.21), (2, 2, 2), 400),
    Cell("tio2", lambda: _rutile("Ti", 4.594, 2.959, 0.305), (1, 1, 2), 400),
    Cell("quartz", _quartz, (1, 1, 1), 400),
    Cell("srtio3", lambda: _perovskite("Sr", "Ti", 3.905), (2, 2, 2), 400),
    Cell("al", lambda: bulk("Al", "fcc", 4.05, cubic=True), (3, 3, 3), 240, METAL),
    Cell("cu", lambda: bulk("Cu", "fcc", 3.615, cubic=True), (2, 2, 2), 350, METAL),
    Cell("fe", lambda: bulk("Fe", "bcc", 2.87, cubic=True), (3, 3, 3), 320, MAGNET | {"MAGMOM": "2*2.5"}),
    Cell("co", lambda: bulk("Co", "hcp", 2.507, 4.069), (3, 3, 2), 320, MAGNET | {"MAGMOM": "2*1.8"}),
    Cell("nio", lambda: _rock_salt_layers("Ni", 4.177), (2, 2, 2), 400,
         INSULATOR | {"ISPIN": "2", "MAGMOM": "2 -2 0 0", "LDAU": ".TRUE.", "LDAUL": "2 -1", "LDAUU": "5 0"}),
    Cell("al_slab", lambda: fcc111("Al", (1, 1, 5), a=4.05, vacuum=5.0, periodic=True), (4, 4, 1), 240, METAL),
    Cell("cu_slab_co", _monoxide_on_copper, (3, 3, 1), 400, METAL),
    Cell("graphene", _graphene, (4, 4, 1), 400),
    Cell("mos2", _disulfide, (3, 3, 1), 350),
    Cell("water", lambda: _boxed("H2O", (6.0, 6.5, 7.0)), (1, 1, 1), 400),
    Cell("o2", lambda: _boxed("O2", (5.5, 5.0, 6.0)), (1, 1, 1), 400, INSULATOR | {"ISPIN": "2", "MAGMOM": "2*1"}),
)  # fmt: skip
