"""Each transport and each method of reductions is one entry, from which options, help, checks and pages follow."""

import pytest

from eigenwerk.errors import InputError
from eigenwerk.parallel.launch.choice import DeviceRequest
from eigenwerk.parallel.transports import table
from eigenwerk.parallel.transports.table import REDUCTION_METHODS, TRANSPORTS, JoinRequest, Reductions, Transport


def test_entries_name_functions_and_classes_that_exist():
    for words in [entry.join for entry in TRANSPORTS] + [entry.layer for entry in REDUCTION_METHODS if entry.layer]:
        assert callable(table.resolve_name(words)), words


def test_the_last_transport_has_no_conditions():
    last = TRANSPORTS[-1]
    assert set(last.joins) == {"cpu", "cuda"} and not (last.own_gpu or last.starters or last.usual or last.package)


def test_the_page_names_all_of_them(repository):
    page = (repository / "docs" / "guides" / "parallel.md").read_text()
    for words in [entry.name for entry in TRANSPORTS] + [entry.usage for entry in REDUCTION_METHODS]:
        assert f"`{words}`" in page, words


def smoke_signals(request):
    return f"world of rank {request.rank}"


def test_a_new_transport_is_one_entry(monkeypatch):
    new = Transport("smoke", "Smoke", ("cpu",), f"{__name__}:smoke_signals")
    monkeypatch.setattr(table, "TRANSPORTS", (new, *TRANSPORTS))
    monkeypatch.setattr(table, "TRANSPORT_NAMES", (*table.TRANSPORT_NAMES, "smoke"))
    assert DeviceRequest(transport="smoke").transport == "smoke"
    assert table.find_transport("smoke").world(JoinRequest(3, 4, None, None, None)) == "world of rank 3"


@pytest.mark.parametrize(
    ("text", "name", "numbers"),
    [("library", "library", ()), ("pairwise", "pairwise", ()), ("pairwise:100", "pairwise", (100,)),
     ("endpoints:2", "endpoints", (2,)), ("endpoints:2:4096", "endpoints", (2, 4096))],
)  # fmt: skip
def test_reductions_and_their_numbers(text, name, numbers):
    found = Reductions.of_text(text)
    assert (found.method.name, found.numbers) == (name, numbers)


@pytest.mark.parametrize("text", ["", "ring", "library:2", "pairwise:1:2", "endpoints:two", "endpoints:-1"])
def test_reductions_that_do_not_exist(text):
    with pytest.raises(InputError, match=r"library, pairwise\[:BYTES\], endpoints\[:N\[:BYTES\]\]"):
        Reductions.of_text(text)


def test_one_rank_has_nothing_to_reduce():
    with pytest.raises(InputError, match="there is one rank alone"):
        DeviceRequest(reductions=Reductions.of_text("pairwise")).check_size(1)
    DeviceRequest(reductions=Reductions.of_text("pairwise")).check_size(2)
    DeviceRequest().check_size(1)
