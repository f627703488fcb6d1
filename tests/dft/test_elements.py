"""Every element with a PBE data set converges from the start a user would make; every data set makes a Setup.

The cases are those of benchmarks/hard_cases/elements (experimental structures, low cutoffs, coarse meshes).
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.density.density import electrons_of
from eigenwerk.dft.paw.setup import make_setup
from eigenwerk.dft.settings.cycle import STEPS
from eigenwerk.io.paw.paw_library import choose_dataset, list_datasets
from eigenwerk.io.paw.paw_xml import read_paw_xml

FAST = ("Al", "Cu")

MOMENTS = {"O": 2.0, "Fe": 2.05, "Co": 3.2, "Ni": 0.6, "Cr": 0.0}
"""Moments of the cell, Bohr magneton: O2 a triplet; the metals near experiment (bcc 2.2, hcp 2 x 1.6, fcc 0.6)."""


def _cases() -> ModuleType:
    pytest.importorskip("ase", reason="the structures come from ASE")
    path = Path(__file__).parents[2] / "benchmarks/hard_cases/elements/crystals.py"
    spec = importlib.util.spec_from_file_location("element_crystals", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _elements() -> list[object]:
    symbols = sorted({entry.element for entry in list_datasets("PBE")})
    return [symbol if symbol in FAST else pytest.param(symbol, marks=pytest.mark.slow) for symbol in symbols]


@pytest.mark.parametrize("symbol", _elements())
def test_element_converges_from_atoms(symbol: str) -> None:
    data = read_paw_xml(choose_dataset(symbol))
    case = _cases().element_case(symbol, data)
    calculation = Calculation(case.structure, case.kpoints, case.parameters, {symbol: data})
    ground = calculation.run()
    state = ground.state
    assert state.converged, f"{state.status}; residuals {[round(step.residual, 6) for step in state.history[-8:]]}"
    assert len(state.history) <= STEPS
    counted = float(electrons_of(state.density, calculation.atoms).sum())
    assert counted == pytest.approx(case.parameters.electrons, abs=1e-8)
    assert np.abs(ground.forces_av.sum(0)).max() < 1e-2
    if symbol in MOMENTS:
        assert state.history[-1].moment == pytest.approx(MOMENTS[symbol], abs=0.15)


@pytest.mark.slow
def test_every_pbe_set_makes_a_setup() -> None:
    entries = list_datasets("PBE")
    assert len(entries) > 100
    for entry in entries:
        setup = make_setup(read_paw_xml(entry.file))
        size = setup.projector_count
        assert setup.overlap_ij.shape == (size, size), entry.file.name
        for table in (setup.coulomb_xx, setup.coulomb_ij, setup.kinetic_ij, setup.multipole_Lij):
            assert np.isfinite(table).all(), entry.file.name
