"""Devices and transports follow from what the ranks have, and a wish that cannot be met says why."""

import pytest

from eigenwerk.errors import InputError
from eigenwerk.parallel.launch.choice import DeviceRequest, choose_devices, choose_transport
from eigenwerk.parallel.launch.facts import Placement, RankFacts, local_ranks, thread_shares


def ranks(*counts, gpus=0, known=True, **more):
    """Facts of ranks on machines a, b ... with so many ranks each."""
    hosts = [(host, local) for host, count in zip("abcd", counts, strict=False) for local in range(count)]
    return [
        RankFacts(rank, host, local_rank=local if known else None, gpus=gpus, **more)
        for rank, (host, local) in enumerate(hosts)
    ]


def placed(facts, request=None):
    devices = choose_devices(request or DeviceRequest(), facts)
    return [
        Placement(fact.rank, fact.host, device, gpu=f"{fact.host}-{device}")
        for fact, device in zip(facts, devices, strict=True)
    ]


@pytest.mark.parametrize("known", [True, False])
def test_every_rank_takes_the_gpu_of_its_number_on_the_machine(known):
    facts = ranks(3, 2, gpus=2, known=known)
    assert local_ranks(facts) == [0, 1, 2, 0, 1]
    assert choose_devices(DeviceRequest(), facts) == ["cuda:0", "cuda:1", "cuda:0", "cuda:0", "cuda:1"]


def test_processors_where_any_rank_has_no_gpu():
    facts = [*ranks(1, gpus=1), RankFacts(1, "b")]
    assert choose_devices(DeviceRequest(), facts) == ["cpu", "cpu"]
    assert choose_devices(DeviceRequest("cpu"), ranks(2, gpus=2)) == ["cpu", "cpu"]
    with pytest.raises(InputError, match="on b PyTorch sees none of the GPUs"):
        choose_devices(DeviceRequest("cuda"), facts)


def test_one_gpu_for_all():
    assert choose_devices(DeviceRequest("cuda:1"), ranks(2, gpus=2)) == ["cuda:1", "cuda:1"]
    with pytest.raises(InputError, match="only 2 of the GPUs"):
        choose_devices(DeviceRequest("cuda:2"), ranks(2, gpus=2))


@pytest.mark.parametrize("device", ["graphics", "cuda:", "cuda:x", "cpu:0", "auto:1", "cuda:-1"])
def test_devices_that_do_not_exist(device):
    with pytest.raises(InputError, match="auto, cpu, cuda"):
        DeviceRequest(device)


def test_transports_that_do_not_exist():
    with pytest.raises(InputError, match="auto, nccl, mpi, gloo"):
        DeviceRequest(transport="smoke")


def transport(facts, starter="eigenwerk", **request):
    """The name of the transport, and the notes."""
    placements = placed(facts, DeviceRequest(request.get("device", "auto")))
    chosen, notes = choose_transport(DeviceRequest(**request), facts, placements, starter)
    return chosen.name, notes


def test_nccl_where_every_rank_has_its_own_gpu():
    assert transport(ranks(2, 2, gpus=2)) == ("nccl", ())


def test_shared_gpu_switches_nccl_off_and_says_so():
    for request in ("auto", "nccl"):
        name, notes = transport(ranks(3, gpus=1), transport=request)
        assert name == "gloo"
        assert "ranks 0 and 1 and 1 more share one GPU (cuda:0 of a)" in notes[0]


def test_a_tag_switches_nccl_off_and_the_command_line_counts_more():
    off = {"nccl": "LUSENCCL = .FALSE. in INCAR"}
    assert transport(ranks(2, gpus=2), off=off) == ("gloo", ("NCCL is off: LUSENCCL = .FALSE. in INCAR.",))
    assert transport(ranks(2, gpus=2), off=off, transport="nccl") == ("nccl", ())


def test_what_turned_out_not_to_work_is_not_taken_again_whatever_was_asked_for():
    off = {"mpi": "mpi4py says that this is rank 0 of 1"}
    name, notes = transport(ranks(2, gpus=1, packages=("mpi4py",)), "mpirun", off=off, transport="nccl")
    assert name == "gloo" and [note.split(" is off")[0] for note in notes] == ["NCCL", "MPI"]


def test_nccl_without_gpus_is_an_error():
    with pytest.raises(InputError, match="the ranks compute on processors"):
        transport(ranks(2), transport="nccl")


def test_processors_take_mpi_under_mpirun_and_gloo_elsewhere():
    able = ranks(2, packages=("mpi4py",))
    assert transport(able, "mpirun") == ("mpi", ())
    assert transport(ranks(2), "mpirun") == ("gloo", ())
    assert transport(able, "srun") == ("gloo", ())
    assert transport(able, "srun", transport="mpi") == ("mpi", ())
    assert transport(able, "mpirun", transport="gloo") == ("gloo", ())


def test_an_option_that_insists_takes_no_other_transport():
    insisting = {"transport": "nccl", "insists": "--scheme nccl"}
    with pytest.raises(InputError, match=r"--scheme nccl travels by NCCL, .* ranks 0 and 1 share one GPU"):
        transport(ranks(2, gpus=1), **insisting)
    with pytest.raises(InputError, match=r"--scheme nccl joins GPUs.*Use --scheme mpi or gloo"):
        transport(ranks(2), **insisting)
    assert transport(ranks(2, gpus=2), **insisting) == ("nccl", ())


def test_an_option_that_insists_is_named_with_the_command(starter="torchrun"):
    words = {"transport": "mpi", "insists": "--scheme p2p", "words": "ncci run CASE"}
    told = r"--scheme p2p cannot join ranks that torchrun starts.*mpirun -n 2 eigenwerk ncci run CASE --scheme p2p"
    with pytest.raises(InputError, match=told):
        transport(ranks(2, packages=("mpi4py",)), starter, **words)
    with pytest.raises(InputError, match="--scheme p2p cannot join ranks that eigenwerk starts"):
        DeviceRequest(**words).check_starter("eigenwerk", 2)
    DeviceRequest(**words).check_starter("mpirun", 2)


@pytest.mark.parametrize("starter", ["eigenwerk", "torchrun"])
def test_mpi_needs_ranks_that_mpi_started(starter):
    words = rf"ranks that {starter} starts. .*mpirun -n 2 eigenwerk run DIR --transport mpi"
    with pytest.raises(InputError, match=words):
        transport(ranks(2, packages=("mpi4py",)), starter, transport="mpi")


def test_threads_are_those_wished_or_a_share_of_the_cores():
    everywhere = tuple(range(16))
    assert thread_shares(ranks(4, cores=everywhere)) == [4, 4, 4, 4]
    assert thread_shares(ranks(2, 2, cores=everywhere)) == [8, 8, 8, 8]
    assert thread_shares(ranks(4, cores=everywhere, threads=3)) == [3, 3, 3, 3]
    assert thread_shares(ranks(4, cores=(0, 1))) == [1, 1, 1, 1]
    cores = (0, 1, 2, 3), (4, 5, 6, 7), (4, 5, 6, 7)
    bound = [RankFacts(rank, "a", cores=mine) for rank, mine in enumerate(cores)]
    assert thread_shares(bound) == [4, 2, 2]
