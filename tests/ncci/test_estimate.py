import pytest

from eigenwerk.ncci.estimate import choose_backend, estimate
from eigenwerk.ncci.inputs import read_cases
from eigenwerk.ncci.sources import source_of


def chosen(folder, nucleus, nmax, device, memory=141e9, solver=""):
    path = folder / "case.toml"
    lines = [f'nucleus = "{nucleus}"', 'interaction = "JISP16"', "hw = 20.0", f"Nmax = {nmax}", "[solver]", solver]
    path.write_text("\n".join(lines) + "\n")
    (case,) = read_cases(path)
    found = estimate(source_of(case).problem(case), case.solver, case.states, device)
    return choose_backend(found, case.solver, memory)


@pytest.mark.parametrize(
    ("nucleus", "nmax", "device", "wanted"),
    [
        ("6Li", 4, "cpu", "csb"),
        ("6Li", 6, "cpu", "pairs"),  # stored 34 s, by pairs 19 s on one core
        ("3H", 10, "cpu", "pairs"),  # 2.4 GB stored, 0.8 GB by pairs
        ("10B", 4, "cpu", "csb"),
        ("6Li", 2, "cuda", "csb"),
        ("10B", 4, "cuda", "pairs"),  # 5.5e9 nonzeros at Nmax 6 take 20 s to build; 100 products of pairs take one
        ("10B", 6, "cuda", "pairs"),
    ],
)
def test_the_back_end_that_is_faster_is_chosen(tmp_path, nucleus, nmax, device, wanted):
    assert chosen(tmp_path, nucleus, nmax, device) == wanted


def test_what_is_stored_has_to_fit_in_half_of_the_memory(tmp_path):
    assert chosen(tmp_path, "10B", 4, "cpu", memory=3e9) == "pairs"


def test_the_back_end_asked_for_is_taken(tmp_path):
    assert chosen(tmp_path, "10B", 6, "cuda", solver='backend = "csb"') == "csb"


def shared_cost(folder, nucleus, nmax, ranks, device="cpu", solver=""):
    path = folder / "case.toml"
    lines = [f'nucleus = "{nucleus}"', 'interaction = "JISP16"', "hw = 20.0", f"Nmax = {nmax}", "[solver]", solver]
    path.write_text("\n".join(lines) + "\n")
    (case,) = read_cases(path)
    return estimate(source_of(case).problem(case), case.solver, case.states, device, ranks)


def test_each_of_several_ranks_needs_less_and_takes_less_time(tmp_path):
    one, eight = (shared_cost(tmp_path, "10B", 4, ranks) for ranks in (1, 8))
    for backend in ("csb", "pairs"):
        assert eight.cost(backend).product_seconds < one.cost(backend).product_seconds / 4
        assert eight.cost(backend).vector_bytes < one.cost(backend).vector_bytes / 6
        assert 0 < eight.cost(backend).travel_seconds < eight.cost(backend).product_seconds
    assert eight.cost("csb").operator_bytes < one.cost("csb").operator_bytes / 7
    gpus = [shared_cost(tmp_path, "10B", 4, ranks, "cuda") for ranks in (1, 8)]
    for backend in ("csb", "pairs"):
        assert gpus[1].cost(backend).product_seconds < gpus[0].cost(backend).product_seconds / 4


def test_few_ranks_take_dealt_blocks_and_the_layout_asked_for_is_taken(tmp_path):
    """On three ranks a triangle gives one of them a third more nonzeros; vectors are small beside those."""
    assert shared_cost(tmp_path, "6Li", 4, 3).cost("csb").layout == "dealt"
    assert shared_cost(tmp_path, "6Li", 4, 3, solver='layout = "triangle"').cost("csb").layout == "triangle"
    assert shared_cost(tmp_path, "6Li", 4, 4).cost("csb").layout == "dealt"
    many = shared_cost(tmp_path, "3H", 14, 1540)
    assert many.cost("csb").layout == "triangle" and "csb" not in [cost.backend for cost in many.costs[1:]]
