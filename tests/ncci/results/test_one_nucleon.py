"""One nucleon outside a core has the single-particle energies of the file, and Schmidt's moments."""

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.ncci.estimate import planned
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.run import run_case
from eigenwerk.ncci.sources import source_of


@pytest.fixture
def case(tmp_path, shared_dir):
    def read(nucleus, file="usdb.snt", more=""):
        path = tmp_path / "case.toml"
        path.write_text(f'nucleus = "{nucleus}"\ninteraction = "{shared_dir}/reference/ncci/valence/{file}"\n{more}')
        return read_cases(path)[0]

    return read


@pytest.mark.parametrize("backend", ["auto", "pairs", "csb"])
def test_energies_and_moments_of_one_neutron(case, backend):
    """17O with USDB: 5/2+, 1/2+, 3/2+ at the file's energies, which do not scale; mu = j g_s / 2 for j = l + 1/2."""
    levels = run_case(
        case("17O", more=f'states = 3\nobservables = "all"\n[solver]\nbackend = "{backend}"\n')
    ).levels
    assert levels.energy_n == pytest.approx([-3.9257, -3.2079, 2.1117], abs=1e-12)
    assert [levels.label(n) for n in range(3)] == ["5/2+", "1/2+", "3/2+"] and levels.converged
    assert levels.values["mu"] == pytest.approx([-1.913, -1.913, 1.1478], abs=1e-9)
    assert levels.isospin_n == pytest.approx([0.5] * 3)
    assert levels.values["L2"] == pytest.approx([6, 0, 6]) and levels.values["S2"] == pytest.approx([0.75] * 3)
    assert np.einsum("nxx->n", levels.values["density_n"]) == pytest.approx([1, 1, 1])
    assert not np.isnan(levels.transitions["M1"]).any()


def test_one_proton_and_another_shell(case):
    fluorine = run_case(case("17F", more="states = 1\n[solver]\nprecision = \"single\"\n")).levels
    assert fluorine.energy_n == pytest.approx([-3.9257]) and fluorine.values["mu"] == pytest.approx([2 + 5.586 / 2])
    helium = run_case(case("5He", "ckpot.snt", "states = 2\n")).levels
    assert [helium.label(n) for n in range(2)] == ["3/2-", "1/2-"]
    assert helium.energy_n == pytest.approx([1.129, 2.419])


def test_several_ranks_have_nothing_to_share(case):
    one = case("17O", more="states = 3\n")
    with pytest.raises(InputError, match=r"one nucleon outside its core\. Start one rank, not 2"):
        planned(one, source_of(one).problem(one), "cpu", ranks=2)
