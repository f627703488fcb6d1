"""Density and orbitals of an earlier state on another basis.

Plane waves are known by their integers g and G, so cell, cutoff, precision and number of bands may be others: what both
spheres have in common is copied.  Where atoms have moved the density is taken along (`density.moved`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.basis.gathering import with_partners
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.basis.wave_form import partners, with_last_places
from eigenwerk.dft.crystal.inversion import turns
from eigenwerk.dft.crystal.structure import Structure, shortest
from eigenwerk.dft.density.density import Density, electrons_of, moved, starting_density
from eigenwerk.dft.density.kinds.table import WAVES
from eigenwerk.dft.hamiltonian.wavefunctions import random_orbitals
from eigenwerk.dft.paw.atoms import PawAtoms

REAL = 1e-8
"""Largest difference between c(-q) and c(q)*, or imaginary part, of orbitals that count as real."""

Sphere = tuple[np.ndarray, np.ndarray]
"""(index_Gc, coeff_snG): complex orbitals of one k-point on its whole sphere."""


@dataclass(frozen=True)
class Places:
    """Where atoms were: a structure as it is saved, and whether they are elsewhere now, or their cell another one."""

    saved: Mapping[str, Any]
    changed: bool

    @property
    def structure(self) -> Structure:
        """As a value."""
        return Structure(self.saved["lattice_cv"], self.saved["symbols"], self.saved["scaled_ac"])


@dataclass(frozen=True)
class StoredOrbitals:
    """Orbitals as they are kept.

    bands: how many there are; sphere: that of an own k-point of a basis, by its place (collective over band ranks);
    vectors: they themselves, for a basis with the same waves in the same form, else None; rounding: what real vectors
    lack that are made of the sphere, (s, n, G, x), None if that is not known.
    """

    bands: int
    sphere: Callable[[PlaneWaveBasis, int], Sphere]
    vectors: Callable[[PlaneWaveBasis], torch.Tensor | None] = lambda basis: None
    rounding: Callable[[PlaneWaveBasis, int], np.ndarray | None] = lambda basis, k: None


def of_basis(basis: PlaneWaveBasis, coeff_sknG: torch.Tensor) -> StoredOrbitals:
    """Those of a basis of the same ranks."""

    def sphere(new: PlaneWaveBasis, k: int) -> Sphere:
        assert new.own_k == basis.own_k
        waves_snh, count = basis.form.waves(coeff_sknG[:, k], slice(k, k + 1)), basis.count_k[k]
        index_hc = _array(basis.runtime.bands.all_gather(basis.index_khc[k]))[:count]
        coeff_hsn = _array(basis.runtime.bands.all_gather(waves_snh.movedim(-1, 0).contiguous()))[:count]
        whole = index_hc, np.moveaxis(coeff_hsn, 0, -1)
        return with_partners(*whole, basis.point_kc[k]) if basis.form.real_in_space else whole

    def vectors(new: PlaneWaveBasis) -> torch.Tensor | None:
        return coeff_sknG if new.runtime.world.all(same_vectors(basis, new)) else None

    return StoredOrbitals(coeff_sknG.shape[2], sphere, vectors)


def same_vectors(old: PlaneWaveBasis, new: PlaneWaveBasis) -> bool:
    """Whether orbitals have the same waves in the same form in both, on this rank."""
    return _kind(old) == _kind(new) and torch.equal(old.index_khc, new.index_khc)


def _kind(basis: PlaneWaveBasis) -> tuple[object, ...]:
    form = basis.form
    return form.real_in_space, form.turn_kh is None, form.dtype, basis.own_k, basis.count_k


def carried_density(density: Density, index_gc: torch.Tensor, places: Places, atoms: PawAtoms) -> Density:
    """A density on the waves index_gc for these atoms, as it is."""
    basis, old = atoms.basis, places.structure
    here_g, there_g = common_points(_array(basis.index_gc[: basis.density_count]), _array(index_gc))
    known_g = torch.zeros_like(basis.norm2_g[: basis.density_count])
    known_g[here_g] = 1
    # to the bit where nothing has changed: mixing asks whether a density stands still
    ratio = old.volume / float(basis.volume) if places.changed else 1.0

    def brought(name: str, value_sx: torch.Tensor) -> torch.Tensor:
        value_sx = value_sx.to(known_g.device)
        if name not in WAVES:
            return value_sx
        value_sg = value_sx.new_zeros((len(value_sx), basis.density_count))
        value_sg[:, here_g] = value_sx[:, there_g] * ratio
        return value_sg

    density = density.map_names(brought)
    if places.changed or len(here_g) < basis.density_count:
        density = moved(density, atoms, old, known_g)
    return density


def with_electrons(density: Density, atoms: PawAtoms, electrons: float) -> Density:
    """A density with the spins of a basis and so many electrons, which mixing keeps from here on."""
    density = _with_spins(density, atoms, electrons)
    return density.times(electrons / density.spin.total(electrons_of(density, atoms)))


def common_points(here_xc: np.ndarray, there_xc: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions in both lists of the integer triples they have in common; each list holds a triple once."""
    reach_c = np.maximum(np.abs(here_xc).max(axis=0), np.abs(there_xc).max(axis=0)).astype(np.int64)
    size_c = tuple(2 * reach_c + 1)
    here, there = (np.ravel_multi_index(tuple((index_xc + reach_c).T), size_c) for index_xc in (here_xc, there_xc))
    _, here_x, there_x = np.intersect1d(here, there, assume_unique=True, return_indices=True)
    return here_x, there_x


