"""Schemes by name: what they stand for, and what is refused with which words."""

import pytest

from eigenwerk.errors import InputError
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.ranks.scheme import AUTO, SCHEMES, Schedule, scheme_named
from eigenwerk.parallel.links import Links
from eigenwerk.parallel.transports.table import TRANSPORT_NAMES

CASE = 'nucleus = "4He"\ninteraction = "JISP16"\nhw = 20\nNmax = 2\n[solver]\n'


def test_every_scheme_has_a_transport_that_exists_and_is_found_by_its_name():
    for scheme in SCHEMES:
        assert scheme.transport in TRANSPORT_NAMES
        assert scheme_named(scheme.name) is scheme
    assert scheme_named("auto") is AUTO


def test_the_published_schemes():
    plain, mpi, p2p, nccl = map(scheme_named, ("plain", "mpi", "p2p", "nccl"))
    assert (plain.transport, mpi.transport, p2p.transport, nccl.transport) == ("mpi", "mpi", "mpi", "nccl")
    assert [scheme.simple for scheme in (plain, mpi, p2p, nccl)] == [True, False, False, False]
    assert [scheme.messages for scheme in (plain, mpi, p2p, nccl)] == [False, False, True, False]
    assert nccl.schedule == scheme_named("nccl:3").schedule and nccl.row == scheme_named("nccl:3").row


def test_the_variants_of_nccl_add_one_thing_after_the_other():
    one, two, three, four = (scheme_named(f"nccl:{variant}") for variant in (1, 2, 3, 4))
    assert one.schedule == Schedule(quiet=False, kernel_first=False) and one.row == one.column == Links(False, None)
    assert two.schedule == Schedule(quiet=True, kernel_first=False) and two.row == Links(False, None)
    assert three.schedule == Schedule(quiet=True, kernel_first=True) and three.row == Links(True, None)
    assert four.schedule == three.schedule and four.row == four.column == Links(True, 8)


@pytest.mark.parametrize(
    ("text", "row", "column"), [("nccl:4:2", 2, 2), ("nccl:4:16:4", 16, 4), ("nccl:4:1:32", 1, 32)]
)
def test_thread_blocks_of_rows_and_columns(text, row, column):
    found = scheme_named(text)
    assert (found.name, found.row.thread_blocks, found.column.thread_blocks) == (text, row, column)


@pytest.mark.parametrize(
    ("text", "words"),
    [("ring", "it can be auto, plain, mpi, p2p, nccl"), ("mpi:1", "it can be"), ("nccl:two", "it can be"),
     ("nccl:4:1:2:3", "it can be"), ("nccl:5", "variants 1 to 4"), ("nccl:0", "variants 1 to 4"),
     ("nccl:4:0", "1 to 32 thread blocks"), ("nccl:4:8:33", "1 to 32 thread blocks"), ("nccl:1:8", "nccl:4:8"),
     ("nccl:4:²", "it can be")],
)  # fmt: skip
def test_what_is_no_scheme(text, words):
    with pytest.raises(InputError, match=words) as refused:
        scheme_named(text)
    assert str(refused.value).startswith(f"--scheme {text}: ")


def test_one_rank_has_nothing_to_send():
    with pytest.raises(InputError, match="there is one rank alone"):
        scheme_named("p2p").check_ranks(1)
    scheme_named("p2p").check_ranks(2)
    AUTO.check_ranks(1)


def test_ranks_joined_by_something_else():
    with pytest.raises(InputError, match="p2p travels by mpi, but the ranks are joined by gloo"):
        scheme_named("p2p").check_world(2, "gloo")
    scheme_named("p2p").check_world(2, "mpi")
    AUTO.check_world(2, "gloo x4")


@pytest.mark.parametrize("name", ["NCCL_MIN_CTAS", "NCCL_MAX_CTAS"])
def test_thread_blocks_beside_those_of_the_environment(name):
    with pytest.raises(InputError, match=rf"nccl:4:8 .*{name} = 4.*Unset"):
        scheme_named("nccl:4:8").check_environment(environ={name: "4"})
    scheme_named("nccl:4:8").check_environment(environ={name: ""})
    scheme_named("nccl:3").check_environment(environ={name: "4"})


def test_a_scheme_has_its_transport():
    assert scheme_named("p2p").transport_beside("auto") == scheme_named("p2p").transport_beside("mpi") == "mpi"
    assert AUTO.transport_beside("gloo") == "gloo" and AUTO.transport_beside("auto") == "auto"
    with pytest.raises(InputError, match="--scheme nccl travels by nccl, but --transport is gloo"):
        scheme_named("nccl").transport_beside("gloo")


def test_in_a_case_file(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(CASE + 'scheme = "NCCL:4:8"\n')
    assert read_cases(path)[0].solver.scheme == "nccl:4:8"
    path.write_text(CASE + 'scheme = "nccl:9"\n')
    with pytest.raises(InputError, match=r'case.toml: \[solver\] scheme = "nccl:9": NCCL has the variants 1 to 4'):
        read_cases(path)
    path.write_text(CASE + "scheme = 4\n")
    with pytest.raises(InputError, match=r"\[solver\] scheme = 4, but it has to be a text"):
        read_cases(path)
