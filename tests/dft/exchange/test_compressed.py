"""Compressed exchange is exact for the orbitals it was made of, and below the operator for all others."""

import pytest
import torch

from eigenwerk.dft.exchange.compressed import applied, compressed, expectation
from eigenwerk.dft.hamiltonian.wavefunctions import random_orbitals
from eigenwerk.errors import ConvergenceError


@pytest.fixture(scope="module", params=["complex", "real"])
def case(request, exchanging):
    settings = {"real": True, "mesh": (1, 1, 2)} if request.param == "real" else {"mesh": (1, 1, 3)}
    return exchanging(**settings)


def test_rows_give_the_operator_for_the_orbitals(case):
    basis = case.calc.basis
    rows = compressed(basis, case.coeff, case.image)
    torch.testing.assert_close(applied(basis, rows, case.coeff), case.image, atol=1e-12, rtol=0)
    energy = case.operator.energy(case.coeff, case.image, case.filling)
    assert expectation(basis, rows, case.coeff, case.filling) == pytest.approx(2 * energy, rel=1e-12)


def test_other_orbitals_feel_less_than_they_should(case):
    basis = case.calc.basis
    rows = compressed(basis, case.coeff, case.image)
    other = random_orbitals(case.calc.atoms, 4)[None] * basis.mask_kG[:, None]
    direct, short = case.operator.apply(case.sources, other), applied(basis, rows, other)
    missing_knn = other[0].conj() @ (direct - short)[0].mT
    assert float(torch.linalg.eigvalsh(missing_knn).max()) < 0


def test_negative_occupations_are_told(case):
    with pytest.raises(ConvergenceError, match="occupations must not be negative"):
        compressed(case.calc.basis, case.coeff, -case.image)
