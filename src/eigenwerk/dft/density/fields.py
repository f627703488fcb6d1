"""Named fields with a verb for each thing that is done to all of them.

A density is some fields, its potential the derivative of the energy by each of them, a mixer's step their difference.
What mixes, symmetrises, sends or saves them asks a field for its kind and never for its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.density.kinds.kind import FieldKind, WaveField
from eigenwerk.dft.density.kinds.table import KINDS, WAVES
from eigenwerk.dft.spin.form import UNPOLARISED, Spin
from eigenwerk.parallel.communicator import Communicator


@dataclass(frozen=True)
class Fields:
    """Fields by name, (s, ...) each; s: components of the spin, or as many channels as a mixer makes of them."""

    value: Mapping[str, torch.Tensor]
    spin: Spin

    def map(self, change: Callable[..., torch.Tensor], *others: Fields) -> Self:
        """change(field, the same field of the others) for each field."""
        return self.map_names(lambda name, value: change(value, *(other.value[name] for other in others)))

    def times(self, factor_s: torch.Tensor | float) -> Self:
        """Each component, or all, times a factor."""
        factor_s = torch.as_tensor(factor_s, device=next(iter(self.value.values())).device).reshape(-1, 1)
        return self.map(lambda value_sx: value_sx * factor_s)

    @property
    def on_waves(self) -> list[tuple[WaveField, torch.Tensor]]:
        """Those on plane waves with their kinds."""
        return [(WAVES[name], value_sg) for name, value_sg in self.value.items() if name in WAVES]

    @property
    def parts(self) -> tuple[tuple[FieldKind, int], ...]:
        """Kind and length of each field in `packed`."""
        return tuple((KINDS[name], _as_real(value_sx).shape[1]) for name, value_sx in self.value.items())

    def inner(self, other: Fields, basis: PlaneWaveBasis) -> torch.Tensor:
        """Σ over all fields: ∫ a(r) b(r) d³r of waves, Σ_x Re a*_x b_x of matrices."""
        total = torch.zeros((), dtype=basis.runtime.real, device=basis.runtime.device)
        for name, value_sx in self.value.items():
            if name in WAVES:
                total = total + basis.inner(value_sx, other.value[name]).sum()
            else:
                total = total + (value_sx.conj() * other.value[name]).real.sum()
        return total

    def packed(self) -> torch.Tensor:
        """All fields as one real vector for each component: real and imaginary parts side by side; (s, y)."""
        return torch.cat([_as_real(value_sx) for value_sx in self.value.values()], 1)

    def unpacked(self, packed_sy: torch.Tensor) -> Self:
        """Inverse of `packed`, for fields like these (of any number of components)."""
        parts = dict(zip(self.value, packed_sy.split([size for _, size in self.parts], 1), strict=True))
        return self.map_names(lambda name, like_sx: _as_like(parts[name], like_sx))

    def map_names(self, change: Callable[[str, torch.Tensor], torch.Tensor]) -> Self:
        """change(name, field) for each field."""
        return replace(self, value={name: change(name, value) for name, value in self.value.items()})

    def unpolarised(self) -> Self:
        """Their totals, as fields without spin."""
        return replace(self.map(lambda value_sx: self.spin.total(value_sx)[None]), spin=UNPOLARISED)

    def broadcast(self, world: Communicator, number: float) -> tuple[Self, float]:
        """Rank 0's fields and number, in one message."""
        if world.size == 1:
            return self, number
        packed_sy = self.packed()
        flat_x = world.broadcast(torch.cat([packed_sy.flatten(), packed_sy.new_tensor([number])]))
        return self.unpacked(flat_x[:-1].view_as(packed_sy)), float(flat_x[-1])


def _as_real(value_sx: torch.Tensor) -> torch.Tensor:
    if not value_sx.is_complex():
        return value_sx
    return torch.view_as_real(value_sx.resolve_conj()).flatten(1)


def _as_like(packed_sy: torch.Tensor, like_sx: torch.Tensor) -> torch.Tensor:
    if not like_sx.is_complex():
        return packed_sy
    return torch.view_as_complex(packed_sy.contiguous().unflatten(1, (like_sx.shape[1], 2)))
