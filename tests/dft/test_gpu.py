"""A GPU, or several, gives the answers of a processor."""

import numpy as np
import pytest
import torch

from eigenwerk.dft.calculation import Calculation
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator

pytestmark = pytest.mark.gpu

CASES = {
    "insulator": ("si_bent", {"mesh": (2, 2, 2), "real": True}),
    "metal": ("al_pair", {"mesh": (2, 2, 1), "ismear": 1, "sigma_eV": 0.2}),
    "magnet": ("fe_bent", {"mesh": (2, 1, 1), "spins": 2, "cutoff_eV": 200.0, "ismear": 1, "sigma_eV": 0.2}),
    "Gamma": ("lih_bent", {"mesh": (1, 1, 1), "cutoff_eV": 250.0, "real": True}),
    "inversion": ("pairs", {"mesh": (3, 1, 1), "symmetry_level": 2, "real": True}),
}

ENERGY_PER_ATOM, FORCE, MOMENT = 1e-8 / 27.2, 1e-6 / 51.4, 1e-6
"""What a device may change: 1e-8 eV per atom, 1e-6 eV/Å, in hartree and bohr; Bohr magnetons."""


def solve(world, parts, groups, device):
    """On one rank: the ground state on a device ("cuda" is that of the rank)."""
    if device == "cuda":
        device = f"cuda:{world.rank % torch.cuda.device_count()}"
        torch.cuda.set_device(device)
    runtime = Runtime(device=torch.device(device), grid=make_process_grid(world, groups))
    *described, real = parts
    ground = Calculation(*described, runtime, real).run()
    state = ground.state
    assert state.coeff_sknG.device == runtime.device
    return {
        "free": state.energies.free, "eig_skn": state.eig_skn.cpu().numpy(), "steps": len(state.history),
        "forces_av": ground.forces_av, "moment_a": ground.moment_a, "converged": state.converged,
    }  # fmt: skip


def same(answer, reference, atoms):
    """Equal within the limits of the issue."""
    assert answer["converged"] and reference["converged"]
    assert abs(answer["free"] - reference["free"]) < ENERGY_PER_ATOM * atoms
    np.testing.assert_allclose(answer["forces_av"], reference["forces_av"], atol=FORCE)
    np.testing.assert_allclose(answer["moment_a"], reference["moment_a"], atol=MOMENT)
    assert np.abs(answer["eig_skn"] - reference["eig_skn"])[..., :-2].max() < ENERGY_PER_ATOM * max(atoms, 4)


@pytest.fixture(scope="module")
def reference(calculation, crystal):
    """(pieces, answer of one processor) of a case."""
    known = {}

    def of(case):
        if case not in known:
            name, settings = CASES[case]
            built = calculation(crystal(name), **settings)
            parts = built.structure, built.kpoints, built.parameters, built.datasets, built.real
            known[case] = parts, solve(SerialCommunicator(), parts, 1, "cpu")
        return known[case]

    return of


@pytest.mark.parametrize("case", CASES)
def test_one_gpu_gives_the_answer_of_a_processor(reference, case):
    parts, on_processor = reference(case)
    same(solve(SerialCommunicator(), parts, 1, "cuda"), on_processor, len(parts[0].symbols))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("transport", ["nccl", "gloo", "mpi"])
def test_two_gpus_give_the_answer_of_a_processor(ranks, reference, case, groups, transport):
    """NCCL between GPUs; Gloo and MPI by way of host memory, or directly where MPI can."""
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU only")
    parts, on_processor = reference(case)
    if groups > len(parts[1].point_kc):
        pytest.skip("more k-groups than k-points")
    for answer in ranks(2, transport).run(solve, parts, groups, "cuda"):
        same(answer, on_processor, len(parts[0].symbols))
