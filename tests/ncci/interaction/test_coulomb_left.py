"""What an SRG run leaves out of the Coulomb repulsion, and that it says so."""

import numpy as np
import pytest

from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.interaction.relative_motion import nnlo_opt as nnlo
from eigenwerk.ncci.interaction.relative_motion.relative import local
from eigenwerk.ncci.results.levels_text import remarks
from eigenwerk.ncci.run import run_case


def test_a_local_potential_between_momenta_is_that_between_oscillator_functions():
    p_x, _ = nnlo.momentum_mesh(100)
    direct = local(lambda s, l, r: 3.0 * np.exp(-(r**2)), 20.0, 8, [(0, 0, 0), (1, 0, 1)])
    on_mesh = {(l, 0, l, l): nnlo.momentum_matrix(lambda r: 3.0 * np.exp(-(r**2)), l, p_x) for l in (0, 1)}
    found = nnlo._in_oscillator(on_mesh, 20.0, 8, 100)
    for wave, matrix in found.items():
        assert matrix == pytest.approx(direct.matrices[wave], abs=2e-5)


def case(tmp_path, nucleus, more):
    path = tmp_path / "case.toml"
    path.write_text(f'nucleus = "{nucleus}"\ninteraction = "NNLOopt"\nhw = 24\nNmax = 2\nstates = 1\n{more}')
    return read_cases(path)[0]


@pytest.mark.slow
def test_a_run_says_what_it_leaves_out_with_its_size(tmp_path):
    """3He: a few keV between two protons; 3H has no such repulsion, and nothing is said where nothing is evolved."""
    soft = "observables = []\nsrg_lambda = 1.6\n"
    helium = run_case(case(tmp_path, "3He", soft)).levels
    assert 1e-3 < abs(helium.values["V_C_srg"][0]) < 2e-2
    words = " ".join(remarks(helium))
    assert "forces between three and more nucleons that the evolution induces are left out" in words
    assert f"move the lowest state by {1e3 * helium.values['V_C_srg'][0]:+.1f} keV" in words
    tritium = run_case(case(tmp_path, "3H", soft)).levels
    words = " ".join(remarks(tritium))
    assert "are left out" in words and "Coulomb" not in words and "V_C_srg" not in tritium.values
    bare = run_case(case(tmp_path, "3He", "observables = []\n")).levels
    assert "left out" not in " ".join(remarks(bare))
