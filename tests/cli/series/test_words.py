"""What all series refuse, before anything is said or written."""

import pytest

from eigenwerk.cli.main import main

pytestmark = [
    pytest.mark.parametrize("command", ["converge", "eos"]), pytest.mark.parametrize("more", [[], ["--dry-run"]]),
]  # fmt: skip


def test_a_path_is_refused_before_anything_is_written(path, capsys, command, more):
    with (path / "INCAR").open("a") as incar:
        incar.write("NSW = 5\n")
    assert main([command, str(path), "-o", str(path / "o"), *more]) == 2
    out, err = capsys.readouterr()
    assert "IMAGES = 1" in err and "`eigenwerk run` computes paths" in err and out == ""
    assert not (path / "o").exists()


def test_options_that_mean_nothing_are_refused_before_a_word(folder, capsys, command, more):
    incar = folder / "INCAR"
    for words in (["--plot", "x.foo"], ["--device", "foo"], ["-o", str(incar)], ["-o", str(incar / "x")]):
        assert main([command, str(folder), *words, *more]) == 2
        out, err = capsys.readouterr()
        assert out == "" and words[1] in err
    assert len(list(folder.iterdir())) == 3
