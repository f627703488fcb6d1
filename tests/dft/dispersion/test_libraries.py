"""Parameters of D3 and D4 by functional."""

import pytest

from eigenwerk.dft.dispersion import libraries
from eigenwerk.dft.dispersion.correction import D2, D3_BJ, D3_ZERO, D4

pytest.importorskip("dftd3")
pytest.importorskip("dftd4")


@pytest.mark.parametrize(("method", "pbe"), [
    (D3_ZERO, {"rs6": 1.217, "s8": 0.722}), (D3_BJ, {"a1": 0.4289, "s8": 0.7875, "a2": 4.4407}),
    (D4, {"a1": 0.38574991, "s8": 0.95948085, "a2": 4.80688534}),
])  # fmt: skip
def test_parameters_are_those_of_the_papers(method, pbe):
    found = libraries.parameters_by_functional(method)["pbe"]
    assert {key: found[key] for key in pbe} == pbe and "s9" not in found and "alp" not in found


def test_d2_needs_no_library():
    assert not libraries.is_missing(D2) and not libraries.is_missing(D4)
