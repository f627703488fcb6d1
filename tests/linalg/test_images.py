"""Vectors of pencils with a part of low rank: A x and P x instead of H x and S x give the same answers."""

from functools import partial

import pytest
import torch

from eigenwerk.linalg.bands.conjugate import conjugate
from eigenwerk.linalg.bands.damped import damped
from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.bands.rmm_diis import rmm_diis
from eigenwerk.linalg.bands.subspace import subspace
from eigenwerk.linalg.images import FullImages, SplitImages, images
from eigenwerk.linalg.operator import ALL, SplitOperator
from eigenwerk.linalg.orthogonal import complement
from eigenwerk.linalg.products import inner
from thread_ranks import on_thread_ranks

SOLVERS = pytest.mark.parametrize("solver", [
    partial(davidson, expansions=3), partial(davidson, expansions=6, max_space=3),
    partial(davidson, expansions=2, final_residual=False), partial(rmm_diis, steps=3), partial(conjugate, steps=3),
    partial(conjugate, steps=2, final_residual=False), partial(damped, time=0.3, steps=4),
], ids=["davidson", "restarted", "two", "rmm", "conjugate", "unrotated", "damped"])  # fmt: skip
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["real", "complex"])


class Projected(SplitOperator):
    """Kinetic energy and three projectors in H and S, of other strength in each problem; counts what it does."""

    def __init__(self, kinetic_kx, projector_kix, splits=True):
        self.kinetic_kx, self.projector_kix, self.splits = kinetic_kx, projector_kix, splits
        scale_k11 = torch.linspace(1, 1.2, len(kinetic_kx), dtype=kinetic_kx.dtype)[:, None, None]
        d_ii, e_ii = [[-2.0, 0.3, 0], [0.3, -1.0, 0.1], [0, 0.1, 0.5]], [[0.4, 0.1, 0], [0.1, -0.2, 0], [0, 0, 0.3]]
        self.d_kii, self.e_kii = ((scale_k11 * torch.tensor(m)).to(projector_kix.dtype) for m in (d_ii, e_ii))
        self.products = 0

    def first(self, x_knx, k=ALL):
        return self.kinetic_kx[k][:, None] * x_knx

    def project(self, x_knx, k=ALL):
        self.products += x_knx.shape[0] * x_knx.shape[1]
        return self.sum(x_knx @ self.projector_kix[k].mH)

    def times_dh(self, proj_kni, k=ALL):
        return proj_kni @ self.d_kii[k]

    def times_ds(self, proj_kni, k=ALL):
        return proj_kni @ self.e_kii[k]

    def add_projected(self, q_kni, onto_knx, k=ALL):
        self.products += onto_knx.shape[0] * onto_knx.shape[1]
        return onto_knx.baddbmm_(q_kni, self.projector_kix[k])

    def precondition(self, residual_knx, eig_kn, x_knx, k=ALL):
        return residual_knx / (1 + self.kinetic_kx[k][:, None])

    def sum(self, tensor):
        return tensor


class SharedProjected(Projected):
    """Components, and rows of P in sums, shared by two ranks; `add` adds over them."""

    def __init__(self, rank, add, kinetic_kx, projector_kix):
        super().__init__(kinetic_kx, projector_kix)
        self.add = add
        self.own_i = slice(0, 2) if rank == 0 else slice(2, 3)

    def sum(self, tensor):
        return self.add(tensor)


def parts(random_tensor, dtype, k=3, x=80):
    kinetic_kx = 0.02 * (torch.arange(x, dtype=torch.float64) + torch.linspace(0, 0.4, k)[:, None]) ** 2
    projector_kix = random_tensor(k, 3, x, dtype=dtype, seed=3) * torch.exp(-kinetic_kx)[:, None]
    return kinetic_kx, projector_kix / torch.linalg.vector_norm(projector_kix, dim=-1, keepdim=True)


