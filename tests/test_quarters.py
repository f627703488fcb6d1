"""The quarters of slow tests: together they are all, and with little time each test has its turn."""

from types import SimpleNamespace

from quarters import QUARTERS, in_quarter, in_turn


def made(name, *marks):
    return SimpleNamespace(nodeid=name, get_closest_marker=lambda mark: mark if mark in marks else None)


SLOW = [made(f"tests/test_{file}.py::test_{number}", "slow") for file in range(40) for number in range(5)]
URGENT = [made("tests/test_7.py::test_wheel", "slow", "ci"), made("tests/test_39.py::test_shell", "slow", "ci")]


def test_each_slow_test_is_in_one_quarter_and_ci_in_all():
    for item in SLOW:
        assert sum(in_quarter(item, number) for number in range(20, 20 + QUARTERS)) == 1
    assert all(in_quarter(item, number) for item in URGENT for number in range(QUARTERS))
    sizes = [sum(in_quarter(item, number) for item in SLOW) for number in range(QUARTERS)]
    assert min(sizes) > len(SLOW) / QUARTERS / 2


def test_ci_begins_and_files_stay_in_one_piece():
    for number in range(9):
        found = in_turn(SLOW + URGENT, number)
        assert sorted(map(id, found)) == sorted(map(id, SLOW + URGENT))
        files = [item.nodeid.partition("::")[0] for item in found]
        assert sum(one != other for one, other in zip(files[1:], files, strict=False)) == len(set(files)) - 1
        assert {files[0], files[6]} == {"tests/test_7.py", "tests/test_39.py"} and found[0] in URGENT


def test_with_time_for_a_fifth_every_test_runs_within_a_few_turns():
    begun = set()
    for turn in range(8):
        found = in_turn(SLOW, QUARTERS * turn)
        begun |= {item.nodeid for item in found[: len(found) // 5]}
    assert begun == {item.nodeid for item in SLOW}
