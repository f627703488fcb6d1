"""Interactions by name and from files: published tables of matrix elements come out, missing parts are named."""

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.h2 import read_h2
from eigenwerk.ncci.interaction.files import (
    BUILT_IN,
    interaction,
    relative_from_file,
    two_body_from_h2,
    valence_from_file,
)
from eigenwerk.ncci.interaction.relative_motion.potentials import coulomb
from eigenwerk.ncci.interaction.two_body import SPECIES, PairSpace, restrict
from eigenwerk.ncci.orbitals import Orbitals, no_core_orbitals
from eigenwerk.ncci.results.limits.convergence import BUILT_IN_NAMES
from h2_writing import h2_bytes, h2_from_two_body
from scattering import hamiltonian


def space_of(quanta):
    return PairSpace(no_core_orbitals(quanta), no_core_orbitals(quanta), quanta, quanta, quanta)


def largest_difference(one, other):
    return max(abs(one.matrices[kind][key] - other.matrices[kind][key]).max() for kind in SPECIES for key in one.pp)


@pytest.fixture
def ncci_dir(shared_dir):
    return shared_dir / "reference" / "ncci"


@pytest.mark.fast("JISP16-20")
@pytest.mark.parametrize("hw", [10, 15, 20])
@pytest.mark.parametrize("name", ["JISP16", "Daejeon16"])
def test_tables_of_the_relative_motion_give_the_matrix_elements_of_mfdn(ncci_dir, name, hw):
    """4 060 pp, 4 060 nn and 16 078 pn elements, printed in single precision."""
    space = space_of(6)
    source = name if name == "JISP16" else str(ncci_dir / "relative" / "daejeon16_hw25.txt")
    published = two_body_from_h2(read_h2(ncci_dir / "h2-tbme" / f"{name}-tb-6-{hw}.0.bin"))
    assert largest_difference(interaction(source, space, hw), restrict(published, space)) < 6e-6


@pytest.mark.slow
def test_daejeon16_is_built_in(ncci_dir):
    published = two_body_from_h2(read_h2(ncci_dir / "h2-tbme" / "Daejeon16-tb-6-20.0.bin"))
    assert largest_difference(interaction("Daejeon16", space_of(4), 20.0), restrict(published, space_of(4))) < 6e-6


@pytest.mark.parametrize(
    ("name", "file_hw", "message"),
    [
        ("JISP16-tb-6-15.0.bin", None, r"hw = 20 MeV, but .*15\.0\.bin were made for 15 MeV \(its name\)"),
        ("v.bin", None, "nothing says which hw .*v.bin belong to.*file_hw = 20.0"),
        ("v.bin", 25.0, r"made for 25 MeV \(file_hw\)"),
        ("JISP16-tb-6-15.0.bin", 20.0, r"file_hw = 20 MeV, but the name of .*15\.0\.bin says 15 MeV. Remove file_hw"),
        ("v.bin", 20.0, None),
        ("v_Nmax06_hw20.0.bin", None, None),
    ],
)
def test_matrix_elements_of_another_hw_are_refused(tmp_path, name, file_hw, message):
    path = tmp_path / name
    path.write_bytes(h2_bytes(h2_from_two_body(interaction("JISP16", space_of(1), 20.0))))
    if message is None:
        assert interaction(str(path), space_of(1), 20.0, file_hw=file_hw)
    else:
        with pytest.raises(InputError, match=message):
            interaction(str(path), space_of(1), 20.0, file_hw=file_hw)


def test_coulomb_is_that_of_mfdn(ncci_dir):
    published = restrict(two_body_from_h2(read_h2(ncci_dir / "h2-tbme" / "VC-tb-6-20.0.bin")), space_of(6))
    assert largest_difference(coulomb(space_of(6), 20.0), published) < 1.5e-5


def test_deuteron_of_daejeon16(ncci_dir):
    relative = relative_from_file(ncci_dir / "relative" / "daejeon16_hw25.txt")
    energies, states = np.linalg.eigh(hamiltonian(relative, 1, 1, (0, 2), 100))
    assert energies[0] == pytest.approx(-2.22466, abs=1e-5)
    assert (states[100:, 0] ** 2).sum() == pytest.approx(0.0200, abs=1e-4)


@pytest.mark.slow
def test_table_at_20_mev_is_the_built_in_jisp16(ncci_dir):
    space = space_of(4)
    table = interaction(str(ncci_dir / "relative" / "Vrel_JISP16_bare_Jmax4.hw20"), space, 14.0)
    assert largest_difference(table, interaction("jisp16", space, 14.0)) < 5e-6