def starts(random_tensor, dtype, kinetic_kx, bands=7):
    return random_tensor(len(kinetic_kx), bands, kinetic_kx.shape[1], dtype=dtype, seed=8) / (1 + kinetic_kx[:, None])


def warm(random_tensor, dtype, tables):
    """Vectors that all solvers can start from: near the lowest ones."""
    return davidson(Projected(*tables), starts(random_tensor, dtype, tables[0]), expansions=4).vectors_knx


@SOLVERS
@DTYPES
def test_solvers_find_the_same_with_either_form(random_tensor, solver, dtype):
    """To rounding, of a spectrum up to 128: the sums are the same ones in another order."""
    tables = parts(random_tensor, dtype)
    start_knx = warm(random_tensor, dtype, tables)
    split, full = (solver(Projected(*tables, splits), start_knx) for splits in (True, False))
    torch.testing.assert_close(split.eig_kn, full.eig_kn, atol=1e-11, rtol=0)
    same_kn = inner(split.vectors_knx, Projected(*tables).overlap(full.vectors_knx)).abs().diagonal(dim1=-2, dim2=-1)
    torch.testing.assert_close(same_kn, torch.ones_like(same_kn), atol=1e-9, rtol=0)
    assert (split.applications, split.iterations) == (full.applications, full.iterations)


@DTYPES
def test_tolerances_and_weights_let_the_same_bands_rest(random_tensor, dtype):
    tables = parts(random_tensor, dtype)
    start_knx, weight_kn = warm(random_tensor, dtype, tables), (torch.arange(7) < 5).double().expand(3, 7)
    for solver in (partial(davidson, expansions=60), partial(rmm_diis, steps=4), partial(conjugate, steps=4)):
        found = [
            solver(Projected(*tables, splits), start_knx, tolerance=1e-6, wanted_weight_kn=weight_kn)
            for splits in (True, False)
        ]
        assert found[0].applications == found[1].applications
        torch.testing.assert_close(found[0].eig_kn[:, :5], found[1].eig_kn[:, :5], atol=1e-11, rtol=0)


@pytest.mark.parametrize("solver", [
    partial(davidson, expansions=100, tolerance=1e-9), partial(davidson, expansions=12, max_space=3),
    partial(rmm_diis, steps=3), partial(conjugate, steps=3),
], ids=["davidson", "restarted", "rmm", "conjugate"])  # fmt: skip
def test_residuals_reported_are_those_of_the_operator(random_tensor, solver):
    tables = parts(random_tensor, torch.complex128)
    operator = Projected(*tables)
    result = solver(operator, warm(random_tensor, torch.complex128, tables))
    hx_knx, sx_knx = operator.apply(result.vectors_knx)
    residual_kn = torch.linalg.vector_norm(hx_knx - result.eig_kn.unsqueeze(-1) * sx_knx, dim=-1)
    torch.testing.assert_close(result.residual_kn, residual_kn, atol=1e-11, rtol=0)


@pytest.mark.parametrize("solver", [
    partial(davidson, expansions=2, final_residual=False), partial(davidson, expansions=30, tolerance=1e-6),
    partial(rmm_diis, steps=2, final_residual=False), partial(conjugate, steps=2), partial(damped, time=0.3),
], ids=["davidson", "leaving", "rmm", "conjugate", "damped"])  # fmt: skip
def test_projections_of_the_result_are_known_and_begin_the_next_call(random_tensor, solver):
    """Problems that converge early leave the block and come back with their projections."""
    tables = parts(random_tensor, torch.complex128)
    start_knx = warm(random_tensor, torch.complex128, tables)
    start_knx[1] = davidson(Projected(*tables), start_knx, expansions=60, tolerance=1e-8).vectors_knx[1]
    operator = Projected(*tables)
    first = solver(operator, start_knx)
    expected_kni = Projected(*tables).project(first.vectors_knx)
    torch.testing.assert_close(first.proj_kni, expected_kni, atol=1e-12, rtol=0)
    counts = []
    for known_kni in (None, first.proj_kni):
        operator = Projected(*tables)
        counts.append((solver(operator, first.vectors_knx, proj_kni=known_kni).eig_kn, operator.products))
    torch.testing.assert_close(counts[1][0], counts[0][0], atol=1e-11, rtol=0)
    assert counts[1][1] == counts[0][1] - 3 * 7


