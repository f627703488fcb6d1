"""The potential that is the sum of the derivatives of terms."""

from collections.abc import Sequence
from functools import reduce
from typing import TypeVar

import torch

from eigenwerk.dft.density.density import Density
from eigenwerk.dft.density.fields import Fields
from eigenwerk.dft.density.kinds.table import ALWAYS
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.spin.form import Spin
from eigenwerk.dft.terms.dipole import Dipole
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.dft.terms.term import Charges, Contribution, LowRank, Term

OneTerm = TypeVar("OneTerm", bound=Term)


class PotentialBuilder:
    """Density -> Potential by the sum of some terms.

    The last two answers are kept: forces and stress ask again for those of a state's input and output density.
    """

    def __init__(self, atoms: PawAtoms, terms: Sequence[Term]):
        self.atoms, self.terms = atoms, tuple(terms)
        self._kept: list[Potential] = []

    @property
    def dipole(self) -> Dipole | None:
        """The term that corrects for a dipole, if there is one."""
        return self.term(Dipole)

    def term(self, kind: type[OneTerm]) -> OneTerm | None:
        """The term of a kind, if there is one."""
        return next((term for term in self.terms if isinstance(term, kind)), None)

    @property
    def needs(self) -> frozenset[str]:
        """Fields that its densities must carry."""
        return frozenset().union(*(term.needs for term in self.terms))

    def __call__(self, density: Density) -> Potential:
        """Potential and energies of a density."""
        for potential in self._kept:
            if potential.charges.density is density:
                return potential
        del self._kept[:-1]  # no more than one beside the one that is built
        self._kept.append(self._build(Charges(self.atoms, density)))
        return self._kept[-1]

    def _build(self, charges: Charges) -> Potential:
        if missing := self.needs - charges.density.value.keys():
            raise RuntimeError(f"the density lacks fields that terms of the energy need: {', '.join(sorted(missing))}")
        parts, density = [term(charges) for term in self.terms], charges.density
        felt = {name for part in parts for name in (*part.waves, *part.blocks)} | set(ALWAYS)
        summed = {
            name: self._sum(parts, name, like_sx, density.spin)
            for name, like_sx in density.value.items() if name in felt
        }  # fmt: skip
        derivative = Fields(summed, density.spin)
        names, rows = (name for part in parts for name in part.names), [part.rows for part in parts if part.rows]
        energy_e = torch.cat([part.energy_e for part in parts])
        counted = sum(part.rows_counted for part in parts)
        constants = {name: energy for part in parts for name, energy in part.constants.items()}
        return Potential(charges, derivative, tuple(names), energy_e, LowRank.joined(rows), counted, constants)

    def forget(self) -> None:
        """What was kept is not true any more: a term has changed."""
        self._kept.clear()

    def _sum(self, parts: Sequence[Contribution], name: str, like_sx: torch.Tensor, spin: Spin) -> torch.Tensor:
        """The derivative by one field, of the shape and kind of that field."""
        if waves := [part.waves[name] for part in parts if name in part.waves]:
            return _added(waves, 1, spin)
        blocks = [part.blocks[name] for part in parts if name in part.blocks]
        if not blocks:
            return torch.zeros_like(like_sx)
        sums = [_added(of_species, 3, spin).to(like_sx.dtype) for of_species in zip(*blocks, strict=True)]
        return self.atoms.layout.flatten(sums)


def _added(parts: Sequence[torch.Tensor], axes: int, spin: Spin) -> torch.Tensor:
    """Derivatives by the components, (s, ...), and by the total, which have so many axes, in their order."""
    return reduce(torch.add, (part if part.dim() > axes else spin.by_components(part) for part in parts))
