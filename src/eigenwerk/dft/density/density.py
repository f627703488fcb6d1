"""The density of valence electrons: smooth part on the density sphere and one-centre occupancies.

n_s(r) = Σ_k w_k Σ_n g f_skn |ψ̃_skn(r)|²       (smooth part, without cores), electrons per bohr³
D_s,ij = Σ_k w_k Σ_n g f_skn <p̃_i|ψ̃><ψ̃|p̃_j>  (real where spins are collinear: the rest vanishes by time reversal)

with g = 2 for one spin channel and 1 for two, occupations f in 0..1.
"""

from dataclasses import replace
from math import pi, sqrt

import numpy as np
import torch

from eigenwerk.dft.basis.distribution import ToBands, grid_blocks, own_bands, transfer_blocks
from eigenwerk.dft.basis.lattice import Lattice, length, square
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.basis.wave_form import SphereMap
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.fields import KINDS, Fields
from eigenwerk.dft.paw.atom_layout import Species
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.setup import Setup
from eigenwerk.dft.spin.form import COLLINEAR, UNPOLARISED, Spin
from eigenwerk.parallel.threads import each, threads_for


class Density(Fields):
    """Valence density of a state: the fields "density" (s, g) and "occupancy" (s, x)."""

    @staticmethod
    def of(density_sg: torch.Tensor, occupancy_sx: torch.Tensor, spin: Spin) -> "Density":
        """From its two parts."""
        return Density({"density": density_sg, "occupancy": occupancy_sx}, spin)

    @property
    def density_sg(self) -> torch.Tensor:
        """The smooth part on the density sphere."""
        return self.value["density"]

    @property
    def occupancy_sx(self) -> torch.Tensor:
        """D of all atoms in flat order."""
        return self.value["occupancy"]


def electrons_of(density: Density, atoms: PawAtoms) -> torch.Tensor:
    """Valence electrons per spin: Ω n(0) + Σ ΔS_ij D_ij; (s,)."""
    count_s = atoms.basis.volume * density.density_sg[:, 0].real
    for species in atoms.layout.species:
        overlap_ij = atoms.constant(species.setup, "overlap_ij")
        count_s = count_s + (atoms.layout.blocks(density.occupancy_sx, species) * overlap_ij).sum((1, 2, 3))
    return count_s


def moment_per_atom(density: Density, atoms: PawAtoms) -> np.ndarray:
    """Magnetic moment inside each augmentation sphere, Σ_ij (D_up - D_down)_ij <φ_i|φ_j>_sphere; (a,)."""
    moment_a = np.zeros(len(atoms.basis.structure.symbols))
    if density.spin.polarised:
        polarisation_x = density.spin.magnetisation(density.occupancy_sx)
        for species in atoms.layout.species:
            inside_ij = atoms.runtime.tensor(species.setup.sphere_overlap_ij)
            blocks_aij = atoms.layout.blocks(polarisation_x, species)
            moment_a[species.atom_a] = (blocks_aij * inside_ij).sum((1, 2)).cpu().numpy()
    return moment_a


def filled_bands(filling_xn: torch.Tensor) -> int:
    """How many bands hold electrons anywhere, with all below them; (..., n)."""
    used_n = torch.nonzero((filling_xn.abs() > 1e-14).flatten(0, -2).any(0)).flatten()
    return int(used_n.max()) + 1 if len(used_n) else 0


def band_density(
    basis: PlaneWaveBasis, coeff_knG: torch.Tensor, filling_kn: torch.Tensor, sphere_map: SphereMap | None = None
) -> torch.Tensor:
    """Σ filling |ψ̃|² on the wave grid over the k-points of this group and this rank's share of bands; (R, R, R), or of
    all components that a channel gives, (z, R, R, R).

    filling = w_k g f, best in host memory: its signs are looked at.  sphere_map: that of the basis, unless the orbitals
    are in another precision.  The sum over all ranks is the density.
    """
    size_c = basis.grids.wave
    points = size_c[0] * size_c[1] * size_c[2]
    nothing_Ry = torch.zeros((points, basis.spin.sums), dtype=basis.runtime.real, device=basis.runtime.device)
    total_R = basis.spin.density(nothing_Ry)
    comm, limit = basis.runtime.bands, basis.runtime.block_bytes
    sphere_map = sphere_map or basis.sphere_map
    bands, signed = filled_bands(filling_kn), bool((filling_kn < 0).any())
    filling_kn = filling_kn.to(total_R.device)
    for k, n in transfer_blocks(comm, coeff_knG[:, :bands], limit):
        own_kbW = ToBands(comm, coeff_knG[k, n]).wait()
        filling_kb = filling_kn[k, n][:, own_bands(comm, n.stop - n.start)]
        _add_squares(basis, own_kbW[:, : filling_kb.shape[1]], filling_kb, sphere_map.problems(k), total_R, signed)
    return total_R.unflatten(-1, size_c) / basis.volume


