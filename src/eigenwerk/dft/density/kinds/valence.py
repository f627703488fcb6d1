"""The smooth density of valence electrons, n_s(r) = Σ_k w_k Σ_n g f_skn |ψ̃_skn(r)|², without cores, electrons/bohr³."""

from collections.abc import Callable
from functools import reduce
from typing import ClassVar

import numpy as np
import torch

from eigenwerk.dft.basis.distribution import ToBands, grid_blocks, own_bands, transfer_blocks
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.basis.wave_form import SphereMap
from eigenwerk.dft.density.kinds.kind import FilledOrbitals, WaveField, filled_bands
from eigenwerk.dft.paw.setup import Setup
from eigenwerk.functionals.functional import DENSITY
from eigenwerk.parallel.threads import each, threads_for


class SmoothDensity(WaveField):
    """The charge that electrons screen; its derivative is the local potential."""

    name: ClassVar = DENSITY
    screened: ClassVar = True

    def of_orbitals(self, orbitals: FilledOrbitals) -> torch.Tensor:
        """(s, g)."""
        return summed_squares(orbitals, lambda x_knG: x_knG)

    def of_channels(self, setup: Setup) -> np.ndarray:
        """|φ̃_j|²."""
        return setup.dataset.pseudo_partial_wave_jg**2

    def of_core(self, setup: Setup) -> np.ndarray:
        """ñ_c."""
        return setup.dataset.pseudo_core_density_g


FIELD = SmoothDensity()


def summed_squares(orbitals: FilledOrbitals, *changes: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """Σ filling |x|² over all orbitals of all ranks, x one or more functions of each, of the form of orbitals; (s, g).

    changes: orbitals (k, n, G) -> functions.
    """
    basis, bands, total_sR = orbitals.atoms.basis, filled_bands(orbitals.filling_skn), []
    for coeff_knG, filling_kn in zip(orbitals.coeff_sknG[:, :, :bands], orbitals.filling_skn[..., :bands], strict=True):
        found = (band_density(basis, change(coeff_knG), filling_kn, orbitals.sphere_map) for change in changes)
        total_sR.append(reduce(torch.add, found))
    density_sR = orbitals.atoms.runtime.world.sum(torch.stack(total_sR).flatten(0, -4))
    return basis.density_of_orbitals(density_sR)


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
