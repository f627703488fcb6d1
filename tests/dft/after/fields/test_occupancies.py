"""Occupancies in CHGCAR: how many there are, and that nothing is lost that a density or an energy depends on."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.after.fields.occupancies import coupled, coupled_rows, highest, uncoupled
from eigenwerk.dft.energy_terms import potential_builder
from eigenwerk.dft.inputs.fitting_files import written_lmaxmix
from eigenwerk.dft.terms.term import Scene


@pytest.fixture
def magnet(calculation, crystal):
    """Iron with its own density, turned so that no occupancy vanishes by symmetry."""
    calc = calculation(crystal("fe_bent"), spins=2)
    density = calc.starting_density()
    random = torch.Generator().manual_seed(1)
    noise_sx = [torch.rand(len(x), generator=random, dtype=x.dtype) * 0.1 for x in density.occupancy_sx]
    blocks = [calc.atoms.layout.blocks(torch.stack(noise_sx), species) for species in calc.atoms.layout.species]
    symmetric_sx = calc.atoms.layout.flatten([block + block.mT for block in blocks])
    return calc, type(density).of(density.density_sg, density.occupancy_sx + symmetric_sx, density.spin)


@pytest.mark.parametrize(
    ("symbol", "counts"), [("H", {2: 15, 4: 15}), ("O", {2: 55, 3: 69, 4: 78}), ("Fe", {2: 83, 3: 111, 4: 138})]
)
def test_numbers_are_as_many_as_pairs_of_channels_couple_to(setup, symbol, counts):
    """Of two s and a p (H): 3 for the s, 3 for each of two pairs sp, 1 + 5 for pp."""
    for largest, count in counts.items():
        rows = coupled_rows(setup(symbol), largest)
        assert len(rows) == count
        products = rows @ rows.T
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12)


def test_all_numbers_together_keep_energy_and_potential(magnet):
    calc, density = magnet
    largest = max(highest(species.setup) for species in calc.atoms.layout.species)
    back_sx = torch.stack([
        uncoupled(calc.atoms, coupled(calc.atoms, occupancy_x, largest), largest)
        for occupancy_x in density.occupancy_sx
    ])  # fmt: skip
    again = type(density).of(density.density_sg, back_sx, density.spin)
    assert not torch.allclose(back_sx, density.occupancy_sx, atol=1e-3), "what couples to odd l is left out"
    builder = potential_builder(Scene(calc.atoms, calc.parameters))
    here, there = builder(density), builder(again)
    assert there.energy == pytest.approx(here.energy, abs=1e-10)
    assert torch.allclose(there.dH_sx, here.dH_sx, atol=1e-9) and torch.allclose(there.vt_sg, here.vt_sg, atol=1e-10)


def test_the_smallest_fitting_lmaxmix_is_found_again(magnet):
    calc, density = magnet
    channels = {symbol: [state.l for state in data.states] for symbol, data in calc.datasets.items()}
    symbols = calc.structure.symbols
    for largest in (2, 3, 4):
        numbers = coupled(calc.atoms, density.occupancy_sx[0], largest)
        assert written_lmaxmix(channels, symbols, tuple(map(len, numbers))) == largest
        once = uncoupled(calc.atoms, numbers, largest)
        for first, second in zip(numbers, coupled(calc.atoms, once, largest), strict=True):
            np.testing.assert_allclose(second, first, atol=1e-12)
    assert written_lmaxmix(channels, symbols, (5, 5)) is None
