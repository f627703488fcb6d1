"""The semilocal part of hybrids: shares of functionals, and what is refused."""

import pytest
import torch

from eigenwerk.dft.xc.evaluation import energy_and_derivatives, energy_density, uncompiled
from eigenwerk.errors import InputError
from eigenwerk.functionals.hybrid import B3LYP, HARTREE_FOCK, Hybrid
from eigenwerk.functionals.table import FUNCTIONALS, find_functional
from eigenwerk.units import BOHR_ANGSTROM

QUARTER = Hybrid.of(0.25)


def values(spins: int, points: int = 40) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(spins)
    density_sx = torch.rand((spins, points), generator=generator, dtype=torch.float64)
    sigma_yx = torch.rand((2 * spins - 1, points), generator=generator, dtype=torch.float64)
    return {"density": 0.3 * density_sx, "sigma": 0.05 * sigma_yx}


@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("name", FUNCTIONALS)
def test_shares_of_one_are_the_functional(name, spins):
    """Whole parts by one path, and gradient corrections apart from the uniform gas by another."""
    at = values(spins)
    whole_x = energy_density(find_functional(name), at)
    for hybrid in (Hybrid.of(0.0), Hybrid(0.0, 0.0, 1.0 - 1e-15, 1.0, 1.0 - 1e-15, 1.0)):
        torch.testing.assert_close(energy_density(find_functional(name, hybrid), at), whole_x, rtol=1e-13, atol=0)


WITH_SPINS = [
    *((name, None) for name in FUNCTIONALS), *((name, QUARTER) for name in FUNCTIONALS),
    *((name, Hybrid.of(0.25, 0.11)) for name in ("PE", "PE-HOLE", "PS", "CA")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "hybrid"), WITH_SPINS)
def test_energies_have_no_step_where_spins_of_opposite_sign_cancel(name, hybrid):
    """Densities cut at a sphere of waves do so far from the atoms; forces are derivatives of no energy with steps."""
    functional, step = find_functional(name, hybrid), 3e-9  # more than any density that is left out
    one_x, rest_x = torch.full((2,), 1e-4, dtype=torch.float64), torch.tensor([step, -step], dtype=torch.float64)
    sigma_yx = torch.tensor([1e-10, -5e-11, 2e-10], dtype=torch.float64)[:, None].expand(-1, 2)
    for density_sx in (torch.stack([one_x, rest_x - one_x]), torch.stack([rest_x - one_x, one_x])):
        energy_x = energy_density(functional, {"density": density_sx, "sigma": sigma_yx})
        assert float(energy_x.abs().min()) > 1e-6
        assert float((energy_x[0] - energy_x[1]).abs()) < step


@pytest.mark.parametrize("spins", [1, 2])
def test_shares_are_of_exchange_and_correlation_with_and_without_gradients(spins):
    at = values(spins)
    exchange_x, correlation_x, local_x, gas_x = (
        energy_density(find_functional(name), at) for name in ("GGA_X_PBE", "GGA_C_PBE", "LDA_X", "LDA_C_PW_MOD")
    )
    found_x = energy_density(find_functional("PE-EXACT", Hybrid(0.2, 0.0, 0.7, 0.8, 0.6, 0.9)), at)
    expected_x = 0.7 * (exchange_x - local_x) + 0.8 * local_x + 0.6 * (correlation_x - gas_x) + 0.9 * gas_x
    torch.testing.assert_close(found_x, expected_x, rtol=1e-12, atol=0)


@pytest.mark.parametrize("spins", [1, 2])
def test_hartree_fock_has_no_semilocal_part(spins):
    functional = find_functional("PE", Hybrid(1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    at = energy_and_derivatives(functional, values(spins))
    assert not at.energy_x.any() and not any(slope.any() for slope in at.slopes.values())
    assert set(at.slopes) == {"density", "sigma"}


@pytest.mark.parametrize("spins", [1, 2])
@pytest.mark.parametrize("name", FUNCTIONALS)
def test_semilocal_parts_are_compiled(name, spins):
    assert uncompiled(find_functional(name, Hybrid.of(0.25)), spins) == ()


def test_a_hybrid_is_the_same_functional_at_every_call():
    """Compiled programs are kept by identity."""
    assert find_functional("PE", Hybrid.of(0.25)) is find_functional("PE", Hybrid.of(0.25))
    assert find_functional("PE", Hybrid.of(0.25)) is not find_functional("PE", Hybrid.of(0.3))


@pytest.mark.parametrize(
    ("tag", "hybrid", "title"),
    [
        ("PE", Hybrid.of(0.25), "PBE0: 25 % exact exchange"),
        ("PE", Hybrid.of(0.25, 0.2 * BOHR_ANGSTROM), "HSE06: 25 % exact exchange screened by 0.2 per Å"),
        ("PE", Hybrid.of(0.25, 0.11), "HSE06: 25 % exact exchange screened by 0.208 per Å"),
        ("PE", Hybrid.of(0.25, 0.3 * BOHR_ANGSTROM), "HSE03: 25 % exact exchange screened by 0.3 per Å"),
        ("PE", Hybrid.of(0.3, 0.11), "hybrid of PBE: 30 % exact exchange screened by 0.208 per Å"),
        ("PS", Hybrid.of(0.25, 0.11), "HSEsol: 25 % exact exchange screened by 0.208 per Å"),
        ("RP", Hybrid.of(0.25), "hybrid of RPBE: 25 % exact exchange"),
        ("B3", B3LYP, "B3LYP: 20 % exact exchange"),
        ("B3", Hybrid.of(0.2), "hybrid of Becke's exchange with LYP and VWN3: 20 % exact exchange"),
        ("PE", Hybrid(0.0, 0.0, 1.0, 1.0, 0.0, 0.5), "PBE with AGGAC = 0, ALDAC = 0.5"),
        ("PE", HARTREE_FOCK, "Hartree-Fock"),
    ],
)
def test_titles_are_the_usual_names_with_numbers(tag, hybrid, title):
    assert find_functional(tag, hybrid).title == title


def test_missing_parts_are_named():
    with pytest.raises(InputError, match="no hybrids of GGA_X_PBE"):
        find_functional("GGA_X_PBE", Hybrid.of(0.25))
    with pytest.raises(InputError, match="no screened exchange of RPBE"):
        find_functional("RP", Hybrid.of(0.25, 0.11))
    with pytest.raises(InputError, match="cannot be negative"):
        Hybrid.of(0.25, -0.11)
