"""Orbitals of small crystals, and exact exchange between them."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from eigenwerk.dft.exchange.kernel import screened_kernel
from eigenwerk.dft.exchange.operator import ExchangeOperator
from eigenwerk.dft.exchange.pairs.pair_grid import PairGrid
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.wavefunctions import starting_orbitals
from eigenwerk.linalg.bands.davidson import davidson


@pytest.fixture(scope="session")
def exchanging(calculation, crystal):
    """(crystal or structure, occupied, bands, kernel, top, settings) -> orbitals of superposed atoms, their exchange.

    top: occupation of the highest occupied band; downsampling: which pairs of points count; size: grid of pairs.
    A namespace of calc, operator, coeff (s, k, n, G), occ and filling (s, k, n), sources and image = V_x coeff.
    """

    def build(
        name="sic_bent", occupied=3, bands=5, kernel=None, structure=None, top=1.0, downsampling=None, size=None,
        **settings,
    ):  # fmt: skip
        calc = calculation(structure or crystal(name), **{"cutoff_eV": 90.0, **settings})
        hamiltonian = Hamiltonian.of(calc.atoms, calc.builder(calc.symmetrise(calc.starting_density())))
        found = []
        for s in range(calc.basis.spin.channels):
            block = hamiltonian.block(s)
            start_knG = starting_orbitals(calc.atoms, block, bands + 2)
            found.append(davidson(block, start_knG, expansions=80, tolerance=1e-9).vectors_knx[:, :bands])
        coeff = torch.stack(found)
        grid = PairGrid.of(calc.basis, "Normal")
        grid = replace(grid, size_c=size or grid.size_c)
        kernel = kernel or screened_kernel(0.15)
        operator = ExchangeOperator(calc.atoms, kernel, 0.4, downsampling=downsampling, grid=grid)
        occ = torch.zeros(coeff.shape[:3], dtype=torch.float64)
        occ[..., :occupied] = 1.0
        occ[..., occupied - 1] = top
        weight_k = torch.as_tensor(calc.kpoints.weight_k)
        filling = weight_k[:, None] * occ * calc.basis.spin.degeneracy
        sources = operator.sources(coeff, occ)
        return SimpleNamespace(
            calc=calc,
            operator=operator,
            coeff=coeff,
            occ=occ,
            filling=filling,
            sources=sources,
            image=operator.apply(sources, coeff),
        )

    return build
