"""Reference jobs on which the solvers are compared, as folders with INCAR, POSCAR and KPOINTS."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

FCC = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))
OCTAHEDRAL = ((0.5, 0.5, 0.5), (0.5, 0.0, 0.0), (0.0, 0.5, 0.0), (0.0, 0.0, 0.5))


@dataclass(frozen=True)
class Case:
    """cell: rows, angstrom; sites: element -> fractional positions; mesh: Gamma-centred; incar: its lines."""

    name: str
    cell: np.ndarray
    sites: dict[str, np.ndarray]
    mesh: tuple[int, int, int]
    incar: str

    def write(self, folder: Path, algo: str) -> None:
        """The three input files, with ALGO."""
        folder.mkdir(parents=True, exist_ok=True)
        rows = [" ".join(f"{x:.10f}" for x in row) for row in self.cell]
        counts = " ".join(str(len(sites)) for sites in self.sites.values())
        places = [" ".join(f"{x:.10f}" for x in site) for sites in self.sites.values() for site in sites]
        text = "\n".join([self.name, "1.0", *rows, " ".join(self.sites), counts, "Direct", *places])
        (folder / "POSCAR").write_text(text + "\n")
        (folder / "KPOINTS").write_text("mesh\n0\nGamma\n{} {} {}\n".format(*self.mesh))
        (folder / "INCAR").write_text(f"{self.incar}\nALGO = {algo}\n")


def _cubic(a: float, b: float | None = None, c: float | None = None) -> np.ndarray:
    return np.diag([a, b or a, c or a])


def _shaken(sites: np.ndarray, seed: int = 1) -> np.ndarray:
    """Positions moved a little, so that no symmetry helps."""
    return sites + np.random.default_rng(seed).normal(size=sites.shape) * 0.003


def silicon(n: int) -> np.ndarray:
    """Sites of n x n x n conventional cells of silicon."""
    cells = np.array(list(product(range(n), repeat=3)))
    basis = np.array([np.add(site, d) for site in FCC for d in (0.0, 0.25)])
    return (cells[:, None] + basis).reshape(-1, 3) / n


def hafnia() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Monoclinic HfO2, P2_1/c: cell of R. Ruh and P. W. R. Corfield, J. Am. Ceram. Soc. 53, 126 (1970), sites of the
    isostructural ZrO2, C. J. Howard, R. J. Hill and B. E. Reichert, Acta Cryst. B 44, 116 (1988)."""
    a, b, c, beta = 5.1156, 5.1722, 5.2948, np.radians(99.18)
    cell = np.array([[a, 0, 0], [0, b, 0], [c * np.cos(beta), 0, c * np.sin(beta)]])

    def sites(x: float, y: float, z: float) -> list[tuple[float, float, float]]:
        return [(x, y, z), (-x, -y, -z), (-x, y + 0.5, 0.5 - z), (x, 0.5 - y, z + 0.5)]

    oxygen = sites(0.0700, 0.3317, 0.3447) + sites(0.4496, 0.7569, 0.4792)
    return cell, {"Hf": np.array(sites(0.2754, 0.0395, 0.2083)) % 1.0, "O": np.array(oxygen) % 1.0}


def aluminium_slab(layers: int, vacuum: float = 12.0) -> tuple[np.ndarray, np.ndarray]:
    """(100), one atom in each layer."""
    side, step = 4.05 / np.sqrt(2), 4.05 / 2
    height = layers * step + vacuum
    sites = [(i % 2 * 0.5, i % 2 * 0.5, (vacuum / 2 + i * step) / height) for i in range(layers)]
    return _cubic(side, side, height), np.array(sites)


def all_cases() -> list[Case]:
    """In order of size."""
    hafnia_cell, hafnia_sites = hafnia()
    slab_cell, slab_sites = aluminium_slab(12)
    rock_salt = {"Mg": np.array(FCC), "O": np.array(OCTAHEDRAL)}
    aluminium = np.array([
        [(i + x) / 2, (j + y) / 2, (k + z) / 4] for i, j, k in product(range(2), range(2), range(4)) for x, y, z in FCC
    ])  # fmt: skip
    return [
        Case("Si2", 5.43 * np.array(FCC[1:]), {"Si": np.array([(0.0,) * 3, (0.25,) * 3])}, (8, 8, 8),
             "ENCUT = 400\nISMEAR = 0\nSIGMA = 0.05\nEDIFF = 1E-6"),
        Case("Fe2", _cubic(2.87), {"Fe": np.array([(0.0,) * 3, (0.5,) * 3])}, (8, 8, 8),
             "ENCUT = 400\nISPIN = 2\nMAGMOM = 2*2.5\nISMEAR = 1\nSIGMA = 0.1\nEDIFF = 1E-6"),
        Case("MgO8", _cubic(4.25), rock_salt, (4, 4, 4), "ENCUT = 500\nISMEAR = 0\nSIGMA = 0.05\nEDIFF = 1E-6"),
        Case("Al12 slab", slab_cell, {"Al": slab_sites}, (6, 6, 1),
             "ENCUT = 240\nISMEAR = 1\nSIGMA = 0.2\nEDIFF = 1E-6"),
        Case("HfO2-12", hafnia_cell, hafnia_sites, (2, 2, 2), "ENCUT = 400\nISMEAR = 0\nSIGMA = 0.05\nEDIFF = 1E-6"),
        Case("Al64", _cubic(8.1, 8.1, 16.2), {"Al": _shaken(aluminium)}, (1, 1, 1),
             "ENCUT = 200\nISMEAR = 1\nSIGMA = 0.2\nEDIFF = 1E-6"),
        Case("Si64", _cubic(10.86), {"Si": _shaken(silicon(2))}, (1, 1, 1),
             "ENCUT = 250\nISMEAR = 0\nSIGMA = 0.05\nEDIFF = 1E-6"),
    ]  # fmt: skip
