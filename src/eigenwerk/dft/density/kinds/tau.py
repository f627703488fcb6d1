"""The kinetic-energy density of the smooth orbitals, τ_s(r) = ½ Σ_k w_k Σ_n g f_skn |∇ψ̃_skn(r)|², hartree/bohr³.

It travels with the density where it is asked for: the localisation function takes it.  No term of the energy depends on
it yet; what its derivative v_τ = ∂E/∂τ would do to orbitals is -½ ∇·(v_τ ∇ψ).
Source: J. Sun, M. Marsman, G. I. Csonka et al., Phys. Rev. B 84, 035117 (2011).
"""

from functools import partial
from typing import ClassVar

import numpy as np
import torch

from eigenwerk.dft.basis.wave_form import WaveForm
from eigenwerk.dft.density.kinds.kind import FilledOrbitals, Local, WaveField
from eigenwerk.dft.density.kinds.valence import summed_squares
from eigenwerk.dft.paw.radial import derivative
from eigenwerk.dft.paw.setup import Setup
from eigenwerk.errors import InputError
from eigenwerk.functionals.functional import TAU


class Tau(WaveField):
    """Mixing takes it along as it does the density, by the factor of short waves."""

    name: ClassVar = TAU
    measured: ClassVar = False

    def of_orbitals(self, orbitals: FilledOrbitals) -> torch.Tensor:
        """(s, g), by one transform for each component of a gradient."""
        return summed_squares(orbitals, *(partial(_slope, orbitals, (v,)) for v in range(3))) / 2

    def of_channels(self, setup: Setup) -> np.ndarray:
        """½ (φ̃'² + l (l+1) φ̃²/r²)."""
        grid, wave_jg, l_j = setup.dataset.grid, setup.dataset.pseudo_partial_wave_jg, np.array(setup.l_j)
        r_g = np.maximum(grid.r_g, grid.r_g[1])
        return 0.5 * (derivative(grid, wave_jg) ** 2 + (l_j * (l_j + 1))[:, None] * (wave_jg / r_g) ** 2)

    def of_core(self, setup: Setup) -> np.ndarray:
        """That of the core orbitals that ñ_c stands for.  InputError of data sets that do not have it."""
        core_g = setup.dataset.pseudo_core_kinetic_energy_density_g
        if core_g is None:
            name = setup.dataset.name
            raise InputError(f"the data set {name} has no kinetic-energy density of its core. Take another.")
        return core_g

    def act(self, form: WaveForm, x_knG: torch.Tensor, vector_vkG: torch.Tensor, local: Local) -> torch.Tensor:
        """-½ ∇·(v_τ ∇ψ)."""
        parts = [form.slope_back(local(form.slope(x_knG, along_kG)), along_kG) for along_kG in vector_vkG]
        return torch.stack(parts).sum(0) / 2

    def strained(self, orbitals: FilledOrbitals, slope_sg: torch.Tensor) -> torch.Tensor:
        """-Σ f Re ∫ v_τ ∂_v ψ* ∂_w ψ: gradients are q ψ(q), and q goes with 1 - ε.

        By squares, 2 Re a* b = |a + b|² - |a|² - |b|².
        """
        basis = orbitals.atoms.basis

        def weighed(*axes: int) -> torch.Tensor:
            return basis.inner(slope_sg, summed_squares(orbitals, partial(_slope, orbitals, axes))).sum()

        own_v = [weighed(v) for v in range(3)]
        total_vv = torch.diag(torch.stack(own_v))
        for v, w in ((0, 1), (0, 2), (1, 2)):
            total_vv[v, w] = total_vv[w, v] = (weighed(v, w) - own_v[v] - own_v[w]) / 2
        return -total_vv


FIELD = Tau()


def _slope(orbitals: FilledOrbitals, axes: tuple[int, ...], x_knG: torch.Tensor) -> torch.Tensor:
    """∇ψ along the sum of some axes."""
    basis = orbitals.atoms.basis
    along_kG = basis.form.slots(basis.wave_vector_khv[..., list(axes)].sum(-1)).to(x_knG.dtype.to_real())
    return basis.form.slope(x_knG, along_kG)