def _add_squares(
    basis: PlaneWaveBasis, x_kbG: torch.Tensor, filling_kb: torch.Tensor, sphere_map: SphereMap, out_R: torch.Tensor,
    signed: bool,
) -> None:  # fmt: skip
    """out_R += Σ filling |ψ̃|² of some whole orbitals.

    Each is multiplied by the root of its filling before: two real orbitals on one grid are told apart by nothing.  The
    few negative fillings of Methfessel-Paxton smearing (signed: there are some) come apart.  Of orbitals that are real
    by inversion the mixed term -2 √(f₁f₂) Im ψ₁*ψ₂ is odd under it, and falls out when the density is symmetrised.
    """
    if signed:
        _add_squares(basis, x_kbG, filling_kb.clamp_min(0), sphere_map, out_R, False)
        negative_b, negative_R = (filling_kb < 0).any(0), torch.zeros_like(out_R)
        negative_kb = -filling_kb[:, negative_b].clamp_max(0)
        _add_squares(basis, x_kbG[:, negative_b], negative_kb, sphere_map, negative_R, False)
        out_R -= negative_R
        return
    spin, threads, blocks = basis.spin, threads_for(out_R.device), list(grid_blocks(basis, x_kbG))
    root_kb = filling_kb.sqrt().to(x_kbG.dtype.to_real())

    def squares(first: int) -> torch.Tensor:
        total_Ry = out_R.new_zeros((out_R.shape[-1], spin.sums))
        for k, b in blocks[first::threads]:
            grid_ktR = sphere_map.problems(k).to_grid(x_kbG[k, b] * root_kb[k, b, None])
            total_Ry += spin.squares(grid_ktR.flatten(2).flatten(0, 1), out_R.dtype)
        return spin.density(total_Ry)

    for total_R in each(squares, range(min(threads, len(blocks))), threads):
        out_R += total_R


def band_occupancies(atoms: PawAtoms, proj_knI: torch.Tensor, filling_kn: torch.Tensor) -> torch.Tensor:
    """Σ filling P_i P_j* of a block of k-points, in flat order; (x,), or of all that a channel gives, (z, x)."""
    blocks = []
    for species in atoms.layout.species:
        columns_ai = atoms.layout.columns(species, proj_knI.device)
        proj_ani = proj_knI[..., columns_ai].movedim(2, 0).flatten(1, 2)
        blocks.append(atoms.basis.spin.matrices(proj_ani, proj_ani * filling_kn.flatten()[:, None]))
    return atoms.layout.flatten(blocks)


def starting_density(atoms: PawAtoms, electrons: float) -> Density:
    """Superposed atoms with the starting moments of the structure, of one Bohr magneton where it has none."""
    structure = atoms.basis.structure
    moment_a = np.ones(len(structure.symbols)) if structure.magmom_a is None else structure.magmom_a
    return atomic_density(atoms, electrons, moment_a if atoms.basis.spin.polarised else None)


def moved(density: Density, atoms: PawAtoms, old: Structure, known_g: torch.Tensor) -> Density:
    """A density of the same atoms at the places, and in the cell, of an older structure, taken along to where they are.

    Σ_a ñ_a stands for what moves with the atoms, n - Σ_a ñ_a(old) + Σ_a ñ_a(new), with the moments that they have in
    their spheres; occupancies stay with their atoms.  density: on the waves of this basis by their integers, per volume
    of this cell; known_g: where it is known, elsewhere it becomes that of the atoms.
    """
    moment_a = moment_per_atom(density, atoms) if density.spin.polarised else None
    there, here = (superposed_atoms(atoms, density.spin, moment_a, place) for place in (old, None))

    def along(name: str, value_sx: torch.Tensor) -> torch.Tensor:
        if not KINDS[name].waves:
            return value_sx
        return value_sx - there.value[name] * known_g + here.value[name]

    return density.map_names(along)


def atomic_density(atoms: PawAtoms, electrons: float, moment_a: np.ndarray | None) -> Density:
    """`superposed_atoms` scaled to the number of electrons."""
    density = superposed_atoms(atoms, UNPOLARISED if moment_a is None else COLLINEAR, moment_a)
    return density.times(electrons / density.spin.total(electrons_of(density, atoms)))


