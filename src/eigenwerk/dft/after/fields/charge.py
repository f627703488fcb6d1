"""The valence density as CHGCAR holds it, and a start from it.

    ρ(R) = Ω Σ_g [ñ(g) + n̂(g)] exp(i g·R)

on the density grid, ñ the smooth density and n̂ the compensation charges of its occupancies D, which follow behind the
values; the mean of ρ is the number of valence electrons.  Two spins: their sum and their difference.  On the way back
n̂ is made of D again and taken off.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from eigenwerk.dft.after.fields.occupancies import coupled, highest, uncoupled
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.density import Density, electrons_of, moment_per_atom, moved
from eigenwerk.dft.inputs.fitting_files import (
    SAME_PLACE,
    moved_by,
    require_fitting,
    require_kept,
    require_lmaxmix,
    without_occupancies,
)
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.start.carried import with_electrons
from eigenwerk.dft.scf.state import StartingPoint
from eigenwerk.dft.spin.form import COLLINEAR, UNPOLARISED
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.io.vasp.volumetric import GridBlock, Volumetric, read_volumetric
from eigenwerk.units import BOHR_ANGSTROM

COUNTED = 1e-3
"""Electrons that a file may be off by its digits."""

UNMAGNETIC = 1e-3
"""Bohr magnetons in a cell that count as none where the density of a run with spin is kept without: levels split by
about a millielectronvolt."""


def charge_blocks(density: Density, atoms: PawAtoms, largest: int) -> tuple[GridBlock, ...]:
    """The blocks of CHGCAR; largest: LMAXMIX."""
    total = density.map(density.spin.separated)
    whole_sg = _with_compensation(total, atoms)
    moments = moment_per_atom(density, atoms) if density.spin.polarised else None
    blocks = []
    for component, (whole_g, occupancy_x) in enumerate(zip(whole_sg, total.occupancy_sx, strict=True)):
        value_R = atoms.basis.fine_map.to_grid(whole_g * atoms.basis.volume).cpu().numpy()
        moment_a = moments if component == 0 else None
        blocks.append(GridBlock(value_R, coupled(atoms, occupancy_x, largest), moment_a))
    return tuple(blocks)


def _with_compensation(total: Density, atoms: PawAtoms) -> torch.Tensor:
    """ñ + n̂ of components, (s, g) on the electrostatic sphere."""
    whole_sg = atoms.valence_compensation(total.occupancy_sx, whole=True)
    whole_sg[:, : total.density_sg.shape[1]] += total.density_sg
    return whole_sg


def data_sets_of(datasets: Mapping[str, PawDataset], structure: Structure) -> dict[str, str]:
    """Checksums by element, as the mark of a file has them."""
    return {symbol: datasets[symbol].md5[:8] for symbol in structure.species}


def charge_start(path: str | Path, calculation: Calculation, kept: bool = False) -> StartingPoint:
    """Where a calculation begins with the density of a CHGCAR.

    Atoms that have moved take their density along, and the density is scaled to the wanted number of electrons.  Raises
    InputError for a file of another cell, grid or species, and for occupancies of other PAW data.
    kept: the density is to stay as it is (ICHARG = 11); then other places, spins and electrons are errors, too.
    """
    head, file = read_volumetric(path)
    atoms, name, datasets = calculation.atoms, Path(path).name, calculation.datasets
    checksums = {symbol: data.md5 for symbol, data in datasets.items()}
    bare = not any(block.occupancies for block in file.blocks)
    require_fitting(head, calculation.structure, calculation.basis.cutoff, {} if bare else checksums, name)
    basis, notes = atoms.basis, []
    needed = max(highest(species.setup) for species in atoms.layout.species)
    largest = needed if bare else _largest(name, file, atoms)
    if bare:
        notes.append(without_occupancies(name, kept))
    if largest < needed:
        notes.append(
            f"{name} was written with LMAXMIX = {largest}: what is behind l = {largest} in the spheres starts from "
            f"zero (LMAXMIX = {needed}, or no LMAXMIX, keeps all)"
        )
    value_sR = basis.runtime.tensor(np.stack([block.value_R for block in file.blocks]))
    if bare:
        occupancy_sx = _of_atoms(calculation, len(file.blocks))
    else:
        occupancy_sx = torch.stack([uncoupled(atoms, block.occupancies, largest) for block in file.blocks])
    whole_sg = _waves(value_sR, basis) / basis.volume
    if head.size_c != basis.grids.fine:
        other = " x ".join(map(str, head.size_c))
        notes.append(f"{name} has another grid ({other}); its waves within the cutoff count")
    spin = COLLINEAR if len(file.blocks) == 2 else UNPOLARISED
    total = Density.of(whole_sg - atoms.valence_compensation(occupancy_sx), occupancy_sx, spin)
    density = total.map(spin.joined)
    old = Structure(basis.structure.lattice_cv, basis.structure.symbols, head.poscar.scaled_ac)
    distance = moved_by(head, basis.structure)
    if kept:
        magnetised = float(value_sR[1:].abs().sum()) / value_sR[0].numel()
        _require_same(name, distance, density, calculation, magnetised)
    if distance > SAME_PLACE:
        notes.append(f"atoms have moved by up to {distance * BOHR_ANGSTROM:.3f} Å")
        density = moved(density, atoms, old, torch.ones_like(basis.norm2_g[: basis.density_count]))
    if density.spin != basis.spin:
        notes.append(f"ISPIN was {density.spin.components}, now it is {basis.spin.components}")
    return StartingPoint(with_electrons(density, atoms, calculation.parameters.electrons), notes=tuple(notes))


def _of_atoms(calculation: Calculation, components: int) -> torch.Tensor:
    """Occupancies of superposed atoms, their sum over spins and, of two components, the difference."""
    start = calculation.starting_density()
    occupancy_sx = start.map(start.spin.separated).occupancy_sx[:components]
    missing = components - len(occupancy_sx)
    return torch.cat([occupancy_sx, torch.zeros_like(occupancy_sx[:1]).expand(missing, -1)])


def _waves(value_sR: torch.Tensor, basis: PlaneWaveBasis) -> torch.Tensor:
    """Coefficients of the waves of a density, (s, g), from its values on a grid that holds them."""
    if value_sR.shape[1:] == torch.Size(basis.grids.fine):
        return basis.fine_map.from_grid(value_sR, basis.density_count)
    coeff_sR = torch.fft.rfftn(value_sR, dim=(-3, -2, -1), norm="forward")
    a_g, b_g, c_g = basis.index_gc[: basis.density_count].unbind(1)
    # of a real field f(-g) = f(g)*, and rfftn gives half of them: 0 <= c
    sign_g = torch.where(c_g < 0, -1, 1)
    size_a, size_b = value_sR.shape[1:3]
    coeff_sg = coeff_sR[:, sign_g * a_g % size_a, sign_g * b_g % size_b, sign_g * c_g]
    return torch.where(c_g < 0, coeff_sg.conj(), coeff_sg)


def _require_same(
    name: str, distance: float, density: Density, calculation: Calculation, magnetised: float
) -> None:
    """Raise InputError unless a density can be kept as it is.  magnetised: ∫ |m|, Bohr magnetons."""
    spins, wanted = density.spin.components, calculation.basis.spin.components
    if wanted == 1 and magnetised <= UNMAGNETIC:  # a workflow that found no moment goes on without spin
        spins = 1
    electrons = float(density.spin.total(electrons_of(density, calculation.atoms)))
    needed = calculation.parameters.electrons
    require_kept(
        name, distance,
        f"it was made with ISPIN = {spins}, and here ISPIN = {wanted}" if spins != wanted else "",
        f"it has {electrons:.3f} electrons, and here there are {needed:g}" if abs(electrons - needed) > COUNTED else "",
    )  # fmt: skip


def _largest(name: str, file: Volumetric, atoms: PawAtoms) -> int:
    """The LMAXMIX with which a file was written, told by how many numbers its atoms have."""
    counts_x = [tuple(len(numbers) for numbers in block.occupancies) for block in file.blocks]
    channels = {species.setup.symbol: species.setup.l_j for species in atoms.layout.species}
    alike = len(set(counts_x)) == 1 and len(file.blocks) <= 2
    fields = f"{len(file.blocks)} field(s)"
    return require_lmaxmix(name, channels, atoms.basis.structure.symbols, counts_x[0] if alike else (), fields)
