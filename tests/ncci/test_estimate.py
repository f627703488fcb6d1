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
