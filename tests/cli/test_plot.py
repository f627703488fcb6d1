"""`eigenwerk plot` and `eigenwerk report` as their users meet them: files, words, exit codes."""

import json
import shutil
import subprocess
import sys

import pytest

from covering import but_slow
from eigenwerk.cli.main import main
from seen_runs import make_seen


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plots")
    make_seen(folder)
    return folder / "out"


@pytest.fixture
def run(made, tmp_path):
    return shutil.copytree(made, tmp_path / "run")


def refused(capsys, *words):
    """Exit code 2, with words."""
    assert main([*map(str, words)]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("absent", "names"),
    [
        (("bands.json", "CHG", "CHGCAR", "LOCPOT"), ["dos.png", "convergence.png", "structure.png"]),
        pytest.param((), ["bands_dos.png", "bands.png", "dos.png", "convergence.png", "structure.png", "CHGCAR.png",
                          "LOCPOT.png"], marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_everything_the_folder_allows_is_drawn_and_named(run, capsys, absent, names):
    for name in absent:
        (run / name).unlink()
    assert main(["plot", str(run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines] == [str(run / name) for name in names]
    for name in names:
        assert (run / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.fast("words0-*", "words1-*")
@pytest.mark.parametrize(
    ("words", "file", "begins"),
    [(["dos"], "dos.svg", b"<?xml"), (["bands+dos"], "x.pdf", b"%PDF"),
     (["LOCPOT", "--axis", "1"], "x.png", b"\x89PNG"),
     ([], "first.svg", b"<?xml")],
)  # fmt: skip
def test_the_suffix_says_what_is_written(run, tmp_path, words, file, begins):
    assert main(["plot", str(run), *words, "-o", str(tmp_path / file)]) == 0
    assert (tmp_path / file).read_bytes().startswith(begins)


OPTIONS = (
    [], ["--energies", "-5:5"], ["--parts", "atom"], ["--parts", "none"], ["--atoms", "1"], ["--broaden", "0"],
    ["--broaden", "0.5"],
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("options", [OPTIONS[::2][:3], pytest.param(OPTIONS, marks=pytest.mark.slow)])
def test_options_reach_the_picture(run, tmp_path, options):
    pictures = set()
    for words in options:
        assert main(["plot", str(run), "dos", *words, "-o", str(tmp_path / "x.png")]) == 0
        pictures.add((tmp_path / "x.png").read_bytes())
    assert len(pictures) == len(options)


def test_a_folder_for_pictures_in_another_format(run, tmp_path, capsys):
    assert main(["plot", str(run), "dos", "bands", "-o", str(tmp_path / "new"), "--format", "svg"]) == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["bands.svg", "dos.svg"]


@pytest.mark.slow
def test_in_the_folder_the_kind_is_enough_and_a_file_says_itself(run, monkeypatch, capsys):
    monkeypatch.chdir(run)
    assert main(["plot", "dos"]) == 0 and main(["plot", "LOCPOT"]) == 0 and main(["plot", "bands.json"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("LOCPOT.png")


def test_density_of_states_of_another_folder(run, tmp_path):
    (tmp_path / "bands").mkdir()
    shutil.copy(run / "bands.json", tmp_path / "bands")
    assert main(["plot", str(tmp_path / "bands"), "bands+dos"]) == 2
    assert main(["plot", str(tmp_path / "bands"), "bands+dos", "--dos", str(run)]) == 0
    assert (tmp_path / "bands" / "bands_dos.png").is_file()


@pytest.mark.slow
def test_folders_of_vasp_are_drawn(shared_dir, tmp_path, capsys):
    folder = shared_dir / "reference" / "vasp_outputs" / "li_relax"
    assert main(["plot", str(folder), "-o", str(tmp_path)]) == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["convergence.png", "dos.png", "ionic.png", "structure.png"]
    assert "of vasp" in refused(capsys, "report", folder, "-o", tmp_path)


def test_nothing_to_draw_is_bad_input(tmp_path, capsys):
    assert "nothing to draw" in refused(capsys, "plot", tmp_path)
    assert "no such folder" in refused(capsys, "plot", tmp_path / "none")
    assert "no run to report" in refused(capsys, "report", tmp_path)


def test_a_word_that_is_no_path_and_no_picture_is_both(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "nodir: there is no such folder or file, and no picture of this name" in refused(capsys, "plot", "nodir")
    assert "nothing to draw" not in refused(capsys, "plot", "dos")
    (tmp_path / "vasprun.xml").write_text("<x")
    assert "it is a file. Give the folder that holds it" in refused(capsys, "report", tmp_path / "vasprun.xml")


def test_what_is_missing_is_said_with_a_remedy(run, tmp_path, capsys):
    assert "no eos.json; `eigenwerk eos` makes one" in refused(capsys, "plot", run, "eos")
    (run / "bands.json").unlink()
    assert "--bands auto" in refused(capsys, "plot", run, "bands")
    assert "one ionic step only" in refused(capsys, "plot", run, "ionic")
    assert "there is no ELFCAR" in refused(capsys, "plot", run, "ELFCAR")


@pytest.mark.parametrize(
    ("words", "message"),
    [(["nonsense"], "no such picture"), (["dos", "--parts", "x"], "--parts x"),
     (["dos", "--energies", "5:1"], "LOW:HIGH"),
     (["dos", "--energies", "1.2.3:4"], "LOW:HIGH"), (["dos", "--atoms", "9"], "atoms 1 to 2"),
     (["dos", "-o", "x.gif"], "PNG, SVG or PDF"), (["dos", "bands", "-o", "x.png"], "Name a folder"),
     (["LOCPOT", "--atoms", "1,2"], "Name three"), (["dos", "--format", "gif"], "--format gif")],
)  # fmt: skip
def test_words_that_mean_nothing_are_bad_input(run, capsys, monkeypatch, words, message):
    monkeypatch.chdir(run)
    assert message in refused(capsys, "plot", ".", *words)


@pytest.mark.slow
@pytest.mark.parametrize("name", but_slow(("vasprun.xml", "bands.json", "CHGCAR"), "bands.json"))
def test_a_damaged_file_is_named_and_the_others_are_drawn(run, capsys, name):
    data = (run / name).read_bytes()
    (run / name).write_bytes(data[: len(data) // 2])
    assert main(["plot", str(run)]) == 2
    out, err = capsys.readouterr()
    assert name in err and err.count("No picture of") == 1
    drawn = {line.split(": ")[0].rpartition("/")[2] for line in out.splitlines()}
    made_of = {
        "vasprun.xml": {"bands_dos.png", "dos.png", "convergence.png", "structure.png"},
        "bands.json": {"bands_dos.png", "bands.png"}, "CHGCAR": {"CHGCAR.png"},
    }  # fmt: skip
    every = set().union(*made_of.values()) | {"LOCPOT.png"}
    assert drawn == every - made_of[name]


@pytest.mark.fast("words2")
@pytest.mark.parametrize("words", [["CHGCAR"], ["LOCPOT", "bands"], ["LOCPOT", "dos"]])
def test_pictures_by_name_do_without_a_damaged_file_that_is_told(run, capsys, words):
    (run / "vasprun.xml").write_text("<x")
    assert main(["plot", str(run), *words]) == 2
    out, err = capsys.readouterr()
    assert err.count("vasprun.xml: not a whole XML file") == 1 and (run / f"{words[0]}.png").is_file()
    assert ("No picture of dos" in err) == ("dos" in words) and ("without what it says" in err) == ("dos" not in words)
    assert len(out.splitlines()) == len(words) - ("dos" in words)


def test_a_series_is_drawn_beside_a_damaged_run(tmp_path, capsys):
    energies = [0.04, 0.01, 0.0, 0.01, 0.04]
    rows = [
        {"length_scale": (0.96 + 0.02 * n) ** (1 / 3), "volume_A3": 38.4 + 0.8 * n, "free_energy_eV": energy,
         "converged": True, "curve_pressure_GPa": None, "pressure_GPa": None, "pulay_pressure_GPa": None}
        for n, energy in enumerate(energies)
    ]  # fmt: skip
    document = {"atoms": 2, "birch_murnaghan": None, "points": rows, "complete": False, "bracketed": True}
    (tmp_path / "eos.json").write_text(json.dumps(document))
    (tmp_path / "vasprun.xml").write_text("<x")
    assert main(["plot", str(tmp_path / "eos.json")]) == 2
    assert (tmp_path / "eos.png").is_file() and "not a whole XML file" in capsys.readouterr().err


def test_other_documents_are_no_documents(run, capsys):
    for content in ("[]", "{}", '{"lines": 3}', json.dumps({"points": [1], "atoms": 2})):
        (run / "bands.json").write_text(content)
        assert "bands.json" in refused(capsys, "plot", run, "bands")
        (run / "eos.json").write_text(content)
        assert "eos.json" in refused(capsys, "plot", run, "eos")


def test_report_stands_beside_the_run(run):
    for name in ("bands.json", "CHGCAR", "LOCPOT", "DOSCAR", "PROCAR"):
        (run / name).unlink(missing_ok=True)
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_report_is_written_where_it_is_wanted(run, tmp_path, capsys):
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert main(["report", str(run), "-o", str(tmp_path / "page.html")]) == 0 and (tmp_path / "page.html").is_file()
    assert "ends in .html" in refused(capsys, "report", run, "-o", tmp_path / "page.txt")
    assert "does not exist" in refused(capsys, "report", run, "-o", tmp_path / "none" / "page.html")


@pytest.mark.slow
@pytest.mark.ci
def test_help_waits_for_no_slow_package_and_pictures_for_no_pytorch(run):
    program = (
        "import sys\nfrom eigenwerk.cli.main import main\nmain(['plot', '--help'])\nmain(['report', '--help'])\n"
        "assert not {'torch', 'scipy', 'matplotlib', 'h5py'} & set(sys.modules), sorted(sys.modules)\n"
        f"assert main(['plot', {str(run)!r}]) == 0 and main(['report', {str(run)!r}]) == 0\n"
        "assert not {'torch', 'ase', 'pymatgen'} & set(sys.modules), sorted(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and "bands+dos" in done.stdout, done.stderr


@pytest.mark.slow
def test_fields_of_another_system_are_left_out_with_a_word(run, capsys):
    text = (run / "LOCPOT").read_text()
    (run / "LOCPOT").write_text(text.replace("Si", "Ge"))
    (run / "ELFCAR").write_text(text.replace("   1.0\n", "   1.1\n", 1))
    assert main(["plot", str(run)]) == 0
    out, err = capsys.readouterr()
    assert "CHGCAR.png" in out and "LOCPOT.png" not in out and "ELFCAR.png" not in out
    assert "No picture of LOCPOT: its atoms are Ge2, and those of vasprun.xml Si2: another run left it here." in err
    assert "No picture of ELFCAR: its cell is another than that of vasprun.xml, by up to 0.27" in err
    assert "no picture of LOCPOT: its atoms are Ge2" in refused(capsys, "plot", run, "LOCPOT")
    assert main(["plot", str(run), "fields"]) == 0
    assert "LOCPOT.png" not in capsys.readouterr().out
