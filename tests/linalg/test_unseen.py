"""What a Krylov space cannot have missed: bounds that hold, and probabilities that come out as counted."""

import numpy as np
import pytest
import torch

from eigenwerk.linalg.lanczos import LanczosPlan, lanczos
from eigenwerk.linalg.unseen import _gain, _length, expected_unseen
from standard_matrix import StandardMatrix, starts

LEVELS = np.concatenate([[-9.0, -8.0, -7.2, -7.0], np.linspace(-6.0, 30.0, 200)])


def parts(state, block):
    """Ritz values, start vectors and coupling in terms of Ritz vectors."""
    eig_m, s_mm = np.linalg.eigh(state.projected_mm[: state.filled, : state.filled].numpy())
    return eig_m, s_mm[state.origin : state.origin + block], state.coupling_nm.numpy() @ s_mm


@pytest.mark.parametrize(("block", "space"), [(1, 300), (2, 300), (1, 14), (2, 16)])
def test_the_overlap_of_every_level_follows_from_the_newest_block(block, space):
    """c = G_0 ... G eta, and eta^T (1 + G^T G) eta is at most one, before and after thick restarts."""
    states = []
    matrix = StandardMatrix(torch.diag(torch.from_numpy(LEVELS)))
    start_nx = torch.linalg.qr(starts(block, len(LEVELS))[0].T)[0].T
    plan = LanczosPlan(wanted=4, products=24, fixed=True, space=space)
    newest = {}

    def watch(state):
        newest["state"], newest["q"] = state, state.basis_mx[state.filled : state.filled + state.pending].clone()
        states.append(state.restarts)

    lanczos(matrix, start_nx[None], plan, watch=watch)
    state, past_xm = newest["state"], newest["state"].past_xm.numpy()
    assert (state.restarts > 0) == (space < 20)
    eig_m, start_bm, coupling_pm = parts(state, block)
    for level in (0, 2, 4, 50):
        energy_e = LEVELS[level : level + 1]
        eta = newest["q"][:, level].numpy()
        gain = _gain(energy_e, eig_m, start_bm, coupling_pm)[0]
        for number in np.unique(past_xm[0])[::-1]:
            old = past_xm[:, past_xm[0] == number]
            gain = _gain(energy_e, old[1], old[2 : 2 + block], old[2 + block :])[0] @ gain
        assert gain @ eta == pytest.approx(start_nx[:, level].numpy(), rel=1e-5, abs=1e-8)
        length = np.eye(block) + _length(energy_e, eig_m, coupling_pm)[0]
        assert eta @ length @ eta <= 1 + 1e-8


def test_the_expected_number_falls_with_every_product_and_with_the_distance():
    found = {}

    def watch(state):
        if state.filled > 3:
            parts_now = parts(state, 1)
            found[state.products] = [
                expected_unseen(*parts_now, state.past_xm.numpy(), wanted, 1 / len(LEVELS)) for wanted in (1, 3)
            ]

    matrix = StandardMatrix(torch.diag(torch.from_numpy(LEVELS)))
    lanczos(matrix, starts(1, len(LEVELS)), LanczosPlan(wanted=3, products=60, fixed=True), watch=watch)
    assert found[60][1] < 1e-3 * found[30][1] and found[60][0] < found[60][1]
    assert found[8][1] > 0.1


def test_a_stricter_bound_finds_levels_of_which_the_start_holds_less():
    """Start vectors with ever less of one level."""
    matrix = StandardMatrix(torch.diag(torch.from_numpy(LEVELS)))
    products = {}
    for unseen in (1e-2, 1e-5):
        for share in (1e-2, 1e-4, 1e-6):
            start_x = starts(1, len(LEVELS))
            start_x[..., 2] *= share
            plan = LanczosPlan(wanted=3, tolerance=1e-4, unseen=unseen)
            found = lanczos(matrix, start_x, plan)
            products[unseen, share] = found.applications, abs(float(found.eig_kn[0, 2]) + 7.2) < 1e-3
    assert products[1e-5, 1e-2][1] and products[1e-5, 1e-4][1] and not products[1e-2, 1e-6][1]
