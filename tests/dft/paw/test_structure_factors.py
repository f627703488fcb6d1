import numpy as np
import pytest
import torch

from eigenwerk.dft.paw.spherical import solid_harmonics
from eigenwerk.dft.paw.structure_factors import Multipoles, StructureFactors, WaveColumns

DRAW = np.random.default_rng(1)
SCALED_AC = DRAW.uniform(-2, 2, size=(4, 3))


def complex_array(*shape):
    return DRAW.standard_normal(shape) + 1j * DRAW.standard_normal(shape)


@pytest.fixture(params=["ball", "random", "one wave", "a line"])
def index_gc(request):
    """Integer waves in no order: a half ball, scattered ones, a single one, a line."""
    box_gc = np.stack(np.meshgrid(range(-4, 5), range(-3, 4), range(6), indexing="ij"), -1).reshape(-1, 3)
    return {
        "ball": DRAW.permutation(box_gc[(box_gc**2).sum(1) <= 14]),
        "random": np.unique(DRAW.integers(-9, 12, size=(50, 3)), axis=0)[::-1].copy(),
        "one wave": np.array([[3, -2, 7]]),
        "a line": np.array([[0, 0, h] for h in range(-3, 4)]),
    }[request.param]


@pytest.fixture
def phase_ag(index_gc):
    """All of them, as the slow twin."""
    return np.exp(-2j * np.pi * SCALED_AC @ index_gc.T)


@pytest.fixture
def factors(index_gc):
    return StructureFactors(WaveColumns.of(torch.as_tensor(index_gc)), torch.as_tensor(SCALED_AC))


@pytest.mark.parametrize("weight_xa", [complex_array(3, 4), DRAW.standard_normal((2, 4))], ids=["complex", "real"])
def test_sums_over_atoms(factors, phase_ag, weight_xa):
    found_xg = factors.waves(torch.as_tensor(weight_xa))
    np.testing.assert_allclose(found_xg, weight_xa @ phase_ag, atol=1e-12)


def test_sums_over_waves(factors, phase_ag):
    field_xg = complex_array(3, phase_ag.shape[1])
    np.testing.assert_allclose(factors.atoms(torch.as_tensor(field_xg)), field_xg @ phase_ag.T, atol=1e-12)


def test_the_first_waves_alone(factors, phase_ag):
    count = (phase_ag.shape[1] + 1) // 2
    weight_xa, field_xg = complex_array(2, 4), complex_array(2, count)
    found_xg = factors.waves(torch.as_tensor(weight_xa), count)
    np.testing.assert_allclose(found_xg, weight_xa @ phase_ag[:, :count], atol=1e-12)
    found_xa = factors.atoms(torch.as_tensor(field_xg))
    np.testing.assert_allclose(found_xa, field_xg @ phase_ag[:, :count].T, atol=1e-12)


def test_columns_hold_every_wave_once(index_gc):
    columns = WaveColumns.of(torch.as_tensor(index_gc))
    column_g, level_g = columns.place_g // columns.levels, columns.place_g % columns.levels
    again_gc = torch.cat([columns.pair_pc[column_g], (level_g + columns.lowest)[:, None]], 1)
    assert np.array_equal(again_gc, index_gc)
    assert len(columns.pair_pc) == len(np.unique(index_gc[:, :2], axis=0))


RECIPROCAL_CV = np.array([[0.7, 0.1, -0.2], [0.3, 0.9, 0.05], [-0.1, 0.2, 1.1]])


@pytest.mark.parametrize("together", [1, 100])
@pytest.mark.parametrize("lmax", [0, 1, 2, 4])
def test_multipoles_in_columns_are_those_of_every_wave(factors, phase_ag, index_gc, lmax, together, monkeypatch):
    multipoles = Multipoles.of(factors.columns, torch.as_tensor(RECIPROCAL_CV), lmax)
    monkeypatch.setattr("eigenwerk.dft.paw.structure_factors.ATOM_BYTES", together * multipoles.coeff_kLp[:, 0].nbytes)
    harmonic_gL = solid_harmonics(lmax, torch.as_tensor(index_gc @ RECIPROCAL_CV)).numpy()
    weight_aL, field_g = complex_array(4, (lmax + 1) ** 2), complex_array(len(index_gc))
    found_g = factors.multipole_waves(multipoles, torch.as_tensor(weight_aL))
    size = abs(harmonic_gL).max()
    np.testing.assert_allclose(found_g, ((weight_aL @ harmonic_gL.T) * phase_ag).sum(0), atol=1e-12 * size)
    found_aL = factors.multipoles_at(multipoles, torch.as_tensor(field_g))
    np.testing.assert_allclose(found_aL, (phase_ag * field_g) @ harmonic_gL, atol=1e-12 * size * len(index_gc))
