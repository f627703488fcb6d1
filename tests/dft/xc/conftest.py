"""The functionals of an installed libxc, for pointwise comparison, and the points to compare at.

Run as a program (`python tests/dft/xc/conftest.py`) it writes the tables in tests/data/xc from the installed libxc.
"""

import csv
import ctypes
import ctypes.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from eigenwerk.functionals.table import FUNCTIONALS

PARTS = {tag: functional.libxc for tag, functional in FUNCTIONALS.items() if functional.libxc and tag != "PE"}
"""Our name of a functional and its parts in libxc, which has PBE with unrounded constants only."""

TABLES = Path(__file__).resolve().parents[2] / "data" / "xc"

SCREENED = {
    "PE-HOLE": ("gga_x_wpbeh", 0.11), "PS": ("gga_x_hjs_pbe_sol", 0.11), "CA": ("lda_x_erf", 0.11),
    "HSE06": ("hyb_gga_xc_hse06", None), "PBE0": ("hyb_gga_xc_pbeh", None), "B3LYP": ("hyb_gga_xc_b3lyp", None),
}  # fmt: skip
"""Short-range exchange of functionals, and hybrids: libxc's name and screening."""

_DOUBLES = ctypes.POINTER(ctypes.c_double)


@dataclass(frozen=True)
class Libxc:
    """Just enough of libxc's C interface: energies per volume and first derivatives."""

    library: ctypes.CDLL
    version: str

    def evaluate(self, part: str, density_sx: np.ndarray, sigma_yx: np.ndarray, omega: float | None = None):
        """Energy per volume (x,), vrho (s, x) and vsigma (1 or 3, x) of one part; omega: its screening, bohr^-1."""
        count = density_sx.shape[1]
        rho, sigma = np.ascontiguousarray(density_sx.T), np.ascontiguousarray(sigma_yx.T)
        energy, vrho, vsigma = np.zeros(count), np.zeros_like(rho), np.zeros_like(sigma)
        handle = self.library.xc_func_alloc()
        number = self.library.xc_functional_get_number(part.encode())
        if self.library.xc_func_init(handle, number, density_sx.shape[0]) != 0:
            raise ValueError(f"libxc has no functional {part}")
        if omega is not None:
            self.library.xc_func_set_ext_params_name(handle, b"_omega", omega)
        pointers = [array.ctypes.data_as(_DOUBLES) for array in (rho, sigma, energy, vrho, vsigma)]
        if part.startswith("lda"):
            self.library.xc_lda_exc_vxc(handle, count, pointers[0], *pointers[2:4])
        else:
            self.library.xc_gga_exc_vxc(handle, count, *pointers)
        self.library.xc_func_end(handle)
        self.library.xc_func_free(handle)
        return energy * density_sx.sum(axis=0), vrho.T, vsigma.T

    def number(self, part: str) -> int:
        return int(self.library.xc_functional_get_number(part.lower().encode()))

    def evaluate_sum(self, parts: Sequence[str], density_sx: np.ndarray, sigma_yx: np.ndarray):
        """The three arrays summed over parts, and the sums of their absolute values (the scale of rounding errors)."""
        pieces = [self.evaluate(part, density_sx, sigma_yx) for part in parts]
        arrays = [np.array([piece[i] for piece in pieces]) for i in range(3)]
        return [array.sum(axis=0) for array in arrays], [np.abs(array).sum(axis=0) for array in arrays]


def load_libxc() -> Libxc | None:
    """The installed libxc, None if there is none."""
    path = ctypes.util.find_library("xc")
    if path is None:
        return None
    library = ctypes.CDLL(path)
    library.xc_version_string.restype = ctypes.c_char_p
    library.xc_func_alloc.restype = ctypes.c_void_p
    library.xc_functional_get_number.argtypes = [ctypes.c_char_p]
    for name in ("xc_func_end", "xc_func_free"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    library.xc_func_set_ext_params_name.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double]
    library.xc_func_init.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    library.xc_lda_exc_vxc.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [_DOUBLES] * 3
    library.xc_gga_exc_vxc.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [_DOUBLES] * 5
    return Libxc(library, library.xc_version_string().decode())


