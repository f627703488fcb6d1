"""GPAW as an oracle: its plane-wave mode with the short cuts of its default settings taken out.

Run with the Python of a GPAW installation (made for version 26.7), never imported by eigenwerk:

    python full_gpaw.py CASE [CASE ...] [--out FILE]      (default: all of cases.py, into results.json)

What is changed, each at one place, so that the discretisation is the plain one:

density_sphere    density, smooth cores and zero potential up to |g|²/2 <= 4 ecut (default: 2 ecut)
spectral_gradient gradients of the smooth density by FFT (default: finite differences)
fine_splines      radial functions resampled with 400 points by cubic splines (default: 25 points, parabolas)

A case with "fine_transform" in its settings also takes 2000 points and a radial Fourier transform with steps of
0.003 bohr instead of 0.049: data sets whose projectors end with a step at the radius (version 2 of the generator:
Cr.14, lanthanides) need it.
"""

import argparse
import sys
import time
from pathlib import Path
from tempfile import gettempdir

import gpaw
import gpaw.core.pwacf as atom_functions
import numpy as np
from ase import Atoms
from ase.units import Bohr, Ha
from cases import CASES
from gpaw.atom.radialgd import RadialGridDescriptor
from gpaw.core import PWDesc
from gpaw.ffbt import rescaled_fourier_bessel_transform
from gpaw.new.ase_interface import GPAW
from gpaw.new.pw.builder import PWDFTComponentsBuilder
from gpaw.new.xc import GGAFunctional
from gpaw.spline import Spline
from scipy.interpolate import CubicSpline

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from entries import changing, load  # noqa: E402

SPLINE_POINTS, FINE_SPLINE_POINTS = 400, 2000
TRANSFORM_POINTS, FINE_TRANSFORM_POINTS = 2**10, 2**14

RADIAL = {"spline": SPLINE_POINTS, "transform": TRANSFORM_POINTS}


