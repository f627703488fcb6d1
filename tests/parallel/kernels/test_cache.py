"""Compiled kernels on the disk: compiled once, never wrong."""

import os
import threading

import pytest

from eigenwerk.parallel.kernels.cache import cache_folder, cached


class Compiler:
    """Counts how often it is asked; its answer depends on the source."""

    def __init__(self, source, answer=b"machine code"):
        self.source, self.answer, self.calls = source, answer, 0

    def __call__(self):
        self.calls += 1
        return self.answer + self.source.encode()


def ask(folder, source, *rest):
    compiler = Compiler(source)
    return cached((source, *rest), compiler, folder), compiler.calls


def test_second_process_does_not_compile(tmp_path):
    assert ask(tmp_path / "new" / "folder", "a") == (b"machine codea", 1)
    assert ask(tmp_path / "new" / "folder", "a") == (b"machine codea", 0)


@pytest.mark.parametrize("other", [("b", "sm_90"), ("a", "sm_80"), ("as", "m_90"), ("a", "sm_90", "13"), ("asm_90",)])
def test_another_description_is_compiled_anew(tmp_path, other):
    ask(tmp_path, "a", "sm_90")
    assert ask(tmp_path, *other) == (b"machine code" + other[0].encode(), 1)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: b"", lambda data: data[:40] + b"x" + data[41:]]
)
def test_damaged_file_is_compiled_anew_and_replaced(tmp_path, damage):
    ask(tmp_path, "a")
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert ask(tmp_path, "a") == (b"machine codea", 1)
    assert ask(tmp_path, "a") == (b"machine codea", 0)


def test_file_that_cannot_be_read_is_compiled_anew(tmp_path):
    ask(tmp_path, "a")
    (file,) = tmp_path.iterdir()
    file.unlink()
    file.mkdir()
    assert ask(tmp_path, "a") == (b"machine codea", 1)
    assert [entry.name for entry in tmp_path.iterdir()] == [file.name]  # nothing half written is left


def test_folder_that_cannot_be_written_costs_only_time(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert ask(tmp_path / "file" / "kernels", "a") == (b"machine codea", 1)


def test_ranks_that_compile_at_once_leave_one_whole_file(tmp_path):
    together, answers = threading.Barrier(8), []

    def rank():
        answers.append(cached(("a",), lambda: together.wait(10) * b"" + b"x" * 10**6, tmp_path))

    ranks = [threading.Thread(target=rank) for _ in range(8)]
    for one in ranks:
        one.start()
    for one in ranks:
        one.join()
    assert answers == [b"x" * 10**6] * 8 and len(list(tmp_path.iterdir())) == 1
    assert cached(("a",), Compiler("not asked"), tmp_path) == b"x" * 10**6


@pytest.mark.parametrize("place", ["kernels", ""], ids=["the folder", "one above it"])
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_folder_that_others_may_write_to_is_not_used(tmp_path, mode, place, capsys):
    folder = tmp_path / "cache" / "kernels"
    assert ask(folder, "a")[1] == 1
    (tmp_path / "cache" / place).chmod(mode)
    assert [ask(folder, "a")[1] for _ in range(3)] == [1, 1, 1]
    assert capsys.readouterr().err.count("others may write there") == 1
    (tmp_path / "cache" / place).chmod(0o755)
    assert ask(folder, "a")[1] == 0


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_file_that_others_may_write_to_is_not_used(tmp_path, mode):
    ask(tmp_path, "a")
    (file,) = tmp_path.iterdir()
    file.chmod(mode)
    assert ask(tmp_path, "a")[1] == 1
    assert ask(tmp_path, "a")[1] == 0, "it was replaced"


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_another_user_owns_is_not_used(tmp_path, what):
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    ask(tmp_path / "kernels", "a")
    (file,) = (tmp_path / "kernels").iterdir()
    os.chown(file if what == "file" else file.parent, 65534, 65534)
    assert ask(tmp_path / "kernels", "a")[1] == 1


def test_folder_is_that_of_the_user(tmp_path, monkeypatch):
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "eigenwerk" / "kernels"
    monkeypatch.setenv("HOME", str(tmp_path))
    for relative in ({}, {"XDG_CACHE_HOME": ""}, {"XDG_CACHE_HOME": "here"}):
        assert cache_folder(relative) == tmp_path / ".cache" / "eigenwerk" / "kernels"
