"""The core orbitals of a data set, recomputed in the potential of its atom; data sets hold their density alone."""

from dataclasses import dataclass
from functools import cache
from math import pi, sqrt

import numpy as np

from eigenwerk.dft.atom.potential import atom_potential
from eigenwerk.dft.atom.radial_equation import bound_states
from eigenwerk.dft.paw.radial import integrate
from eigenwerk.errors import InputError
from eigenwerk.io.paw.dataset import PawDataset

DENSITY_ERROR = 2e-3
"""Electrons, ∫|n - n'|, by which the recomputed core may miss that of the data set; sets of gpaw-data have up to 3e-6,
later ones, made with another scheme, up to 1.2e-3."""

LETTERS = "spdfg"


@dataclass(frozen=True, eq=False)
class CoreShell:
    """A full shell: n and l, energy in hartree, u(r) = r R(r), bohr^-½, on the data set's grid."""

    n: int
    l: int
    energy: float
    u_g: np.ndarray

    @property
    def name(self) -> str:
        """1s, 2p ..."""
        return f"{self.n}{LETTERS[self.l]}"


def core_shells(data: PawDataset) -> list[tuple[int, int]]:
    """(n, l) of the shells below the valence states, in the order in which atoms fill them.

    Raises InputError where they do not hold as many electrons as the core.
    """
    lowest: dict[int, int] = {}
    for state in data.states:
        if state.n is not None:
            lowest[state.l] = min(state.n, lowest.get(state.l, state.n))
    left, found = data.core, []
    order = sorted(((n, l) for n in range(1, 8) for l in range(min(n, len(LETTERS)))), key=lambda nl: (sum(nl), nl[0]))
    for n, l in order:
        if left > 0 and n < lowest.get(l, n + 1):
            found.append((n, l))
            left -= 2 * (2 * l + 1)
    if left:
        names = " ".join(f"{n}{LETTERS[l]}" for n, l in found)
        raise InputError(
            f"{data.file}: {data.core:g} core electrons of {data.symbol} do not fill whole shells below its valence "
            f"states ({names} hold {data.core - left:g}). Use a data set of gpaw-data, or remove CORE_EXCHANGE."
        )
    return found


@cache
def core_orbitals(data: PawDataset) -> tuple[CoreShell, ...]:
    """The core orbitals, none where all electrons are valence; made once for a data set.

    Raises InputError where their density is not that of the data set, or where the atom cannot be rebuilt.
    """
    shells = core_shells(data)
    if not shells:
        return ()
    potential_g, relativistic = atom_potential(data), data.relativity.startswith("scalar")
    found = []
    for l in sorted({l for _, l in shells}):
        n_n = [n for n, other in shells if other == l]
        energies, u_ng = bound_states(data.grid, potential_g, l, len(n_n), relativistic)
        found += [CoreShell(n, l, float(e), u_g) for n, e, u_g in zip(n_n, energies, u_ng, strict=True)]
    missed = density_error(data, found)
    if missed > DENSITY_ERROR:
        raise InputError(
            f"{data.file}: the core orbitals recomputed for {data.symbol} ({' '.join(one.name for one in found)}) miss "
            f"the core density of the data set by {missed:.2g} electrons, {DENSITY_ERROR:g} are allowed. Use a data "
            "set of gpaw-data, or remove CORE_EXCHANGE."
        )
    return tuple(found)


def density_error(data: PawDataset, shells: list[CoreShell]) -> float:
    """∫|n - n'| between the density of these shells and that of the data set's core, electrons."""
    r_g = np.where(data.grid.r_g > 0, data.grid.r_g, np.inf)
    density_g = sum((2 * (2 * one.l + 1) * one.u_g**2 for one in shells), np.zeros_like(r_g)) / (4 * pi * r_g**2)
    return 4 * pi * float(integrate(data.grid, np.abs(density_g - data.ae_core_density_g / sqrt(4 * pi))))
