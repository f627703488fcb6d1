"""Small crystals, quick to solve, for the tests of the plane-wave engine."""

import pickle
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from eigenwerk.dft.basis import fftw
from eigenwerk.dft.basis.plane_wave_basis import make_basis
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.density.density import Density, atomic_density
from eigenwerk.dft.inputs.steps import crystal as crystal_step
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.setup import Setup, make_setup
from eigenwerk.dft.plan import job_size
from eigenwerk.dft.settings.mixing import Mixing
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.io.paw.paw_library import choose_dataset
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

FCC = (1 - np.eye(3)) / 2
"""Primitive vectors of the fcc lattice in units of the cube's edge."""

SYSTEMS = {
    # name: (cell in angstrom, symbols, fractional positions, starting moments)
    "si": (5.43 * FCC, ("Si", "Si"), [[0, 0, 0], [0.25, 0.25, 0.25]], None),
    "si_bent": (5.43 * FCC, ("Si", "Si"), [[0.02, 0, -0.01], [0.26, 0.23, 0.25]], None),
    "al_pair": (
        [[2.86, 0.1, 0], [0, 2.86, 0], [0, 0.2, 4.05]], ("Al", "Al"), [[0.02, 0, 0.01], [0.5, 0.47, 0.5]], None,
    ),
    "al_layers": (np.diag([2.86, 2.9, 15.0]), ("Al", "Al"), [[0, 0, 0], [0.5, 0.45, 0.14]], None),
    "sic_bent": (
        [[3.1, 0.2, 0], [-0.1, 3.0, 0.3], [0.2, 0, 2.9]], ("Si", "C"), [[0.02, 0, 0.05], [0.55, 0.48, 0.5]], None,
    ),
    "fe_bent": (2.83 * np.eye(3), ("Fe", "Fe"), [[0, 0.01, 0], [0.52, 0.47, 0.5]], (2.5, 2.5)),
    "o2": (np.diag([3.2, 3.0, 3.6]), ("O", "O"), [[0.05, 0.02, 0.01], [0.1, 0.05, 0.35]], (1.0, 1.0)),
    # pairs of carbon and oxygen and two beryllium atoms, each its own partner, about a centre that is nowhere special
    "pairs": (
        [[3.4, 0.2, 0], [-0.1, 3.2, 0.3], [0.2, 0, 3.0]], ("C", "Be", "O", "C", "O", "Be"),
        [[0.23, 0.25, 0.17], [0.13, 0.12, 0.47], [0.6, 0.58, 0.2], [0.03, -0.01, -0.23], [-0.34, -0.34, -0.26],
         [0.63, 0.12, -0.03]], None,
    ),
    "mgo_bent": (4.21 * FCC, ("Mg", "O"), [[0.013, 0.02, 0.007], [0.5, 0.5, 0.5]], None),
    "lih_bent": (4.0 * FCC, ("Li", "H"), [[0, 0, 0], [0.53, 0.5, 0.46]], None),
}  # fmt: skip


@cache
def _dataset(symbol: str, functional: str = "PBE") -> PawDataset:
    return read_paw_xml(choose_dataset(symbol, functional))


@cache
def _setup(symbol: str, functional: str = "PBE") -> Setup:
    return make_setup(_dataset(symbol, functional))


def _structure(name: str) -> Structure:
    cell_cv, symbols, scaled_ac, moments = SYSTEMS[name]
    return Structure(np.array(cell_cv, float) / BOHR_ANGSTROM, symbols, np.array(scaled_ac, float), moments)


def _calculation(
    structure: Structure,
    *,
    mesh: tuple[int, int, int] = (1, 1, 1),
    shift: tuple[float, float, float] = (0.0, 0.0, 0.0),
    symmetry_level: int = -1,
    cutoff_eV: float = 150.0,
    functional: str = "PE",
    spins: int = 1,
    ismear: int = -1,
    sigma_eV: float = 0.1,
    bands: int | None = None,
    ediff_eV: float = 1e-8,
    real: bool = False,
    **more: object,
) -> Calculation:
    """A calculation in the user's units; `more` are fields of `Parameters`.

    real: real orbitals where the k-points allow it.  Tests that look at orbitals want complex ones, the slow twin;
    tests/dft/basis/test_wave_form.py compares the two.
    """
    data_functional = "LDA" if functional in ("CA", "PW92") else "PBE"
    datasets = {symbol: _dataset(symbol, data_functional) for symbol in structure.species}
    electrons = sum(datasets[symbol].valence for symbol in structure.symbols)
    symmetry = find_symmetry(structure, 1e-5 / BOHR_ANGSTROM, symmetry_level)
    parameters = Parameters(
        **{
            "cutoff": cutoff_eV / HARTREE_EV,
            "electrons": electrons,
            "bands": bands or int(np.ceil(electrons / 2 * 1.1)) + 3 + 2 * len(structure.symbols) * (spins - 1),
            "precision": "Accurate",
            "functional": functional,
            "spins": spins,
            "ismear": ismear,
            "width": sigma_eV / HARTREE_EV,
            "energy_tolerance": ediff_eV / HARTREE_EV,
            "mixing": Mixing(),
            **more,
        }
    )
    return Calculation(structure, mesh_kpoints(mesh, shift, True, symmetry), parameters, datasets, real=real)