def _with_spins(density: Density, atoms: PawAtoms, electrons: float) -> Density:
    """The density with the wanted number of spin channels."""
    spin = atoms.basis.spin
    if density.spin == spin:
        return density
    if not spin.polarised:
        return density.unpolarised()

    def polarised(atomic_sx: torch.Tensor, total_1x: torch.Tensor) -> torch.Tensor:
        return spin.joined(torch.cat([total_1x, spin.separated(atomic_sx)[1:]]))

    return starting_density(atoms, electrons, density.value).map(polarised, density)


def carried_orbitals(stored: StoredOrbitals, places: Places, atoms: PawAtoms, bands: int) -> torch.Tensor | None:
    """Orbitals of the same k-points on the waves, bands and spins of a basis, (s, k, n, G); None if they are complex
    and the basis wants real ones."""
    basis, kept = atoms.basis, min(bands, stored.bands)
    coeff_sknG = stored.vectors(basis)
    if coeff_sknG is None:
        coeff_sknG = _by_spheres(stored, places, basis)
    if coeff_sknG is None:
        return None
    coeff_sknG = coeff_sknG[:, :, :kept]
    if bands > kept:
        new_knG = random_orbitals(atoms, bands - kept)
        coeff_sknG = torch.cat([coeff_sknG, new_knG.expand(len(coeff_sknG), -1, -1, -1)], dim=2)
    # from two spins to one the first channel is as good as the second; from one to two both start alike
    channels = basis.spin.channels
    return coeff_sknG if len(coeff_sknG) == channels else coeff_sknG[:1].expand(channels, -1, -1, -1)


def _by_spheres(stored: StoredOrbitals, places: Places, basis: PlaneWaveBasis) -> torch.Tensor | None:
    """The orbitals wave by wave."""
    index_khc, here_k = _array(basis.index_khc), _array(basis.mask_kh.sum(1)).astype(int)
    shift_c = np.zeros(3)
    if basis.inversion is not None and places.changed:
        # the centre moves with the atoms on average, and so do orbitals that are real about it
        shift_c = -shortest(basis.structure.scaled_ac - places.saved["scaled_ac"]).mean(axis=0)
    real, waves, lacking = True, [], []
    for k, point_c in enumerate(basis.point_kc):
        index_Gc, coeff_snG = stored.sphere(basis, k)
        if shift_c.any():
            coeff_snG = coeff_snG * turns(index_Gc + point_c, shift_c)
        real = real and (not basis.form.real or _is_real(index_Gc, coeff_snG, point_c, basis))
        here_h, there_G = common_points(index_khc[k, : here_k[k]], index_Gc)
        wave_snh = np.zeros((*coeff_snG.shape[:2], index_khc.shape[1]), dtype=coeff_snG.dtype)
        wave_snh[..., here_h] = coeff_snG[..., there_G]
        waves.append(wave_snh)
        lacking.append(_lacking(stored.rounding(basis, k), wave_snh.shape, here_h, there_G, basis))
    if not basis.runtime.world.all(real):
        return None
    wave_sknh = basis.runtime.tensor(np.stack(waves, 1), basis.runtime.complex)
    x_sknG = torch.stack([basis.form.vectors(wave_knh) for wave_knh in wave_sknh])
    known = [one for one in lacking if one is not None]
    if shift_c.any() or len(known) < len(lacking):
        return x_sknG
    return with_last_places(x_sknG, torch.as_tensor(np.stack(known, 1), device=x_sknG.device))


def _lacking(
    rounding_snGx: np.ndarray | None, shape: tuple[int, ...], here_h: np.ndarray, there_G: np.ndarray,
    basis: PlaneWaveBasis,
) -> np.ndarray | None:  # fmt: skip
    """What the vectors of one k-point lack, (s, n, G) in the order of their numbers; None if that is not known."""
    form = basis.form
    if rounding_snGx is None or not form.real or rounding_snGx.shape[-1] != form.numbers:
        return None
    lacking_snhx = np.zeros((*shape, form.numbers), dtype=np.int64)
    lacking_snhx[..., here_h, :] = rounding_snGx[..., there_G, :]
    return lacking_snhx.reshape(*shape[:-1], -1)


def _is_real(index_Gc: np.ndarray, coeff_snG: np.ndarray, point_c: np.ndarray, basis: PlaneWaveBasis) -> bool:
    """Whether orbitals are real as the basis asks: in space, c(-q) = c(q)*, or by its inversion."""
    if basis.inversion is not None:
        wrong_snG = (coeff_snG * turns(index_Gc + point_c, basis.inversion.translation_c / 2)).imag
    else:
        here_G, there_G = common_points(index_Gc, partners(index_Gc, point_c))
        if len(here_G) < len(index_Gc):
            return False
        wrong_snG = coeff_snG[..., here_G] - coeff_snG[..., there_G].conj()
    return float(np.abs(wrong_snG).max()) <= REAL


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
