"""Ranks are what the nearest starter says."""

import subprocess
import sys

import pytest

from eigenwerk.errors import InputError
from eigenwerk.parallel.launch.environment import Launch, find_launch, first_host

TORCHRUN = {
    "RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "node1",
    "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "abc",
}  # fmt: skip
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4", "PMIX_NAMESPACE": "prterun-node1-77@1",
}  # fmt: skip
BATCH = {"SLURM_JOB_ID": "1234", "SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_NODELIST": "node[08-09]"}
SRUN = BATCH | {
    "SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_NODEID": "1", "SLURM_STEP_ID": "2", "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_STEP_NODELIST": "node[08-09]", "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
}  # fmt: skip
HYDRA = {"PMI_RANK": "2", "PMI_SIZE": "3", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1"}


def test_nobody_made_us_a_rank():
    assert find_launch({}) == Launch() and not find_launch({}).several


def test_torchrun():
    assert find_launch(TORCHRUN) == Launch("torchrun", 3, 8, 1, 2, "node1", 29500, "abc")


def test_own_ranks():
    assert find_launch(TORCHRUN | {"EIGENWERK_PARENT": "77"}).starter == "eigenwerk"


@pytest.mark.parametrize("missing", ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"])
def test_part_of_torchruns_variables_is_not_torchrun(missing):
    assert find_launch({name: word for name, word in TORCHRUN.items() if name != missing}) == Launch()


def test_open_mpi():
    assert find_launch(OPEN_MPI) == Launch("mpirun", 1, 4, 1, 4, None, None, "prterun-node1-77@1")


def test_hydra():
    launch = find_launch(HYDRA)
    assert (launch.starter, launch.rank, launch.size, launch.local_rank, launch.local_size) == ("mpirun", 2, 3, 0, 1)


def test_srun():
    launch = find_launch(SRUN)
    assert (launch.starter, launch.rank, launch.size, launch.local_rank, launch.local_size) == ("srun", 5, 8, 1, 4)
    assert launch.address == "node08" and 20000 <= launch.port < 32768


def test_steps_of_one_job_meet_at_different_ports():
    assert find_launch(SRUN).port != find_launch(SRUN | {"SLURM_STEP_ID": "3"}).port


def test_batch_script_and_interactive_shell_are_no_ranks():
    assert find_launch(BATCH) == Launch()
    assert find_launch(SRUN | {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}) == Launch()


def test_mpirun_inside_a_slurm_step_counts():
    # mpirun starts its helpers with srun, whose variables reach the ranks
    assert find_launch(SRUN | OPEN_MPI).starter == "mpirun"
    assert find_launch(SRUN | HYDRA).starter == "mpirun"


def test_srun_with_pmi_is_srun():
    assert find_launch(SRUN | {"PMI_RANK": "5", "PMI_SIZE": "8"}).address == "node08"


def test_contradictions_are_said():
    with pytest.raises(InputError, match=r"RANK = 'one' should be a number"):
        find_launch(TORCHRUN | {"RANK": "one"})
    with pytest.raises(InputError, match=r"rank 8 of 8"):
        find_launch(TORCHRUN | {"RANK": "8"})


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("node[08-11,20],login1", "node08"), ("gpu3", "gpu3"), ("a1,b[2-3]", "a1"), ("r[1,3]n", "r1n"), ("", None)],
)
def test_first_host_of_a_slurm_list(nodes, first):
    assert first_host(nodes) == first


def test_does_not_load_torch():
    code = "import sys, eigenwerk.parallel.launch.environment; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