class SpectralGradient:
    """d/dx_v on a periodic grid by FFT; the Nyquist component of an even grid is dropped."""

    def __init__(self, grid, v):
        axis_c = [np.fft.fftfreq(n, 1 / n) for n in grid.size_c]
        for axis, n in zip(axis_c, grid.size_c, strict=True):
            if n % 2 == 0:
                axis[n // 2] = 0.0
        index_cR = np.array(np.meshgrid(*axis_c, indexing="ij"))
        self.wave_R = 2 * np.pi * np.einsum("cR,c->R", index_cR.reshape(3, -1), grid.icell[:, v]).reshape(grid.size_c)

    def apply(self, function_R, out_R):
        out_R[:] = np.fft.ifftn(1j * self.wave_R * np.fft.fftn(function_R)).real

    def __call__(self, function, out):
        """The same on GPAW's array objects."""
        self.apply(function.data, out.data)


def density_sphere(factor=4.0):
    """Density sphere |g|²/2 <= factor * ecut, as far as the grid holds it."""

    def interpolation_desc(self):
        ecut = min(factor * self.ecut, self.grid.ekin_max())
        return PWDesc(ecut=ecut, cell=self.grid.cell, comm=self.grid.comm)

    patched = PWDFTComponentsBuilder.__dict__["interpolation_desc"]
    patched.func = interpolation_desc


def spectral_gradient():
    """Replace the finite-difference gradients of gradient functionals."""
    original = GGAFunctional.__init__

    def init(self, xc, grid, xp=np):
        original(self, xc, grid, xp)
        self.grad_v = [SpectralGradient(grid, v) for v in range(3)]

    GGAFunctional.__init__ = init


def fine_splines():
    """Resample all radial functions f(r)/r^l finely."""

    def spline(self, a_g, rcut=None, l=0, points=None, backwards_compatible=True):
        if rcut is None:
            rcut = self.r_g[min(np.flatnonzero(a_g)[-1] + 1, len(a_g) - 1)]
        r_g = self.r_g[: len(a_g)]
        start = 1 if l > 0 else 0
        reduced = CubicSpline(r_g[start:], a_g[start:] / r_g[start:] ** l)
        return Spline.from_data(l, rcut, reduced(np.linspace(0, rcut, RADIAL["spline"] + 1)))

    RadialGridDescriptor.spline = spline
    transform = rescaled_fourier_bessel_transform
    atom_functions.rescaled_fourier_bessel_transform = lambda function: transform(function, RADIAL["transform"])


def friendly(n):
    """Smallest even number >= n with prime factors 2, 3, 5, 7."""
    n += n % 2
    while True:
        rest = n
        for prime in (2, 3, 5, 7):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 2


def grid_points(cell_cv, ecut_eV, shift=0.0):
    """A grid that holds all |q + g| <= 2 Gmax, with q up to shift along each axis; axes of one length get one size."""
    radius = 2 * np.sqrt(2 * ecut_eV / Ha)
    return [
        friendly(2 * int(radius * np.linalg.norm(a_v) / Bohr / (2 * np.pi) + shift + 1e-9) + 1) for a_v in cell_cv
    ]


def run(structure, settings):
    """One calculation; structure and settings as in the reference files."""
    atoms = Atoms(
        structure["symbols"], cell=structure["cell_A"], scaled_positions=structure["scaled_positions"], pbc=True,
        magmoms=structure.get("initial_magmoms"),
    )
    fine = settings.get("fine_transform", False)
    RADIAL["spline"] = FINE_SPLINE_POINTS if fine else SPLINE_POINTS
    RADIAL["transform"] = FINE_TRANSFORM_POINTS if fine else TRANSFORM_POINTS
    ecut = settings["ecut_eV"]
    gpts = settings.get("gpts") or grid_points(atoms.cell.array, ecut)
    atoms.calc = GPAW(
        mode={"name": "pw", "ecut": ecut}, xc=settings["xc"], gpts=gpts,
        kpts={"size": settings["kpts_size"], "gamma": True}, occupations=settings["occupations"],
        convergence=settings["convergence"], nbands=settings["nbands"], setups=settings.get("setups", {}),
        txt=settings.get("log", "-"), **settings.get("more", {}),
    )
    started = time.perf_counter()
    extrapolated = atoms.get_potential_energy()
    # before anything else is asked: reading occupations changes them in place, and then the forces are wrong
    force_av = atoms.get_forces()
    calc = atoms.calc
    spins = calc.get_number_of_spins()
    kpts = calc.get_ibz_k_points()
    dft = calc.dft
    energies = {name: float(value) * Ha for name, value in dft.energies._energies.items()}
    results = {
        "free_energy_eV": float(atoms.get_potential_energy(force_consistent=True)),
        "energy_extrapolated_eV": float(extrapolated),
        "energy_components_eV": energies,
        "ibz_kpoints": kpts.tolist(), "ibz_weights": calc.get_k_point_weights().tolist(),
        "nbands_converged": settings["bands_to_compare"],
        "eigenvalues_eV": [[calc.get_eigenvalues(k, s).tolist() for k in range(len(kpts))] for s in range(spins)],
        "occupations": [
            [(calc.get_occupation_numbers(k, s) / calc.get_k_point_weights()[k] / (2 if spins == 1 else 1)).tolist()
             for k in range(len(kpts))] for s in range(spins)
        ],
        "fermi_level_eV": float(calc.get_fermi_level()),
        "forces_eV_per_A": force_av.tolist(),
        "fft_grid_coarse": [int(n) for n in dft.density.nt_sR.desc.size_c],
        "seconds": time.perf_counter() - started,
        "setups": {s.symbol: {"file": Path(s.filename).name, "md5": s.fingerprint} for s in calc.setups},
    }
    if spins == 2:
        results["moment_muB"] = float(calc.get_magnetic_moment())
        results["moments_muB"] = [float(m) for m in calc.get_magnetic_moments()]
    return results


def main(cases=CASES, out=HERE / "results.json", script="full_gpaw.py", solve=run):
    """Command line.

    cases: by name, as those of cases.py; out: the file of results; script: what results name as their maker; solve:
    `run`, or what stands around it.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--out", type=Path, default=out)
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    density_sphere()
    spectral_gradient()
    fine_splines()
    for name in given.cases or cases:
        if name in load(given.out) and not given.again:
            continue
        case, log = cases[name], str(Path(gettempdir()) / f"{Path(script).stem}_{name}.txt")
        try:
            results = solve(case["structure"], {**case["settings"], "log": log})
        except Exception as error:
            print(name, "failed:", repr(error), flush=True)
            continue
        with changing(given.out) as stored:
            stored[name] = {"code": f"GPAW {gpaw.__version__}, {script}", **case, "results": results}
        print(name, results["free_energy_eV"], results.get("moment_muB"), f"{results['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
