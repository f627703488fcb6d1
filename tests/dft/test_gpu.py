"""A GPU, or several, gives the answers of a processor."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.after.fixed_potential import bands_at
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import explicit
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator
from ground_states import CASES, answer, assert_same, pieces

pytestmark = pytest.mark.gpu


def solve(world, parts, groups, device):
    """On one rank: the ground state on a device ("cuda" is that of the rank)."""
    if device == "cuda":
        device = f"cuda:{world.rank % torch.cuda.device_count()}"
        torch.cuda.set_device(device)
    runtime = Runtime(device=torch.device(device), grid=make_process_grid(world, groups))
    *described, real = parts
    ground = Calculation(*described, runtime, real).run()
    assert ground.state.coeff_sknG.device == runtime.device
    return answer(ground)


@pytest.fixture(scope="module")
def reference(calculation, crystal):
    """(pieces, answer of one processor) of a case."""
    known = {}

    def of(case):
        if case not in known:
            name, settings = CASES[case]
            parts = pieces(calculation(crystal(name), **settings))
            known[case] = parts, solve(SerialCommunicator(), parts, 1, "cpu")
        return known[case]

    return of


@pytest.mark.parametrize("case", CASES)
def test_one_gpu_gives_the_answer_of_a_processor(reference, case):
    parts, on_processor = reference(case)
    assert_same(solve(SerialCommunicator(), parts, 1, "cuda"), on_processor, len(parts[0].symbols))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(("size", "transport"), [(2, "nccl"), (2, "gloo"), (2, "mpi"), (4, "nccl")])
def test_several_gpus_give_the_answer_of_a_processor(ranks, reference, case, groups, size, transport):
    """NCCL between GPUs; Gloo and MPI by way of host memory, or directly where MPI can."""
    if torch.cuda.device_count() < size:
        pytest.skip(f"fewer than {size} GPUs")
    parts, on_processor = reference(case)
    if groups > min(size, len(parts[1].point_kc)):
        pytest.skip("more k-groups than ranks or k-points")
    for found in ranks(size, transport).run(solve, parts, groups, "cuda"):
        assert_same(found, on_processor, len(parts[0].symbols))


def bands_of_start(parts, device):
    """Bands at three points in the potential of superposed atoms, hartree."""
    *described, real = parts
    calculation = Calculation(*described, Runtime(device=torch.device(device)), real)
    point_kc = np.array([[0, 0, 0], [0.1, 0.2, 0.3], [0.5, 0, 0.5]])
    points = explicit(point_kc, np.ones(3), calculation.kpoints.symmetry)
    found = bands_at(calculation, calculation.starting_density(), points)
    assert found.converged
    return found.eig_skn.numpy()


@pytest.mark.parametrize("case", CASES)
def test_bands_at_other_points_are_those_of_a_processor(reference, case):
    parts, _ = reference(case)
    np.testing.assert_allclose(bands_of_start(parts, "cuda:0"), bands_of_start(parts, "cpu"), atol=1e-6 / 27.2)