def test_h2_files_can_be_written_and_read_again(tmp_path):
    space = space_of(3)
    two_body = interaction("JISP16", space, 20.0)
    (tmp_path / "x_hw20.bin").write_bytes(h2_bytes(h2_from_two_body(two_body)))
    assert largest_difference(interaction(str(tmp_path / "x_hw20.bin"), space, 20.0), two_body) < 1e-6


def test_orbitals_in_another_order_are_found(tmp_path):
    """Exchanged labels of like nucleons carry a phase; going there and back changes nothing."""
    ordered = no_core_orbitals(3)
    turned = Orbitals(ordered.n_a[::-1], ordered.l_a[::-1], ordered.twice_j_a[::-1])
    two_body = interaction("JISP16", space_of(3), 20.0)
    there = restrict(two_body, PairSpace(turned, turned, 3, 3, 3))
    direct = interaction("JISP16", PairSpace(turned, turned, 3, 3, 3), 20.0)
    assert largest_difference(there, direct) < 1e-12
    assert largest_difference(restrict(there, space_of(3)), two_body) < 1e-15


def test_missing_orbitals_and_pairs_are_named(ncci_dir):
    path = str(ncci_dir / "h2-tbme" / "JISP16-tb-6-20.0.bin")
    with pytest.raises(InputError, match=r"no matrix elements for the proton orbitals 3p1/2 .*or a smaller space"):
        interaction(path, space_of(7), 20.0)
    orbitals = no_core_orbitals(6)
    with pytest.raises(InputError, match=r"up to 8 are needed. Use an interaction that has them"):
        interaction(path, PairSpace(orbitals, orbitals, 8, 8, 8), 20.0)


@pytest.mark.parametrize("name", ["JISP17", "no/such/file.bin"])
def test_unknown_interactions_are_refused_with_the_known_names(name):
    with pytest.raises(InputError, match=r"neither a built-in one \(daejeon16, jisp16, minnesota.*\) nor a file"):
        interaction(name, space_of(2), 20.0)


def test_a_table_without_hw_is_refused(tmp_path):
    (tmp_path / "v.txt").write_text("0 0 0 0 0 0 -1.0\n")
    with pytest.raises(InputError, match=r"does not say which hw.*file_hw = 20.0 .*or name it as in jisp16_hw20.0.dat"):
        interaction(str(tmp_path / "v.txt"), space_of(2), 20.0)


def test_a_table_tells_its_hw_by_its_name_as_an_h2_file_does(tmp_path):
    (tmp_path / "v_hw25.0.txt").write_text("0 0 0 0 0 0 -1.0\n")
    (tmp_path / "v.txt").write_text("# hbar*omega = 25 MeV\n0 0 0 0 0 0 -1.0\n")
    assert relative_from_file(tmp_path / "v_hw25.0.txt").hw == relative_from_file(tmp_path / "v.txt").hw == 25.0
    with pytest.raises(InputError, match=r"file_hw = 20 MeV, but the name of v_hw25.0.txt says 25 MeV"):
        relative_from_file(tmp_path / "v_hw25.0.txt", 20.0)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("n3lo.me3j.gz", b"\x1f\x8b\x08 \0", r"n3lo.me3j.gz is no file of two-body matrix elements: .* three nucleons"),
        ("n3lo.me3j", b"(* nsuite/me3b/v0.0.0 *)\n1 2 3 4 5 6 7 8 9 10\n", "by its name .* three nucleons"),
        ("v_hw20.bin.gz", b"\x1f\x8b\x08 \0", r"compressed by gzip.*gunzip v_hw20.bin.gz"),
        ("v_hw20.bin", b"\0\1\2\3\4", "binary, but no h2 file"),
        ("v_hw20.bin", b" \n", "v_hw20.bin is empty"),
    ],
)
def test_what_is_no_two_body_file_is_refused_at_once(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        interaction(str(tmp_path / name), space_of(2), 20.0)


def test_valence_files_by_their_suffix(ncci_dir):
    assert valence_from_file(ncci_dir / "valence" / "usdb.snt").core == (8, 8)
    assert valence_from_file(ncci_dir / "valence" / "usdb.int", ncci_dir / "valence" / "sd.sps").exponent == -0.3
    with pytest.raises(InputError, match=r"Give the \.sps or \.sp file"):
        valence_from_file(ncci_dir / "valence" / "usdb.int")


def test_names_of_built_in_interactions_are_those_that_can_be_made():
    assert set(BUILT_IN_NAMES) == set(BUILT_IN)