def _disturbed(atoms: PawAtoms, spins: int, electrons: float, size: float = 0.02, seed: int = 1) -> Density:
    """Superposed atoms with smooth random changes that break every symmetry."""
    moment_a = None if spins == 1 else np.linspace(0.4, 0.9, len(atoms.basis.structure.symbols))
    start = atomic_density(atoms, electrons, moment_a)
    draw = np.random.default_rng(seed)
    count = atoms.basis.density_count
    noise_sg = draw.normal(size=(spins, count)) + 1j * draw.normal(size=(spins, count))
    damping_g = torch.exp(-atoms.basis.norm2_g[:count] / 4)
    mean = float(start.density_sg[:, 0].real.mean())
    change_sg = size * mean * torch.as_tensor(noise_sg) * damping_g
    change_sg[:, 0] = 0
    blocks = []
    for species in atoms.layout.species:
        i = species.setup.projector_count
        change = torch.as_tensor(draw.normal(size=(spins, species.count, i, i)))
        blocks.append(size * (change + change.mT))
    return Density.of(start.density_sg + change_sg, start.occupancy_sx + atoms.layout.flatten(blocks), start.spin)


def kept(function, answers={}):  # noqa: B006 (one for all modules of a session)
    """A function whose answer depends on its arguments alone, with the answers that it has given."""

    def ask(*arguments):
        key = function.__name__, pickle.dumps(arguments)
        if key not in answers:
            answers[key] = function(*arguments)
        return answers[key]

    return ask


@pytest.fixture(scope="module", autouse=True)
def known_crystals():
    """Hundreds of tests read inputs of a few crystals: operations, and waves of the density, are found once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crystal_step, "find_symmetry", kept(find_symmetry))
        patch.setattr(job_size, "count_density_waves", kept(job_size.count_density_waves))
        yield


@pytest.fixture(scope="session")
def dataset() -> Callable[..., PawDataset]:
    """(symbol, functional = "PBE") -> PAW data set of gpaw-data."""
    return _dataset


@pytest.fixture(scope="session")
def setup() -> Callable[..., Setup]:
    """(symbol, functional = "PBE") -> PAW tables."""
    return _setup


@pytest.fixture(scope="session")
def crystal() -> Callable[[str], Structure]:
    """The structure of one of `SYSTEMS`."""
    return _structure


@pytest.fixture(scope="session")
def calculation() -> Callable[..., Calculation]:
    """Structure and settings in eV -> Calculation; see `_calculation`."""
    return _calculation


@pytest.fixture(scope="session")
def disturbed() -> Callable[..., Density]:
    """(atoms, spins, electrons) -> a density without any symmetry."""
    return _disturbed


@pytest.fixture(scope="session")
def basis_of() -> Callable:
    """(structure, cutoff in eV, mesh) -> plane-wave basis without symmetry."""

    def build(structure, cutoff_eV=150.0, mesh=(1, 1, 1), precision="Accurate", level=-1):
        symmetry = find_symmetry(structure, 1e-5 / BOHR_ANGSTROM, level)
        kpoints = mesh_kpoints(mesh, (0.0, 0.0, 0.0), True, symmetry)
        return make_basis(structure, kpoints, cutoff_eV / HARTREE_EV, precision, real=False)

    return build


@pytest.fixture(scope="session")
def random_rotation() -> Callable[[int], np.ndarray]:
    """Seed -> proper rotation (3, 3) acting on columns."""
    return lambda seed: Rotation.random(random_state=seed).as_matrix()


@pytest.fixture
def fftw_always(monkeypatch):
    """FFTW serves, whatever is faster here, with plans of its own."""
    pytest.importorskip("pyfftw", reason="pyFFTW is not installed")
    monkeypatch.setattr(fftw, "_faster", lambda kind, times: True)
    monkeypatch.setattr(fftw, "_OF_THREAD", type(fftw._OF_THREAD)())
