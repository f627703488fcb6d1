import pytest

from eigenwerk.ncci.estimate import Cost, choose_backend, estimate
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.sources import source_of
from eigenwerk.parallel.memory.main_memory import MemoryShare


def chosen(folder, nucleus, nmax, device, memory=141e9, solver=""):
    path = folder / "case.toml"
    lines = [f'nucleus = "{nucleus}"', 'interaction = "JISP16"', "hw = 20.0", f"Nmax = {nmax}", "[solver]", solver]
    path.write_text("\n".join(lines) + "\n")
    (case,) = read_cases(path)
    found = estimate(source_of(case).problem(case), case.solver, case.states, device)
    return choose_backend(found, case.solver, [MemoryShare(memory)])


@pytest.mark.fast("6Li-4-cpu-csb", "6Li-6-*")
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


@pytest.mark.slow
def test_the_back_end_asked_for_is_taken(tmp_path):
    assert chosen(tmp_path, "10B", 6, "cuda", solver='backend = "csb"') == "csb"


def shared_cost(folder, nucleus, nmax, ranks, device="cpu", solver=""):
    path = folder / "case.toml"
    lines = [f'nucleus = "{nucleus}"', 'interaction = "JISP16"', "hw = 20.0", f"Nmax = {nmax}", "[solver]", solver]
    path.write_text("\n".join(lines) + "\n")
    (case,) = read_cases(path)
    return estimate(source_of(case).problem(case), case.solver, case.states, device, ranks)


@pytest.mark.slow
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


@pytest.mark.slow
def test_many_ranks_take_the_triangle(tmp_path):
    many = shared_cost(tmp_path, "3H", 14, 1540)
    assert many.cost("csb").layout == "triangle" and "csb" not in [cost.backend for cost in many.costs[1:]]


MEASURED = [
    ("6Li", 4, "csb", 1, "", 260), ("6Li", 4, "csb", 2, "dealt", 329), ("6Li", 4, "csb", 6, "triangle", 485),
    ("6Li", 6, "csb", 1, "", 1224), ("6Li", 6, "csb", 6, "dealt", 1262),
    ("6Li", 8, "csb", 1, "", 9280), ("6Li", 8, "csb", 6, "triangle", 10290), ("6Li", 8, "csb", 6, "dealt", 9473),
    ("7Li", 6, "csb", 1, "", 2874), ("7Li", 6, "csb", 2, "dealt", 2720), ("7Li", 6, "csb", 6, "triangle", 3057),
    ("7Li", 6, "csb", 6, "dealt", 3019), ("3H", 10, "csb", 1, "", 1241), ("3H", 10, "csb", 6, "dealt", 2628),
    ("6Li", 6, "pairs", 1, "", 434), ("6Li", 6, "pairs", 2, "", 519), ("6Li", 6, "pairs", 6, "", 869),
    ("7Li", 6, "pairs", 1, "", 788), ("7Li", 6, "pairs", 6, "", 1400),
    ("4He", 8, "pairs", 1, "", 466), ("4He", 8, "pairs", 6, "", 898),
    # measured after the constants had been chosen
    ("10B", 4, "csb", 3, "triangle", 2001), ("10B", 4, "pairs", 2, "", 1005), ("4He", 10, "csb", 4, "dealt", 2928),
]  # fmt: skip
"""Nucleus, Nmax, back end, ranks, layout; MB of all processes together by `benchmarks/ncci/memory_on_ranks.py`."""


@pytest.mark.fast("6Li-6-*", "4He-8-*", "6Li-4-*")
@pytest.mark.parametrize(
    ("nucleus", "nmax", "backend", "ranks", "layout", "measured"),
    [pytest.param(*row, marks=pytest.mark.slow if row[0] in ("7Li", "10B") else ()) for row in MEASURED],
)
def test_memory_is_what_was_measured(tmp_path, nucleus, nmax, backend, ranks, layout, measured):
    solver = 'precision = "single"\nspace = 20\n' + (f'layout = "{layout}"' if layout else "")
    cost = shared_cost(tmp_path, nucleus, nmax, ranks, solver=solver).cost(backend)
    assert 0.85 < ranks * cost.bytes(ranks) / (1e6 * measured) < 1.4


def test_what_ranks_of_a_machine_have_in_common_is_counted_once(tmp_path):
    cost = shared_cost(tmp_path, "6Li", 6, 6, solver='layout = "dealt"').cost("csb")
    assert 6 * cost.bytes(6) == pytest.approx(6 * cost.own_bytes + cost.common_bytes)
    assert 2 * cost.bytes(2) == pytest.approx(2 * cost.own_bytes + cost.common_bytes)
    assert cost.common_bytes > 4 * (cost.bytes(6) - cost.own_bytes)


def test_ranks_on_gpus_have_no_memory_of_the_device_in_common(tmp_path):
    for cost in shared_cost(tmp_path, "6Li", 6, 6, "cuda").costs:
        assert cost.bytes(6) == cost.bytes(1) and cost.common_bytes == 0 < cost.host_bytes


def test_of_a_triangle_ranks_on_the_diagonal_have_half():
    """Three ranks have one full block and two half ones."""
    cost = Cost("csb", 8.0, 1.0, 1.0, 0.0, 0.0, layout="triangle", full_ranks=1)
    assert [sharing * cost.bytes(sharing) for sharing in (1, 2, 3)] == pytest.approx([10.0, 16.0, 22.0])


def test_what_is_needed_for_a_while_to_make_tables_is_in_the_place_of_operators():
    cost = Cost("csb", 8.0, 1.0, 1.0, 0.0, 0.0, common_bytes=6.0, making_bytes=20.0)
    assert cost.bytes(1) == pytest.approx(27.0) and cost.bytes(4) == pytest.approx(1 + 9 + 1.5)


def test_machines_with_few_ranks_need_more_for_each():
    """7 bytes for itself and 6 in common: four ranks need 34, two 20, one 13."""
    cost = Cost("csb", 5.0, 1.0, 1.0, 0.0, 0.0, common_bytes=6.0)
    assert cost.fits([MemoryShare(34 / 4, 4)]) and not cost.fits([MemoryShare(33 / 4, 4)])
    shares = [MemoryShare(34 / 4, 4), MemoryShare(9.9, 2)]
    assert not cost.fits(shares) and cost.tightest(shares) == shares[1]
    assert cost.fits([MemoryShare(34 / 4, 4), MemoryShare(10.0, 2)])
