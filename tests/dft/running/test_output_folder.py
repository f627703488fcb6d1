"""What earlier runs have left in the folder of a run."""

from eigenwerk.dft.running.output_folder import earlier_words
from eigenwerk.dft.running.run import run_folder
from seen_runs import FILES, make_seen


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
