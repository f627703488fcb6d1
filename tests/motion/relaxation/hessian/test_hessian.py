"""What is kept as products for many atoms is what is a matrix for few."""

import numpy as np
import pytest

from eigenwerk.motion.mover import drive
from eigenwerk.motion.relaxation import curved, secant
from eigenwerk.motion.relaxation.chart import Chart, free_strains
from eigenwerk.motion.relaxation.hessian import hessian
from eigenwerk.motion.relaxation.hessian.hessian import DenseHessian, SparseHessian
from eigenwerk.motion.relaxation.hessian.model import confined, model_hessian
from eigenwerk.motion.relaxation.hessian.products import solved
from eigenwerk.motion.relaxation.method import STRAIN_LENGTH, size
from eigenwerk.motion.relaxation.relaxation import relaxation
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from eigenwerk.motion.relaxation.secant import Secant
from pair_surface import Pairwise, cluster, crystal

SYMBOLS = ("C", "Si", "C", "O")
"""With bends, torsions and weak contacts of several kinds."""


def chart_of(free, cell):
    start = crystal(3.4, rattle=0.3, strain=0.1)
    free_ac = np.ones((4, 3), bool)
    if free == "some":
        free_ac[0], free_ac[1, 2] = False, False
    return start, Chart(start.lattice_cv, free_ac, free_strains(cell, (True, True, True)))


@pytest.fixture(params=[("all", "all"), ("some", ""), ("some", "shape")], ids=" ".join)
def both(request):
    """The chart, a place, a vector that may change, and both forms of a matrix with updates, one of them damped."""
    start, chart = chart_of(*request.param)
    z, random = chart.vector(start), np.random.default_rng(5)
    model = model_hessian(chart, z, start.scaled_ac, SYMBOLS)
    factor_k = np.exp(random.normal(scale=0.3, size=len(model.kinds) + 1))
    matrix = confined(model.matrix(factor_k), model.floor_z, chart)
    secants = []
    for curvature in (1.3, 0.7, -0.2):
        step = chart.project(random.normal(size=len(z)) * 0.1)
        secants.append(Secant(step, curvature * matrix @ step, 1e-4))
    given = model, factor_k, secants, chart
    return chart, chart.project(random.normal(size=len(z))), DenseHessian(*given), SparseHessian(*given)


def test_products_are_those_of_the_matrix(both):
    _, v, dense, sparse = both
    np.testing.assert_allclose(sparse.times(v), dense.times(v), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(sparse.solve(v), dense.solve(v), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("most", [1e3, 0.1, 0.01])
def test_steps_go_as_far_as_those_of_the_matrix(both, most):
    _, v, dense, sparse = both
    metric = np.concatenate([np.ones(12), np.full(6, STRAIN_LENGTH**2)])
    wanted, found = dense.step(v, metric, size, most), sparse.step(v, metric, size, most)
    np.testing.assert_allclose(found, wanted, rtol=0.02, atol=0.006 * size(wanted))
    assert 0.994 * size(wanted) <= size(found) <= most


def test_the_diagonal_of_the_model_is_that_of_its_matrix():
    """Where no atom sees its own image."""
    start = cluster(7)
    chart = Chart(start.lattice_cv, np.ones((7, 3), bool), np.zeros((0, 6)))
    model = model_hessian(chart, chart.vector(start), start.scaled_ac, ("Ag",) * 7)
    ones = np.ones(len(model.kinds) + 1)
    np.testing.assert_allclose(model.products_with(ones).diagonal, np.diagonal(model.matrix(ones)), rtol=1e-12)


def test_equations_are_solved_among_the_vectors_that_may_change():
    random = np.random.default_rng(1)
    square = random.normal(size=(9, 9))
    matrix, free = square @ square.T + np.eye(9), np.arange(9) < 6
    found = solved(lambda v: matrix @ v, lambda v: v, random.normal(size=9), lambda v: v * free, 1e-12)
    assert np.all(found[6:] == 0)
    right = np.random.default_rng(1)
    right.normal(size=(9, 9))
    np.testing.assert_allclose((matrix @ found)[:6], right.normal(size=9)[:6], rtol=1e-9)


@pytest.mark.fast("start0-2")
@pytest.mark.parametrize(
    ("start", "isif"), [(crystal(rattle=0.3), 2), (crystal(rattle=0.2, strain=0.1), 3), (cluster(8), 2)]
)
def test_relaxations_without_a_matrix_take_as_many_points(monkeypatch, start, isif):
    def points():
        atoms = len(start.scaled_ac)
        relax = relaxation(RelaxationSettings(isif=isif), start, np.ones(atoms), ("Ag",) * atoms)
        found = drive(relax, Pairwise())
        assert relax.finished
        return len(found), found[-1][0].free_energy

    count, energy = points()
    for module in (hessian, secant, curved):
        monkeypatch.setattr(module, "MANY_ATOMS", 1)
    without, same = points()
    assert abs(without - count) <= 2 and same == pytest.approx(energy, abs=1e-3)
