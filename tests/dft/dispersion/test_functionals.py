"""By which names the tables know functionals: those that can be computed here, hybrids among them."""

import pytest

from eigenwerk.dft.dispersion.correction import D2, D3_BJ, D3_ZERO, D4
from eigenwerk.dft.dispersion.functionals import known_functionals, table_name
from eigenwerk.functionals.hybrid import B3LYP, HARTREE_FOCK, Hybrid
from eigenwerk.functionals.table import find_functional

NAMES = [
    ("PE", None, "pbe"), ("PS", None, "pbesol"), ("RP", None, "rpbe"), ("RE", None, "revpbe"), ("91", None, "pw91"),
    ("AM", None, "am05"), ("PE", Hybrid.of(0.25), "pbe0"), ("PE", Hybrid.of(0.25, 0.11), "hse06"),
    ("PS", Hybrid.of(0.25, 0.106), "hsesol"), ("B3", B3LYP, "b3lyp"), ("B5", B3LYP, "b3lyp"),
    ("PE", HARTREE_FOCK, "hf"), ("GGA_X_B88+GGA_C_LYP", None, "blyp"), ("GGA_X_PBE+GGA_C_PBE", None, "pbe"),
]  # fmt: skip


@pytest.mark.parametrize(("tag", "hybrid", "name"), NAMES)
def test_functionals_are_found(tag, hybrid, name):
    assert table_name(find_functional(tag), hybrid) == name


@pytest.mark.parametrize(("tag", "hybrid"), [("CA", None), ("PE", Hybrid.of(0.33)), ("GGA_X_B88+GGA_C_PBE", None)])
def test_others_have_no_parameters(tag, hybrid):
    pytest.importorskip("dftd3")
    pytest.importorskip("dftd4")
    name = table_name(find_functional(tag), hybrid)
    assert not any(name in known_functionals(method) for method in (D2, D3_ZERO, D3_BJ, D4))


def test_d2_has_the_scales_of_the_paper():
    assert known_functionals(D2)["pbe"] == {"s6": 0.75} and known_functionals(D2)["b3lyp"] == {"s6": 1.05}


def test_hybrids_have_parameters_of_d3_and_d4():
    pytest.importorskip("dftd3")
    pytest.importorskip("dftd4")
    for method in (D3_ZERO, D3_BJ, D4):
        assert {"pbe", "pbesol", "rpbe", "revpbe", "pbe0", "hse06", "b3lyp", "hf"} <= known_functionals(method).keys()