def test_projectors_are_used_twice_for_a_new_vector_and_not_three_times(random_tensor):
    """Once for P x and once for the residual of its Ritz vector; H x and S x apart would take three products."""
    tables = parts(random_tensor, torch.complex128)
    used = {}
    for splits in (True, False):
        operator = Projected(*tables, splits)
        davidson(operator, starts(random_tensor, torch.complex128, tables[0]), expansions=2, final_residual=False)
        used[splits] = operator.products
    assert used == {True: 3 * 7 * 5, False: 3 * 7 * 9}


def test_images_in_either_form_span_the_same_pencil(random_tensor):
    tables = parts(random_tensor, torch.complex128)
    x_knx, y_knx = (random_tensor(3, n, 80, seed=n) for n in (4, 6))
    split, full = Projected(*tables), Projected(*tables, splits=False)
    assert isinstance(images(split, x_knx), SplitImages) and isinstance(images(full, x_knx), FullImages)
    spaces = [subspace(images(op, x_knx), op.sum).grown(images(op, y_knx), op.sum) for op in (split, full)]
    torch.testing.assert_close(spaces[0].h_kmm, spaces[1].h_kmm, atol=1e-11, rtol=0)
    torch.testing.assert_close(spaces[0].s_kmm, spaces[1].s_kmm, atol=1e-12, rtol=0)
    z_knx = random_tensor(3, 2, 80, seed=9)
    overlaps = [space.overlaps(z_knx, split.sum) for space in spaces]
    torch.testing.assert_close(*overlaps, atol=1e-12, rtol=0)
    some = torch.tensor([2, 0])
    new_knx = complement(split, spaces[0].problems(some), z_knx[some], some)
    assert spaces[0].problems(some).overlaps(new_knx, split.sum, some).abs().max() < 1e-12
    gram_knn = inner(new_knx, split.overlap(new_knx, some))
    torch.testing.assert_close(gram_knn, torch.eye(2, dtype=gram_knn.dtype).expand(2, 2, 2), atol=1e-12, rtol=0)


def test_a_residual_taken_into_images_comes_out_again(random_tensor):
    tables = parts(random_tensor, torch.complex128)
    x_knx, eig_kn = random_tensor(3, 4, 80, seed=2), torch.rand(3, 4, dtype=torch.float64)
    for splits in (True, False):
        made = images(Projected(*tables, splits), x_knx)
        expected = [part.clone() for part in made.parts]
        back = made.with_residual(made.residual(eig_kn)).without_residual(eig_kn)
        for found, wanted in zip(back.parts, expected, strict=True):
            torch.testing.assert_close(found, wanted, atol=1e-13, rtol=0)


@pytest.mark.parametrize(
    "solver", [partial(davidson, expansions=6), partial(rmm_diis, steps=3), partial(conjugate, steps=3)],
    ids=["davidson", "rmm", "conjugate"],
)  # fmt: skip
def test_ranks_that_share_components_and_rows_of_p_find_the_same(random_tensor, solver):
    kinetic_kx, projector_kix = parts(random_tensor, torch.complex128)
    start_knx = warm(random_tensor, torch.complex128, (kinetic_kx, projector_kix))
    alone = solver(Projected(kinetic_kx, projector_kix), start_knx)

    def work(rank, add):
        own = slice(40 * rank, 40 * rank + 40)
        return solver(SharedProjected(rank, add, kinetic_kx[:, own], projector_kix[..., own]), start_knx[..., own])

    for result in on_thread_ranks(work):
        torch.testing.assert_close(result.eig_kn, alone.eig_kn, atol=1e-12, rtol=0)
        assert result.applications == alone.applications
