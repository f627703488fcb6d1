"""What does not fit is refused with the numbers, and with what would fit."""

import pytest

from eigenwerk.errors import InputError
from eigenwerk.ncci import estimate, refusal
from eigenwerk.ncci.estimate import planned
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.refusal import refuse_what_does_not_fit
from eigenwerk.ncci.sources import source_of
from eigenwerk.parallel.memory.main_memory import MemoryShare

LITHIUM = 'nucleus = "6Li"\ninteraction = "JISP16"\nhw = 20\nNmax = 8\nstates = 1\n'
LITHIUM += '[solver]\nprecision = "single"\nspace = 20\n'
STORED = LITHIUM + 'backend = "csb"\nlayout = "dealt"\n'


@pytest.fixture
def words(tmp_path, monkeypatch):
    """Why a case is refused, "" where it is not; `installed` GB on this machine."""

    def words_of(text, ranks, shares=(), device="cpu", installed=24):
        for module in (estimate, refusal):
            monkeypatch.setattr(module, "installed_memory", lambda: int(1e9 * installed))
        path = tmp_path / "case.toml"
        path.write_text(text)
        (case,) = read_cases(path)
        problem = source_of(case).problem(case)
        estimated, memory, backend = planned(case, problem, device, shares, ranks)
        try:
            refuse_what_does_not_fit(case, problem, estimated, backend, memory)
        except InputError as error:
            return str(error)
        return ""

    return words_of


@pytest.mark.slow
def test_six_ranks_of_a_machine_run_what_takes_ten_gigabytes(words):
    """Measured: 9.5 GB in all; before, what they have in common was counted six times, 25 GB."""
    assert words(STORED, 6) == "" and words(STORED, 6, installed=12) == ""


def test_too_much_on_one_machine_names_the_sum_and_what_is_in_common(words):
    said = words(STORED, 6, installed=9.6)
    assert "GB on each of 6 ranks (10.5 GB on a machine with 6 of them, which have 1.44 GB in common)" in said
    assert 'there are 1.6 GB for each. It would fit with backend = "pairs" in [solver]' in said
    assert ", or with 3 ranks." in said


@pytest.mark.slow
def test_where_each_rank_has_its_limit_more_ranks_or_a_higher_one_are_named(words):
    said = words(STORED + "memory_gb = 1.5\n", 6)
    assert ", or with 8 ranks, or with memory_gb = 1.8." in said
    assert words(STORED + "memory_gb = 1.5\n", 8) == "" and words(STORED + "memory_gb = 1.8\n", 6) == ""
    assert "memory_gb = 1.8" not in words(STORED + "memory_gb = 1.5\n", 6, installed=9)


@pytest.mark.slow
def test_gpus_have_nothing_in_common_and_more_of_them_help(words):
    said = words(STORED, 6, [MemoryShare(1.5e9)], "cuda")
    assert "GB on each of 6 ranks with back end csb" in said and "in common" not in said
    number, shares = int(said.split("or with ")[1].split()[0]), [MemoryShare(1.5e9)]
    assert words(STORED, number, shares, "cuda") == "" != words(STORED, number - 1, shares, "cuda")


@pytest.mark.slow
def test_machines_with_fewer_ranks_each_count_what_is_in_common(words):
    """Two machines with three ranks each have it twice."""
    one, two = [MemoryShare(1.76e9, 6)], [MemoryShare(1.76e9, 3)]
    assert words(STORED, 6, one) == ""
    assert "on a machine with 3 of them" in words(STORED, 6, two)


@pytest.mark.slow
def test_without_any_setting_a_smaller_space_is_named(words):
    assert words(LITHIUM, 6, installed=1).endswith(
        "No setting of the solver makes it fit; take Nmax = 6, a larger machine, or several."
    )
