"""Made-up machines and what is said about ranks on them: numbers and a remedy, and silence where all is well."""

import json

import pytest

from eigenwerk.parallel.launch.binding import check_binding
from eigenwerk.parallel.launch.facts import Placement
from eigenwerk.parallel.launch.node import NetworkCard, Node, node_of_words, node_words, number_list, read_node

ADDRESSES = ("0000:1b:00.0", "0000:43:00.0", "0000:9b:00.0", "0000:c3:00.0")


def machine(cores=16, threads_per_core=1, domains=1, gpus=0, **more):
    """Cores numbered as Linux does: first one thread of each core, then the others."""
    physical = cores // threads_per_core
    return Node(
        tuple(range(cores)), {core: str(core % physical) for core in range(cores)},
        {core: core % physical * domains // physical for core in range(cores)},
        gpus={address: number * domains // gpus for number, address in enumerate(ADDRESSES[:gpus])}, **more,
    )  # fmt: skip


def placements(*threads, cores=range(16), host="a", gpus=()):
    cores_of = cores if isinstance(cores, list) else [cores] * len(threads)
    devices = gpus or [None] * len(threads)
    return [
        Placement(rank, host, threads=count, cores=tuple(mine))
        if device is None
        else Placement(
            rank, host, f"cuda:{device}", f"GPU-{device}", "made-up GPU", count, tuple(mine), ADDRESSES[device]
        )
        for rank, (count, mine, device) in enumerate(zip(threads, cores_of, devices, strict=True))
    ]


def remarks(placements, node, host="a"):
    return [(remark.severity, remark.text) for remark in check_binding(placements, {host: node})]


@pytest.mark.parametrize(
    "arrangement",
    [
        placements(16), placements(1), placements(8, 8), placements(4, 4, 4, 4),
        placements(8, 8, cores=[range(8), range(8, 16)]), placements(4, 4, gpus=[0, 1]),
    ],
)  # fmt: skip
def test_silence_where_all_is_well(arrangement):
    assert remarks(arrangement, machine(gpus=2)) == []


def test_too_many_threads():
    ((severity, text),) = remarks(placements(8, 8, 8, 8), machine())
    assert severity == "warning"
    assert text == "a: 4 x 8 threads on 16 cores: set OMP_NUM_THREADS=4, or use 2 ranks."


def test_too_many_threads_of_one_rank():
    assert remarks(placements(32), machine())[0][1] == "a: 32 threads on 16 cores: set OMP_NUM_THREADS=16."


def test_more_ranks_than_cores():
    assert remarks(placements(1, 1, 1, cores=range(2)), machine(2))[0][1] == "a: 3 x 1 threads on 2 cores: use 2 ranks."


def test_a_container_that_may_not_use_what_it_sees():
    ((_, text),) = remarks(placements(8, 8), machine(quota=4.0))
    assert "16 threads on 4 cores" in text or "2 x 8 threads on 4 cores" in text
    assert "of 16, this container or job may keep so many busy" in text and "OMP_NUM_THREADS=2" in text
    assert remarks(placements(2, 2), machine(quota=4.0)) == []


def test_ranks_bound_to_too_few_cores():
    ((severity, text),) = remarks(placements(4, 12, cores=[[0], range(1, 16)]), machine())
    assert severity == "warning" and "rank 0 has 4 threads" in text and "binds it to 1 core" in text
    assert "--map-by slot:PE=4" in text and "--cpus-per-task=4" in text


def test_idle_cores():
    ((severity, text),) = remarks(placements(1, 1), machine())
    assert severity == "note" and "2 threads in all on 16 cores: OMP_NUM_THREADS=8" in text
    assert remarks(placements(1, 1), machine(quota=2.0)) == [], "those of others are not idle"


def test_two_threads_on_a_physical_core():
    ((severity, text),) = remarks(placements(8, 8), machine(16, threads_per_core=2))
    assert severity == "note" and "16 threads on 8 physical cores" in text and "OMP_NUM_THREADS=4" in text


def test_shared_and_unused_gpus():
    ((severity, text),) = remarks(placements(1, 1, 1, gpus=[0, 1, 0]), machine(gpus=2))
    assert severity == "warning" and "3 ranks share 2 GPUs" in text and "use 2 ranks" in text
    ((severity, text),) = remarks(placements(1, 1, gpus=[0, 1]), machine(gpus=4))
    assert severity == "note" and "2 of 4 GPUs are used" in text


def test_rank_far_from_its_gpu():
    node = machine(domains=2, gpus=2)
    near, far = [range(8), range(8, 16)], [range(8, 16), range(8)]
    assert remarks(placements(8, 8, cores=near, gpus=[0, 1]), node) == []
    found = remarks(placements(8, 8, cores=far, gpus=[0, 1]), node)
    assert len(found) == 2
    assert "rank 0 is bound to cores of NUMA domain 1, but its GPU cuda:0 is at domain 0" in found[0][1]
    assert "--cpunodebind=0" in found[0][1]


def test_network_matters_between_machines_only():
    slow = machine(cards=(NetworkCard("eth0", "ethernet", 1.0), NetworkCard("mlx5_0", "infiniband", 200.0, up=False)))
    assert remarks(placements(16), slow) == []
    two = [*placements(16), Placement(1, "b", threads=16, cores=tuple(range(16)))]
    found = [remark.text for remark in check_binding(two, {"a": slow, "b": machine()})]
    assert found[0] == "a: the network card mlx5_0 (InfiniBand) has no active port."
    assert "eth0, moves 1 Gbit/s" in found[1] and "KPAR" in found[1]
    fast = machine(cards=(NetworkCard("mlx5_0", "infiniband", 400.0),))
    assert check_binding(two, {"a": fast, "b": fast}) == []


def test_machines_nobody_looked_at_are_left_out():
    assert check_binding(placements(99), {}) == []


# --- reading /sys ----------------------------------------------------------------------------------------------------


@pytest.fixture
def system(tmp_path):
    """Writes a made-up /sys and /proc from {path: text}."""

    def make(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        return tmp_path

    return make


def test_a_machine_is_read(system):
    cpu, pci = "sys/devices/system/cpu", "sys/bus/pci/devices"
    node = read_node(system({
        f"{cpu}/online": "0-3",
        **{f"{cpu}/cpu{core}/topology/thread_siblings_list": f"{core % 2},{core % 2 + 2}" for core in range(4)},
        "sys/devices/system/node/node0/cpulist": "0,2",
        "sys/devices/system/node/node1/cpulist": "1,3",
        f"{pci}/0000:1B:00.0/vendor": "0x10de", f"{pci}/0000:1B:00.0/class": "0x030200",
        f"{pci}/0000:1B:00.0/numa_node": "1",
        f"{pci}/0000:00:01.0/vendor": "0x8086", f"{pci}/0000:00:01.0/class": "0x030000",
        "sys/class/net/eth0/device/vendor": "0x15b3", "sys/class/net/eth0/speed": "25000",
        "sys/class/net/eth0/operstate": "up",
        "sys/class/net/lo/operstate": "up",
        "sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)",
        "sys/class/infiniband/mlx5_0/ports/1/state": "1: DOWN",
        "proc/self/cgroup": "0::/jobs/77",
        "sys/fs/cgroup/jobs/cpu.max": "250000 100000",
        "sys/fs/cgroup/jobs/77/cpu.max": "max 100000",
    }))  # fmt: skip
    assert node.cores == (0, 1, 2, 3) and node.physical_count(node.cores) == 2
    assert node.domains_of((0, 1)) == {0, 1} and node.domains_of((1, 3)) == {1}
    assert node.quota == 2.5 and node.gpus == {"0000:1b:00.0": 1}
    assert node.cards == (
        NetworkCard("eth0", "ethernet", 25.0, True), NetworkCard("mlx5_0", "infiniband", 400.0, False),
    )  # fmt: skip


def test_older_control_groups(system):
    files = {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "400000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}
    assert read_node(system(files)).quota == 4.0
    assert read_node(system(files | {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1"})).quota is None


def test_a_system_that_tells_nothing(tmp_path):
    node = read_node(tmp_path)
    assert node.cores and node.quota is None and node.gpus == {} and node.cards == ()


def test_this_machine_can_be_read_and_told_to_others():
    node = read_node()
    assert node.cores and node_of_words(json.loads(json.dumps(node_words(node)))) == node


@pytest.mark.parametrize(("text", "numbers"), [("0-2,5", (0, 1, 2, 5)), ("7", (7,)), ("", ()), ("all", ())])
def test_lists_of_numbers(text, numbers):
    assert number_list(text) == numbers
