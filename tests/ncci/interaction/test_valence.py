"""Valence spaces: energies of nuclei from the files of three codes."""

import numpy as np
import pytest
from dense_m_scheme import DenseMScheme

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.oxbash_int import read_oxbash_int
from eigenwerk.io.ncci.snt import read_snt
from eigenwerk.io.ncci.valence_data import ValenceData
from eigenwerk.ncci.interaction.valence import valence_interaction


def energies_of(interaction, protons, neutrons, twice_m=0, parity=None):
    valence = protons - interaction.core[0], neutrons - interaction.core[1]
    dense = DenseMScheme(interaction.orbitals_p, interaction.orbitals_n, *valence, None, twice_m, parity)
    return np.linalg.eigvalsh(dense.matrix(interaction.hamiltonian(sum(valence))))


@pytest.fixture
def valence_dir(shared_dir):
    return shared_dir / "reference" / "ncci" / "valence"


# 8Be also in the tests of NuclearToolkit.jl (three decimals), the others by an independent code
@pytest.mark.parametrize(
    ("protons", "neutrons", "twice_m", "energies"),
    [
        (4, 4, 0, [-31.1194, -27.2997, -19.1618, -18.2487]),
        (3, 4, 1, [-14.6037, -12.6244, -9.5236, -6.3967]),
        (5, 5, 0, [-41.5038, -40.6012, -40.0853, -39.1201]),
        (6, 6, 0, [-71.0447, -66.3970, -58.5955, -57.5780]),
    ],
)
def test_p_shell_of_cohen_and_kurath(valence_dir, protons, neutrons, twice_m, energies):
    interaction = valence_interaction(read_snt(valence_dir / "ckpot.snt"))
    assert energies_of(interaction, protons, neutrons, twice_m)[:4] == pytest.approx(energies, abs=6e-5)


# MFDn prints 18O; the others by an independent code
@pytest.mark.parametrize(
    ("protons", "neutrons", "energies"),
    [
        (8, 10, [-11.9318, -9.9333, -8.4046, -7.5717]),
        (9, 9, [-13.4132, -12.4685, -12.1719, -11.9318]),
        (10, 10, [-40.4723, -38.7256, -36.2971, -33.7742]),
    ],
)
def test_usdb_from_kshell_and_from_oxbash_files(valence_dir, protons, neutrons, energies):
    snt = read_snt(valence_dir / "usdb.snt")
    oxbash = read_oxbash_int(valence_dir / "usdb.int", valence_dir / "sd.sps")
    assert oxbash.core == snt.core == (8, 8)
    for data in (snt, oxbash):
        found = energies_of(valence_interaction(data), protons, neutrons)
        assert found[:4] == pytest.approx(energies, abs=6e-5)


def test_gxpf1a_with_the_core_from_the_list_of_orbitals(valence_dir):
    data = read_oxbash_int(valence_dir / "gx1a.int", valence_dir / "fp.sp")
    assert (data.core, data.reference_mass, data.exponent) == ((20, 20), 42.0, -0.3)
    assert energies_of(valence_interaction(data), 20, 22)[1:3] == pytest.approx([-18.2957, -17.4644], abs=6e-5)


def test_orders_of_labels_are_the_same_element():
    """0p1/2 and 0p3/2, J = 1: <ba| = -(-1)^(ja + jb - J) <ab| = +<ab| for like nucleons; J = 2 the opposite."""
    three = np.array([[0, 0], [1, 1], [1, 3]])

    def interaction(a, b, j):
        elements = [("pp", a, b, 1, 1, j, 1.5)]
        return valence_interaction(ValenceData(three, three, np.eye(2), np.eye(2), elements, (2, 2)))

    straight, turned = (interaction(*order, 2).two_body.pp[2, 0].matrix_xx for order in ((0, 1), (1, 0)))
    np.testing.assert_allclose(turned, -((-1) ** (2 - 2)) * straight)
    assert abs(straight).max() == 1.5


@pytest.mark.parametrize(("a", "b", "j"), [(0, 0, 1), (0, 1, 3), (0, 1, 0)])
def test_elements_that_cannot_be_are_refused(a, b, j):
    three = np.array([[0, 0], [1, 1], [1, 3]])
    elements = [("nn", a, b, a, b, j, 1.0)]
    with pytest.raises(InputError, match=f"{a + 1} {b + 1} {a + 1} {b + 1} with J = {j} is forbidden"):
        valence_interaction(ValenceData(three, three, np.eye(2), np.eye(2), elements, (2, 2)))


def test_one_valence_nucleon_is_refused(valence_dir):
    interaction = valence_interaction(read_snt(valence_dir / "ckpot.snt"))
    with pytest.raises(InputError, match="needs two"):
        interaction.hamiltonian(1)
