"""Which rank of how many this process is, as told by whoever started it (no torch here).

torchrun, srun and mpirun give each process its number in environment variables; `eigenwerk run --ranks` gives those
of torchrun.  The nearest starter counts: mpirun within a Slurm job is mpirun, and a batch script, which has Slurm's
variables without being a rank, is nobody's rank.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from eigenwerk.errors import InputError

OWN_MARK = "EIGENWERK_PARENT"
"""Set by `eigenwerk run --ranks` for its ranks: the number of the parent process."""

OWN_FOLDER = "EIGENWERK_MEETING"
"""Set by `eigenwerk run --ranks` for its ranks: the private folder in which they meet."""

FIRST_PORT, PORTS = 20000, 12000
"""Ports for Slurm steps, which bring none of their own; below those that systems give away by themselves (32768)."""


@dataclass(frozen=True)
class Launch:
    """One rank of a run.

    starter: "eigenwerk", "torchrun", "mpirun", "srun", or "" for a process that nobody made a rank.
    local_rank, local_size: among the ranks of this node, None where the starter does not say.
    address, port: where rank 0 waits for the others, None where the starter does not say; job: a name that only this
    run has, for meeting through a file.
    """

    starter: str = ""
    rank: int = 0
    size: int = 1
    local_rank: int | None = 0
    local_size: int | None = 1
    address: str | None = None
    port: int | None = None
    job: str = ""

    @property
    def several(self) -> bool:
        """Whether there are other ranks."""
        return self.size > 1


def find_launch(environ: Mapping[str, str] | None = None) -> Launch:
    """What the environment says (default: that of the process).  InputError if it contradicts itself."""
    words = os.environ if environ is None else environ
    for find in (_torchrun, _open_mpi, _pmi, _slurm):
        launch = find(words)
        if launch is not None:
            return _checked(launch)
    return Launch()


def _torchrun(words: Mapping[str, str]) -> Launch | None:
    """torchrun, and `eigenwerk run --ranks`; all four variables, because single ones mean other things elsewhere."""
    if not all(words.get(name) for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")):
        return None
    return Launch(
        "eigenwerk" if words.get(OWN_MARK) else "torchrun",
        _number(words, "RANK"), _number(words, "WORLD_SIZE"),
        _maybe(words, "LOCAL_RANK"), _maybe(words, "LOCAL_WORLD_SIZE"),
        words["MASTER_ADDR"], _number(words, "MASTER_PORT"), words.get("TORCHELASTIC_RUN_ID", ""),
    )  # fmt: skip


def _open_mpi(words: Mapping[str, str]) -> Launch | None:
    if "OMPI_COMM_WORLD_RANK" not in words or "OMPI_COMM_WORLD_SIZE" not in words:
        return None
    job = words.get("PMIX_NAMESPACE") or words.get("OMPI_MCA_ess_base_jobid", "")
    return Launch(
        "mpirun", _number(words, "OMPI_COMM_WORLD_RANK"), _number(words, "OMPI_COMM_WORLD_SIZE"),
        _maybe(words, "OMPI_COMM_WORLD_LOCAL_RANK"), _maybe(words, "OMPI_COMM_WORLD_LOCAL_SIZE"),
        words.get("MASTER_ADDR"), _maybe(words, "MASTER_PORT"), job,
    )  # fmt: skip


def _pmi(words: Mapping[str, str]) -> Launch | None:
    """MPICH, Intel MPI, and srun --mpi=pmi2, which has Slurm's own variables as well."""
    if "PMI_RANK" not in words or "PMI_SIZE" not in words:
        return None
    slurm = _slurm(words)
    rank, size = _number(words, "PMI_RANK"), _number(words, "PMI_SIZE")
    if slurm is not None and (slurm.rank, slurm.size) == (rank, size):
        return slurm
    return Launch(
        "mpirun", rank, size, _maybe(words, "MPI_LOCALRANKID"), _maybe(words, "MPI_LOCALNRANKS"),
        words.get("MASTER_ADDR"), _maybe(words, "MASTER_PORT"), words.get("PMI_ID", words.get("PMI_PORT", "")),
    )  # fmt: skip


def _slurm(words: Mapping[str, str]) -> Launch | None:
    """A task of a Slurm step; batch scripts have no number of tasks of a step, interactive shells have one task."""
    if "SLURM_PROCID" not in words or _maybe(words, "SLURM_STEP_NUM_TASKS") in (None, 1):
        return None
    job, step = words.get("SLURM_JOB_ID", "0"), words.get("SLURM_STEP_ID", "0")
    nodes = words.get("SLURM_STEP_NODELIST") or words.get("SLURM_NODELIST", "")
    return Launch(
        "srun", _number(words, "SLURM_PROCID"), _number(words, "SLURM_STEP_NUM_TASKS"),
        _maybe(words, "SLURM_LOCALID"), _tasks_here(words),
        words.get("MASTER_ADDR") or first_host(nodes),
        _maybe(words, "MASTER_PORT") or _slurm_port(job, step), f"slurm-{job}.{step}",
    )  # fmt: skip


def _slurm_port(job: str, step: str) -> int:
    """A port that ranks of one step agree on and other steps on the node hardly have."""
    numbers = [int(word) if word.isdigit() else 0 for word in (job, step)]
    return FIRST_PORT + (numbers[0] * 17 + numbers[1]) % PORTS


def _tasks_here(words: Mapping[str, str]) -> int | None:
    """Tasks on this node from a list like 4(x2),3."""
    node = _maybe(words, "SLURM_NODEID")
    counts: list[int] = []
    for part in words.get("SLURM_STEP_TASKS_PER_NODE", "").split(","):
        count, _, repeat = part.partition("(x")
        if count.isdigit():
            counts += [int(count)] * int(repeat.rstrip(")") or 1)
    return counts[node] if node is not None and node < len(counts) else None


def first_host(nodes: str) -> str | None:
    """The first name of a Slurm list of nodes: node[08-11,20],login1 -> node08; None for an empty list."""
    head, bracket, rest = nodes.partition("[")
    if "," in head or not bracket:
        return head.split(",")[0] or None
    inside, _, tail = rest.partition("]")
    return head + inside.split(",")[0].split("-")[0] + tail.split(",")[0]


def _number(words: Mapping[str, str], name: str) -> int:
    try:
        return int(words[name])
    except ValueError:
        raise InputError(
            f"The environment variable {name} = {words[name]!r} should be a number: it says which rank this process "
            "is. Remove it, or start the ranks with torchrun, srun, mpirun or `eigenwerk run --ranks`."
        ) from None


def _maybe(words: Mapping[str, str], name: str) -> int | None:
    return _number(words, name) if words.get(name) else None


def _checked(launch: Launch) -> Launch:
    if not 0 <= launch.rank < launch.size:
        raise InputError(
            f"{launch.starter} says that this process is rank {launch.rank} of {launch.size}; ranks count from 0 to "
            "one less than their number. Start the ranks anew, without variables left over from another run."
        )
    return launch


def wished_threads(environ: Mapping[str, str] = os.environ) -> int:
    """OMP_NUM_THREADS, of the outermost level; 0 without a request."""
    wanted = environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(wanted) if wanted.isdecimal() else 0


def available_threads() -> int:
    """The cores this process may use, or OMP_NUM_THREADS, the usual way to ask for fewer."""
    return wished_threads() or len(os.sched_getaffinity(0))
