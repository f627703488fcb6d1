"""`eigenwerk plan`: what it shows, what it refuses, and that it is quick."""

import json
import re
import shutil

import pytest

from eigenwerk.cli.checking.plan import bytes_of
from eigenwerk.cli.checking.plan_text import duration
from eigenwerk.cli.main import main
from eigenwerk.errors import InputError
from loaded_modules import SLOW_PACKAGES, modules_loaded_by


@pytest.fixture
def hafnia(job_folder):
    return str(job_folder("hfo2_96"))


def test_the_text_shows_layout_memory_time_and_machines(hafnia, capsys):
    assert main(["plan", hafnia, "--gpus", "4", "--memory", "80GB"]) == 0
    text = capsys.readouterr().out
    for line in (
        r"8 k-points, 512 bands, 20126 plane waves, 1408 projectors of 96 atoms",
        r"Layout on 4 x H100",
        r"  4 k-groups of 2 k-points, 1 band rank in each",
        r"  \d k-points? solved together \(\d+ MB of orbitals\)",
        r"  total +\d+(\.\d+)? GB  of 80 GB, 76 GB of them usable",
        r"  projectors +453 MB",
        r"  eigensolver +\d.*GB  for a while",
        r"  local potential +\d+(\.\d+)? ms",
        r" +4 +4 x 1 .* GB +.* %",
        r"It fits\. The smallest machine has 1 device of 80 GB\.",
    ):
        assert re.search(rf"^{line}", text, re.MULTILINE), line


def test_a_job_that_does_not_fit_names_the_machine_that_does_and_exits_with_two(hafnia, capsys):
    assert main(["plan", hafnia, "--gpus", "1", "--memory", "4GB"]) == 2
    text = capsys.readouterr().out
    smallest = int(re.search(r"It does not fit\. The smallest machine that does has (\d+) devices of 4 GB", text)[1])
    assert main(["plan", hafnia, "--gpus", str(smallest), "--memory", "4GB"]) == 0
    assert main(["plan", hafnia, "--gpus", str(smallest - 1), "--memory", "4GB"]) == 2


@pytest.mark.slow
def test_json_has_the_same(hafnia, capsys):
    assert main(["plan", hafnia, "--gpus", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    plan = found["plan"]
    assert (plan["groups"], plan["band_ranks"], plan["points_of_a_group"]) == (2, 1, 4)
    memory = plan["memory"]
    assert memory["total"] == sum(memory["staying"].values()) + max(memory["passing"].values())
    assert plan["step"]["seconds"] == pytest.approx(sum(plan["step"]["phases"].values()))
    assert [other["ranks"] for other in found["others"]] == [1, 2, 4, 8, 16, 32]
    assert found["smallest"]["ranks"] == 1


def test_time_of_atoms_that_move_counts_the_first_step_apart_and_forces(tmp_path, capsys):
    (tmp_path / "POSCAR").write_text("Si\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n")
    (tmp_path / "KPOINTS").write_text("mesh\n0\nGamma\n2 2 2\n")
    motion = "IBRION = 0\nNSW = 100001\nPOTIM = 1\nTEBEG = 300\n"
    (tmp_path / "INCAR").write_text(f"ENCUT = 200\nISMEAR = 0\n{motion}")
    assert main(["plan", str(tmp_path), "--gpus", "1", "--json"]) == 0
    seconds = json.loads(capsys.readouterr().out)["plan"]["step"]["seconds"]
    assert main(["plan", str(tmp_path), "--gpus", "1"]) == 0
    found = re.search(r"8 steps for the first, 3 for each other.*forces, (\d+):(\d\d):(\d\d)", capsys.readouterr().out)
    hours, minutes, rest = map(int, found.groups())
    # 8 + 3 for each other, half a step for the forces of each
    assert 3600 * hours + 60 * minutes + rest == pytest.approx((8.5 + 3.5 * 100_000) * seconds, abs=1)


@pytest.mark.slow
def test_kpar_of_the_input_is_obeyed(hafnia, tmp_path, capsys):
    folder = shutil.copytree(hafnia, tmp_path / "job")
    (folder / "INCAR").write_text((folder / "INCAR").read_text() + "KPAR = 2\n")
    main(["plan", str(folder), "--gpus", "4", "--json"])
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert (plan["groups"], plan["band_ranks"]) == (2, 2)
    assert main(["plan", str(folder), "--gpus", "3"]) == 2
    assert "KPAR = 2 does not divide the 3 ranks" in capsys.readouterr().err


@pytest.mark.slow
def test_ranks_of_a_processor_share_its_memory(hafnia, capsys):
    totals = []
    for ranks in ("1", "2"):
        main(["plan", hafnia, "--ranks", ranks, "--memory", "64GB", "--json"])
        totals.append(json.loads(capsys.readouterr().out)["plan"]["memory"]["device"])
    assert totals == [64e9, 32e9]


def test_bad_input_and_contradictions_are_messages(hafnia, tmp_path, capsys):
    assert main(["plan", hafnia, "--gpus", "1", "--ranks", "2"]) == 2
    assert "Give one of them" in capsys.readouterr().err
    folder = shutil.copytree(hafnia, tmp_path / "job")
    (folder / "INCAR").write_text("NBANDS = 3\n")
    assert main(["plan", str(folder)]) == 2
    assert "need at least 384 bands" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "count"), [("80GB", 80e9), ("80 GiB", 80 * 2**30), ("16", 16e9), ("500mb", 5e8), ("1.5TB", 1.5e12)]
)
def test_memory_in_words(words, count):
    assert bytes_of(words) == count


@pytest.mark.parametrize("words", ["", "GB", "80 cows", "-3GB", "0GB"])
def test_memory_that_is_none_is_refused(words):
    with pytest.raises(InputError, match="no amount of memory"):
        bytes_of(words)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.00123, "1.23 ms"), (0.5, "0.5 s"), (12.34, "12.3 s"), (4321.0, "4321 s")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.slow
@pytest.mark.ci
def test_no_slow_package_is_loaded(hafnia):
    assert not SLOW_PACKAGES & modules_loaded_by("plan", hafnia, "--gpus", "1")
