"""Densities of chosen orbitals, as PARCHG holds them.

    ρ(R) = Σ_k w_k Σ_n g |ψ̃_nk(R)|² + n̂,   the chosen orbitals full, w_k over the chosen k-points with sum one

averaged over the symmetry of the crystal, so that a k-point stands for its star.  The mean of the values is the number
of electrons that the orbitals hold: 2 for each band, 1 of each spin.
"""

import torch

from eigenwerk.dft.after.fields.charge import charge_blocks
from eigenwerk.dft.density.symmetrise import Symmetriser
from eigenwerk.dft.inputs.steps.field_files import BandSelection
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.bands import density_of_bands
from eigenwerk.dft.scf.state import State
from eigenwerk.io.vasp.volumetric import GridBlock, Volumetric
from eigenwerk.units import HARTREE_EV


def partial_charges(
    state: State, atoms: PawAtoms, symmetrise: Symmetriser, selection: BandSelection
) -> dict[str, Volumetric]:
    """The files, by name; an empty one for a choice without orbitals is left out.  All ranks call it together."""
    chosen_skn, found = chosen_orbitals(state, selection), {}
    for name, part_skn in _parts(chosen_skn, selection).items():
        weight_k = state.system.basis.weight_k.cpu() * part_skn.any(0).any(1)
        if selection.points or selection.per_point:
            weight_k = weight_k / weight_k.sum()
        filling_skn = part_skn * weight_k[:, None] * state.system.basis.spin.degeneracy
        density = symmetrise(density_of_bands(atoms, state.coeff_sknG, filling_skn))
        blocks = charge_blocks(density, atoms, 0)
        found[name] = Volumetric(tuple(GridBlock(block.value_R) for block in blocks), {})
    return found


def chosen_orbitals(state: State, selection: BandSelection) -> torch.Tensor:
    """Which orbitals a selection means, (s, k, n)."""
    eig_skn = state.eig_skn.cpu()
    chosen_skn = torch.ones_like(eig_skn, dtype=torch.bool)
    if selection.window is not None:
        filled = state.occupations
        level_s = filled.separate_levels or (filled.fermi_level,) * len(eig_skn)
        level = torch.tensor(level_s)[:, None, None] * HARTREE_EV
        energy_skn = eig_skn * HARTREE_EV
        zero = level if selection.relative else 0.0
        low, high = selection.window
        above_skn = energy_skn <= (level if high is None else zero + high)
        chosen_skn = (energy_skn >= zero + low) & above_skn
    elif selection.bands:
        chosen_skn[:] = False
        chosen_skn[..., list(selection.bands)] = True
    if selection.points:
        here_k = torch.zeros(eig_skn.shape[1], dtype=torch.bool)
        here_k[list(selection.points)] = True
        chosen_skn &= here_k[:, None]
    return chosen_skn


def _parts(chosen_skn: torch.Tensor, selection: BandSelection) -> dict[str, torch.Tensor]:
    """One selection for each file."""
    bands = torch.nonzero(chosen_skn.any(0).any(0)).flatten().tolist() if selection.per_band else [None]
    points = torch.nonzero(chosen_skn.any(0).any(1)).flatten().tolist() if selection.per_point else [None]
    parts = {}
    for band in bands:
        for point in points:
            part_skn = chosen_skn.clone()
            if band is not None:
                part_skn[..., torch.arange(chosen_skn.shape[2]) != band] = False
            if point is not None:
                part_skn[:, torch.arange(chosen_skn.shape[1]) != point] = False
            words = "ALLB" if band is None else f"{band + 1:04d}", "ALLK" if point is None else f"{point + 1:04d}"
            if part_skn.any():
                parts["PARCHG" if band is None and point is None else f"PARCHG.{words[0]}.{words[1]}"] = part_skn
    return parts
