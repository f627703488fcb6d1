"""What a calculation stands on: plane waves and PAW tables, as parameters ask for them."""

from collections.abc import Mapping
from dataclasses import replace

from eigenwerk.dft.basis.grids import GridSizes, wave_limits
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis, make_basis
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.non_local.atom import atomic_non_local
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.filtered import filtered_projectors
from eigenwerk.dft.paw.setup import make_setup
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.dft.spin.form import OF_ISPIN
from eigenwerk.dft.terms.reference_atoms import reference_energy
from eigenwerk.functionals.table import find_functional
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.parallel.runtime import Runtime


def waves_of(given: Parameters, structure: Structure, kpoints: KPoints, runtime: Runtime, real: bool) -> PlaneWaveBasis:
    """Plane waves and grids; real: see `make_basis`."""
    grids = None
    if given.wave_grid is not None and given.fine_grid is not None:
        grids = GridSizes(given.wave_grid, given.fine_grid)
    with runtime.trace.span("basis"):
        spin = OF_ISPIN[given.spins]
        return make_basis(structure, kpoints, given.cutoff, given.precision, runtime, grids, real, spin)


def atoms_of(given: Parameters, basis: PlaneWaveBasis, datasets: Mapping[str, PawDataset]) -> PawAtoms:
    """PAW tables on plane waves, with projectors for the wave grid if they are to be used in real space."""
    structure, accuracy, filtered = basis.structure, given.real_space, None
    with basis.runtime.trace.span("data sets"):
        data = {symbol: datasets[symbol] for symbol in structure.species}
        setups = {symbol: make_setup(one, _reference(one, given)) for symbol, one in data.items()}
        if accuracy:
            limits = wave_limits(structure, basis.grids, given.cutoff)
            filtered = {symbol: filtered_projectors(one, limits, accuracy[symbol]) for symbol, one in data.items()}
        return PawAtoms(basis, setups, filtered)


def _reference(data: PawDataset, given: Parameters) -> float:
    """Energy of the atom from which energies count: of hybrids that of the functional that they are made of."""
    if given.non_local is None:
        return reference_energy(data, find_functional(given.functional))
    whole = {"fraction": 0.0, "screening": 0.0, "gradient_exchange": 1.0, "local_exchange": 1.0}
    shares = given.hybrid and replace(given.hybrid, **whole)
    functional = find_functional(given.functional, shares)
    return reference_energy(data, functional) + atomic_non_local(data, given.non_local)
