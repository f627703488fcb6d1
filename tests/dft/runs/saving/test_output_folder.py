"""What earlier runs have left in the folder of a run."""

import os

import pytest

from eigenwerk.dft.runs.run import run_folder
from eigenwerk.dft.runs.saving.output_folder import OutputFolder, earlier_words
from eigenwerk.errors import InputError
from seen_runs import FILES, make_seen


@pytest.mark.slow
def test_a_run_names_the_files_of_earlier_ones_that_it_does_not_write(tmp_path):
    assert not any("earlier run" in note for note in make_seen(tmp_path).notes)
    (tmp_path / "INCAR").write_text(FILES["INCAR"].replace("LVHAR = T", "").replace("LORBIT = 11", ""))
    (tmp_path / "KPOINTS_OPT").unlink()
    (tmp_path / "out" / "mine.txt").write_text("no business of a run")
    (note,) = (note for note in run_folder(tmp_path, tmp_path / "out").notes if "earlier run" in note)
    assert note == (
        f"LOCPOT, PROCAR, PROCAR_OPT, bands.json in {tmp_path / 'out'} are of an earlier run: this one does not write "
        "them, and they stay there"
    )


def test_what_a_run_began_from_is_no_stray_file(tmp_path):
    for name in ("CHGCAR", "WAVECAR", "PARCHG.0004.ALLK", "vasprun.xml", "INCAR"):
        (tmp_path / name).write_text("of a run")
    assert earlier_words(tmp_path, ["vasprun.xml"], goes_on=False).startswith("CHGCAR, PARCHG.0004.ALLK, WAVECAR in ")
    said = earlier_words(tmp_path, ["vasprun.xml"], goes_on=True)
    assert said.startswith(f"PARCHG.0004.ALLK in {tmp_path} is of an earlier run: this one does not write it")
    assert earlier_words(tmp_path / "gone", [], goes_on=False) == ""
    (tmp_path / "WAVECAR").write_text("")  # a place holder
    assert "WAVECAR" not in earlier_words(tmp_path, ["vasprun.xml"], goes_on=False)


@pytest.mark.parametrize("name", ["OUTCAR", "eigenwerk.h5"])
def test_what_cannot_be_written_in_the_end_is_refused_at_the_start(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=f"cannot write .*{name}: a folder of this name exists. Move it away"):
        OutputFolder(tmp_path).take()
    (tmp_path / name).rmdir()
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match=r"a device or a pipe of this name exists\. Choose another folder"):
        OutputFolder(tmp_path).take()
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("nowhere")  # is replaced
    folder = OutputFolder(tmp_path)
    folder.take()
    folder.release()
