"""Exchange-correlation functionals by name, with their derivatives.

A functional is an energy density; its potential is the derivative by automatic differentiation, so no formula is
written twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from eigenwerk.dft.xc import lda, pbe, pointwise_cpu, pointwise_cuda, pointwise_native
from eigenwerk.errors import InputError
from eigenwerk.parallel.kernels.cuda import can_compile

CHUNK_POINTS = 2**21
"""Points differentiated at once: about a gigabyte."""


@dataclass(frozen=True)
class Functional:
    """One exchange-correlation functional.

    name: the VASP tag; title: the usual name; needs_gradient: whether sigma must be given; energy: the energy density
    as a function of (density_sx, sigma_yx); floor: energy and derivatives vanish where the density is not above it;
    parts: the same functional in the naming of libxc (PE: but for rounding).
    """

    name: str
    title: str
    needs_gradient: bool
    energy: Callable[[Tensor, Tensor | None], Tensor]
    floor: float
    parts: tuple[str, ...]

    def energy_density(self, density_sx: Tensor, sigma_yx: Tensor | None = None) -> Tensor:
        """Exchange-correlation energy per volume, hartree/bohr^3.

        density_sx: (1, ...) total or (2, ...) up, down, electrons/bohr^3; sigma_yx: (1, ...) |grad n|^2 or (3, ...)
        up-up, up-down, down-down (ignored by an LDA).  Returns (...).  Differentiable to any order.
        Raises ValueError for shapes that do not fit.
        """
        _check_shapes(density_sx, sigma_yx if self.needs_gradient else None, self)
        return self.energy(density_sx, sigma_yx if self.needs_gradient else None)

    def energy_and_derivatives(
        self, density_sx: Tensor, sigma_yx: Tensor | None = None, points_per_chunk: int | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Energy density e, de/dn (s, ...) and de/dsigma (1 or 3, ...; None for an LDA), detached from the graph.

        In double precision the recorded program does it all: one kernel on a GPU, one compiled loop on a processor (or
        chunks of points by PyTorch's operations where there is no compiler).
        Else, and where points_per_chunk is given, these are PyTorch's own operations and its derivatives of them for
        so many points at a time (default CHUNK_POINTS); so the memory does not grow with their number.
        """
        sigma = sigma_yx if self.needs_gradient else None
        _check_shapes(density_sx, sigma, self)
        inputs = [density_sx] if sigma is None else [density_sx, sigma]
        flat = [value.detach().reshape(value.shape[0], -1) for value in inputs]
        recorded = points_per_chunk is None and density_sx.dtype == torch.float64
        if recorded and density_sx.is_cpu:
            energy_x, *slopes = self._on_processor(flat)
        elif recorded and density_sx.is_cuda and can_compile():
            energy_x, *slopes = pointwise_cuda.energy_and_derivatives(self.derivatives, flat)
        else:
            energy_x, slopes = self._in_chunks(flat, points_per_chunk or CHUNK_POINTS)
        shaped = [slope.reshape(value.shape) for slope, value in zip(slopes, inputs, strict=True)]
        return energy_x.reshape(density_sx.shape[1:]), shaped[0], shaped[1] if len(shaped) > 1 else None

    def _on_processor(self, flat: list[Tensor]) -> tuple[Tensor, ...]:
        """By a compiled loop, or without a compiler by PyTorch's operations on chunks."""
        found = pointwise_native.energy_and_derivatives(self.derivatives, flat)
        return pointwise_cpu.energy_and_derivatives(self.derivatives, flat, self.floor) if found is None else found

    def derivatives(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """(e, de/dn) or (e, de/dn, de/dsigma) of arrays (c, x), all points at once."""
        energy_x, slopes = _differentiate(self.energy, list(inputs))
        return energy_x, *slopes

    def _in_chunks(self, flat: list[Tensor], step: int) -> tuple[Tensor, list[Tensor]]:
        energy_x, slopes = torch.empty_like(flat[0][0]), [torch.empty_like(value) for value in flat]
        for start in range(0, energy_x.numel(), step):
            block = slice(start, start + step)
            energy_x[block], slopes_of_block = _differentiate(self.energy, [value[:, block] for value in flat])
            for slope, slope_of_block in zip(slopes, slopes_of_block, strict=True):
                slope[:, block] = slope_of_block
        return energy_x, slopes


def _differentiate(
    energy: Callable[[Tensor, Tensor | None], Tensor], inputs: list[Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Energy and its derivatives by density and (if given) sigma, for one chunk; works under torch.no_grad as well."""
    with torch.enable_grad():
        leaves = [value.detach().requires_grad_() for value in inputs]
        energy_x = energy(leaves[0], leaves[1] if len(leaves) > 1 else None)
        return energy_x.detach(), torch.autograd.grad(energy_x.sum(), leaves)


def _check_shapes(density_sx: Tensor, sigma_yx: Tensor | None, functional: Functional) -> None:
    spins = density_sx.shape[0] if density_sx.ndim else 0
    if spins not in (1, 2):
        raise ValueError(f"density has shape {tuple(density_sx.shape)}; its first axis must have 1 or 2 spin channels")
    if not functional.needs_gradient:
        return
    expected = (1 if spins == 1 else 3, *density_sx.shape[1:])
    if sigma_yx is None or tuple(sigma_yx.shape) != expected:
        found = "none" if sigma_yx is None else str(tuple(sigma_yx.shape))
        raise ValueError(f"{functional.title} needs squared gradients of shape {expected}; found {found}")


def _gga(name: str, title: str, constants: pbe.PbeConstants, *parts: str) -> Functional:
    return Functional(name, title, True, partial(pbe.energy_density, constants=constants), pbe.GGA_FLOOR, parts)


def _lda(name: str, title: str, correlation: Callable[[lda.Points], Tensor], part: str) -> Functional:
    energy = partial(lda.energy_density, correlation=correlation)
    return Functional(name, title, False, energy, lda.LDA_FLOOR, ("lda_x", part))


_FUNCTIONALS = {
    functional.name: functional
    for functional in (
        _gga("PE", "PBE", pbe.PBE_PRINTED, "gga_x_pbe", "gga_c_pbe"),
        _gga("PS", "PBEsol", pbe.PBESOL, "gga_x_pbe_sol", "gga_c_pbe_sol"),
        _gga("RP", "RPBE", pbe.RPBE, "gga_x_rpbe", "gga_c_pbe"),
        _gga("RE", "revPBE", pbe.REVPBE, "gga_x_pbe_r", "gga_c_pbe"),
        _gga("PE-EXACT", "PBE with unrounded constants", pbe.PBE, "gga_x_pbe", "gga_c_pbe"),
        _lda("CA", "LDA (Perdew-Zunger 81)", lda.perdew_zunger, "lda_c_pz"),
        _lda("PW92", "LDA (Perdew-Wang 92)", partial(lda.perdew_wang, constants=lda.PW92_PRINTED), "lda_c_pw"),
    )
}


def make_functional(name: str) -> Functional:
    """The functional of a VASP GGA tag: PE, PS, RP, RE, CA; PW92 for the Perdew-Wang 92 LDA.

    PE has the constants as printed in the papers, like the PBE that made the PAW data; PE-EXACT the unrounded ones of
    libxc (1e-6 of the energy apart, see docs/equations/xc.md).
    Raises InputError for any other name.
    """
    functional = _FUNCTIONALS.get(name.strip().upper())
    if functional is None:
        known = ", ".join(f"{tag} ({entry.title})" for tag, entry in _FUNCTIONALS.items())
        raise InputError(f"GGA = {name}: no such functional. Known are {known}.")
    return functional
