"""Cases of nuclei that strangers' reports led to, by the command; `reference/reported/README.md` says what is right."""

import os
import re

import numpy as np
import pytest

from eigenwerk.ncci.results.levels_file import read_levels
from warm_start import warm_run


@pytest.fixture
def nuclei(shared_dir):
    return shared_dir / "reference" / "reported" / "nuclei"


def ncci(*words, code=0):
    """What `eigenwerk ncci` prints; code: its exit code."""
    command = ["-m", "eigenwerk.cli.main", "ncci", *map(str, words)]
    done = warm_run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=1800)
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.mark.slow
def test_one_valence_nucleon_runs(nuclei, tmp_path):
    """17O with USDB: the single-particle energies of the file."""
    text = ncci("run", nuclei / "f5_one_valence.toml", "-o", tmp_path / "out")
    assert "Neutrons in the orbitals" in text and "Protons in the orbitals" not in text  # there are none
    levels = read_levels(tmp_path / "out")
    assert levels.energy_n == pytest.approx([-3.9257, -3.2079, 2.1117], abs=1e-4)
    assert [levels.label(n) for n in range(3)] == ["5/2+", "1/2+", "3/2+"]


def test_quanta_that_differ_have_folders_of_their_own(nuclei, tmp_path):
    ncci("run", nuclei / "f6_same_folder.toml", "-o", tmp_path / "out")
    levels = {path.parent.name: read_levels(path) for path in (tmp_path / "out").glob("*/levels.h5")}
    assert sorted(levels) == ["hw20.0000001_Nmax02", "hw20_Nmax02"]
    assert sorted(each.about["hw"] for each in levels.values()) == [20.0, 20.0000001]


def test_equal_twins_in_a_file_are_one_element(shared_dir, tmp_path):
    """Two protons in p1/2 (-1 each as pairs) and p3/2: 2 x 2 matrices of J = 0 by hand."""
    case = shared_dir / "reference" / "reported" / "nuclei_twins_snt" / "case.toml"
    ncci("run", case, "-o", tmp_path / "out")
    by_hand = np.linalg.eigvalsh([[2 * 2.0 - 1.0, -0.5], [-0.5, 2 * 1.0 - 2.0]])
    assert read_levels(tmp_path / "out").energy_n[0] == pytest.approx(by_hand[0], abs=1e-9)


def test_shells_that_are_nearly_full_are_counted_by_holes(shared_dir):
    """134Te: one neutron determinant, as many states as proton pairs with M = 0."""
    text = ncci("check", shared_dir / "reference" / "reported" / "nuclei_134te" / "case.toml")
    assert re.search(r"states +36 with M = 0", text)


@pytest.mark.slow
def test_134te_runs(shared_dir, tmp_path):
    """Two protons outside a full shell of neutrons: 2 x 0 - 1 and what pairs of other orbitals have."""
    ncci("run", shared_dir / "reference" / "reported" / "nuclei_134te" / "case.toml", "-o", tmp_path / "out")
    levels = read_levels(tmp_path / "out")
    full = sum(0.5 * number * size for number, size in enumerate((12, 8, 6, 4, 2))) - 5.0
    assert levels.dimension == 36 and levels.energy_n[:2] == pytest.approx([full - 1.0, full], abs=1e-6)
    assert levels.energy_n[2:] == pytest.approx(full, abs=1e-6)  # J = 2, 4, ... of one energy, taken apart


def test_check_counts_the_time_of_matrix_elements(nuclei):
    """3H at Nmax 10: 1.7 s were told of a run that takes 14 s of one core."""
    told = re.search(r"^  pairs .* ([0-9.]+) s +yes", ncci("check", nuclei / "f7_check_time.toml"), re.MULTILINE)
    assert 7 < float(told[1]) < 30


@pytest.mark.slow
def test_guards_do_not_cost_three_times_the_products(nuclei, tmp_path):
    """4He at Nmax 8: 105 products with two guard states, 35 without any."""
    ncci("run", nuclei / "g_states1.toml", "-o", tmp_path / "out")
    levels = read_levels(tmp_path / "out")
    assert levels.solver["products"] <= 38 and levels.energy_n[0] == pytest.approx(-28.1698, abs=1e-4)


@pytest.mark.slow
def test_helium_4_has_a_limit(nuclei, tmp_path):
    """JISP16: -28.30 MeV (P. Maris, J. P. Vary and A. M. Shirokov, Phys. Rev. C 79, 014308 (2009))."""
    text = ncci("run", nuclei / "f2_no_limit.toml", "-o", tmp_path / "out")
    limits = [(float(a), float(b)) for a, b in re.findall(r"limit (-[0-9.]+) \+- ([0-9.]+)", text)]
    assert len(limits) == 5 and all(abs(energy + 28.30) <= spread for energy, spread in limits)
    assert limits[-1][1] < 0.1 and "no limit" not in text


@pytest.mark.slow
def test_m1_of_states_with_m_0(nuclei, tmp_path):
    """24Mg with USDB at M = 0: nothing is left out that J and J' allow."""
    ncci("run", nuclei / "f4_m0_gaps.toml", "-o", tmp_path / "out")
    levels = read_levels(tmp_path / "out")
    assert levels.energy_n[0] == pytest.approx(-87.1044, abs=1e-4)
    j_n, known = levels.j_n, np.isfinite(levels.transitions["M1"])
    allowed = (np.abs(j_n[:, None] - j_n) < 1.5) & (j_n[:, None] + j_n > 0.5)
    assert known[allowed].all()


@pytest.mark.slow
def test_an_evolved_run_says_what_is_left_out(nuclei, tmp_path):
    (tmp_path / "case.toml").write_text((nuclei / "he4srg24.toml").read_text().replace("[4, 6, 8, 10]", "4"))
    text = ncci("run", tmp_path / "case.toml", "-o", tmp_path / "out")
    assert "forces between three and more nucleons" in text and "The Coulomb repulsion is not evolved" in text