def make_points(spins: int, densities: np.ndarray, reduced: Sequence[float], zetas: Sequence[float]):
    """density_sx and sigma_yx for every combination; reduced: |grad n| / (2 (3 pi^2)^(1/3) n^(4/3))."""
    if spins == 1:
        zetas = (0.0,)
    density, s, zeta = (axis.ravel() for axis in np.meshgrid(densities, reduced, zetas, indexing="ij"))
    gradient = s * 2 * (3 * np.pi**2) ** (1 / 3) * density ** (4 / 3)
    if spins == 1:
        return density[None], gradient[None] ** 2
    up, down = 0.5 * density * (1 + zeta), 0.5 * density * (1 - zeta)
    cosine = np.cos(np.arange(density.size))  # of the angle between the two gradients
    part_up, part_down = gradient * up / density, gradient * down / density
    return np.stack((up, down)), np.stack((part_up**2, part_up * part_down * cosine, part_down**2))


@pytest.fixture(scope="session")
def libxc() -> Libxc:
    """The installed libxc; skips where there is none."""
    found = load_libxc()
    if found is None:
        pytest.skip("libxc is not installed")
    return found


@pytest.fixture(scope="session")
def points():
    """points(spins): n from 1e-8 to 1e3, gradients from none to large, every polarisation short of a single spin."""

    def make(spins: int):
        return make_points(spins, np.logspace(-8, 3, 34), (0, 1e-6, 1e-2, 0.3, 1, 3, 10), (0, 1e-5, -0.3, 0.7, -0.99))

    return make


@pytest.fixture(scope="session")
def libxc_parts() -> dict[str, tuple[str, ...]]:
    return PARTS


@pytest.fixture(scope="session")
def tables() -> Path:
    """The folder of tabulated libxc values."""
    return TABLES


def _write_tables() -> None:
    libxc = load_libxc()
    if libxc is None:
        raise SystemExit("libxc is not installed")
    for spins, name in ((1, "unpolarised.csv"), (2, "polarised.csv")):
        density_sx, sigma_yx = make_points(
            spins, np.array([1e-8, 1e-4, 1e-2, 0.3, 10, 1e3]), (0, 0.1, 1, 5), (0, 0.4, -0.99)
        )
        parts = {ours: [(part, None) for part in parts] for ours, parts in PARTS.items()}
        _write_table(libxc, name, density_sx, sigma_yx, parts)
        # libxc has no s below 0.01 in the hole of PBEsol, and goes over to another formula at s = 1
        density_sx, sigma_yx = make_points(spins, np.array([1e-4, 1e-2, 0.1, 1, 30]), (0.02, 0.3, 0.9, 2, 4), (0, 0.4))
        hybrids = {ours: [part] for ours, part in SCREENED.items()}
        _write_table(libxc, f"hybrids_{name}", density_sx, sigma_yx, hybrids)


def _write_table(libxc: Libxc, name: str, density_sx: np.ndarray, sigma_yx: np.ndarray, parts_of: dict) -> None:
    axes = (("n",), ("sigma",)) if len(density_sx) == 1 else (("up", "down"), ("upup", "updown", "downdown"))
    columns = [*axes[0], *axes[1], "energy"] + [f"v_{name}" for name in (*axes[0], *axes[1])]
    with open(TABLES / name, "w", newline="") as file:
        file.write(f"# energy per volume and its derivatives, atomic units, computed with libxc {libxc.version}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["functional", *columns])
        for functional, parts in parts_of.items():
            pieces = [libxc.evaluate(part, density_sx, sigma_yx, omega) for part, omega in parts]
            energy, vrho, vsigma = (np.sum([piece[i] for piece in pieces], axis=0) for i in range(3))
            rows = np.vstack((density_sx, sigma_yx, energy[None], vrho, vsigma)).T
            writer.writerows([functional, *(repr(float(value)) for value in row)] for row in rows)


if __name__ == "__main__":
    _write_tables()