def superposed_atoms(
    atoms: PawAtoms, spin: Spin, moment_a: np.ndarray | None = None, place: Structure | None = None
) -> Density:
    """Superposition of neutral spherical atoms.

    moment_a: starting moments (Bohr magneton), None for none.  The moment is put into the open channels of each atom
    (`polarised_occupancy`).  place: another structure of these atoms, whose waves have the same integers; per volume of
    this cell.
    """
    basis = atoms.basis
    shape = spin.components, basis.density_count
    density_sg = torch.zeros(shape, dtype=atoms.runtime.complex, device=atoms.runtime.device)
    blocks = []
    for species in atoms.layout.species:
        moments = np.zeros(species.count) if moment_a is None else moment_a[species.atom_a]
        occupancy_saj = np.array([polarised_occupancy(species.setup, m, spin) for m in moments]).swapaxes(0, 1)
        density_sg += _spherical_density(atoms, species, occupancy_saj, place)
        blocks.append(_spherical_blocks(atoms, species, occupancy_saj))
    return Density.of(density_sg, atoms.layout.flatten(blocks), spin)


def polarised_occupancy(setup: Setup, moment: float | np.ndarray, spin: Spin) -> np.ndarray:
    """Electrons of each component and channel of an atom with a given moment, a number or a vector; (s, j).

    The moment goes to the channels in proportion to what each can carry by Hund's rule,
    min(f, 2(2l+1) - f); what exceeds that, or a closed-shell atom's moment, to the filled channels.
    """
    filled_j = setup.atom_occupancy_j
    if not spin.polarised:
        return filled_j[None]
    capacity_j = 2 * (2 * np.array(setup.l_j) + 1)
    open_j = np.clip(np.minimum(filled_j, capacity_j - filled_j), 0, None)
    moment_v = np.atleast_1d(moment)
    size = sqrt(moment_v @ moment_v)
    by_hund = min(size, open_j.sum())
    moment_j = open_j * (by_hund / open_j.sum()) if open_j.sum() > 0 else np.zeros_like(open_j)
    rest_j = filled_j - moment_j
    if size > by_hund and rest_j.sum() > 0:
        moment_j = moment_j + rest_j * min((size - by_hund) / rest_j.sum(), 1.0)
    direction_v1 = moment_v[:, None] / (size or 1.0)
    return spin.joined(torch.tensor(np.stack([filled_j, *direction_v1 * moment_j]))).numpy()


def _spherical_density(
    atoms: PawAtoms, species: Species, occupancy_saj: np.ndarray, place: Structure | None
) -> torch.Tensor:
    """Σ_a Σ_j f_j |φ̃_j|²/4π exp(-i g·R_a) of one species; (s, g)."""
    setup, count = species.setup, atoms.basis.density_count
    used_j = np.flatnonzero(setup.atom_occupancy_j > 0)
    if len(used_j) == 0:
        used_j = np.array([0])
    pseudo_jg = setup.dataset.pseudo_partial_wave_jg
    # f |φ̃|²/4π = [f |φ̃|²/sqrt(4π)] Y_00
    factors, length_g = atoms.structure_factors(species, count), atoms.length_g[:count]
    if place is not None:
        factors = replace(factors, scaled_ac=atoms.runtime.tensor(place.scaled_ac[species.atom_a]))
        lattice = Lattice(torch.tensor(place.lattice_cv), length_g.device)
        length_g = length(square(lattice.waves(atoms.basis.index_gc[:count])))
    shape_jg = torch.stack([
        atoms.form_factor_g(setup, pseudo_jg[j] ** 2 / sqrt(4 * pi), count, length_g) for j in used_j
    ])  # fmt: skip
    weight_sja = atoms.runtime.tensor(occupancy_saj[:, :, used_j]).mT
    return torch.stack([(factors.waves(weight_ja, count) * shape_jg).sum(0) for weight_ja in weight_sja])


def _spherical_blocks(atoms: PawAtoms, species: Species, occupancy_saj: np.ndarray) -> torch.Tensor:
    """Diagonal occupancies f_j / (2l+1); (s, a, i, i)."""
    setup = species.setup
    degeneracy_j = 2 * np.array(setup.l_j) + 1
    diagonal_sai = (occupancy_saj / degeneracy_j)[:, :, setup.j_i]
    return torch.diag_embed(atoms.runtime.tensor(diagonal_sai))
