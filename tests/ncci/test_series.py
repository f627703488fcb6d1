"""A series that was stopped keeps what it had finished, and nothing that was made otherwise."""

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.results.levels_file import read_levels
from eigenwerk.ncci.series import PROGRESS, run_series

CASE = 'nucleus = "3H"\ninteraction = "JISP16"\nhw = {hw}\nNmax = {nmax}\nstates = 1\nobservables = []\n'


def of(folder, hw="20", nmax="[0, 2]", more=""):
    path = folder / "case.toml"
    path.write_text(CASE.format(hw=hw, nmax=nmax) + more)
    return read_cases(path)


def stopped(cases, output, title):
    """The lines of a series that ends within the case with this title."""
    lines = []

    def report(step):
        if lines[-1].startswith("operator") and any(line.startswith(title) for line in lines):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_series(cases, output, say=lines.append, report=report)
    return lines


def kept_by(cases, output):
    lines = []
    levels = run_series(cases, output, say=lines.append)
    return levels, [line.split()[1].split("/")[-2] for line in lines if line.startswith("kept")]


@pytest.mark.slow
def test_what_an_unfinished_series_has_finished_is_kept(tmp_path):
    whole = run_series(of(tmp_path), tmp_path / "whole")
    assert not (tmp_path / "whole" / PROGRESS).exists()
    output = tmp_path / "out"
    stopped(of(tmp_path), output, "3H, JISP16, hbar-omega 20 MeV, Nmax 2")
    assert (output / PROGRESS).exists()
    before = [(output / f"hw20_Nmax0{n}" / "levels.h5").stat().st_mtime_ns for n in (0,)]
    levels, kept = kept_by(of(tmp_path), output)
    assert kept == ["hw20_Nmax00"] and not (output / PROGRESS).exists()
    assert before == [(output / f"hw20_Nmax0{n}" / "levels.h5").stat().st_mtime_ns for n in (0,)]
    for found, wanted in zip(levels, whole, strict=True):
        assert found.energy_n == pytest.approx(wanted.energy_n, abs=1e-8)
    last = read_levels(output / "hw20_Nmax02")  # begun from the states of the case that was kept
    assert np.allclose(last.smaller["overlap_nm"], whole[1].smaller["overlap_nm"], atol=1e-8)
    _, kept = kept_by(of(tmp_path), output)  # over: whoever starts it again wants it anew
    assert kept == []


@pytest.mark.slow
def test_quanta_that_print_alike_have_folders_of_their_own(tmp_path):
    levels = run_series(of(tmp_path, hw="[20, 20.0000001, 17.5]", nmax="2"), tmp_path / "out")
    assert [each.about["hw"] for each in levels] == [17.5, 20, 20.0000001]
    names = [path.parent.name for path in (tmp_path / "out").glob("*/levels.h5")]
    assert sorted(names) == ["hw17.5_Nmax02", "hw20.0000001_Nmax02", "hw20_Nmax02"]
    assert levels[2].about["title"] == "3H, JISP16, hbar-omega 20.0000001 MeV, Nmax 2, M = 1/2"


@pytest.mark.slow
@pytest.mark.fast("change0")
@pytest.mark.parametrize(
    "change",
    [
        {"more": "[solver]\ntolerance = 1e-4\n"},
        {"hw": "[20, 24]"},
        {"nmax": "[0, 2, 4]"},
    ],
)
def test_other_settings_are_computed_and_more_cases_are_not_other_settings(tmp_path, change):
    output = tmp_path / "out"
    stopped(of(tmp_path), output, "3H, JISP16, hbar-omega 20 MeV, Nmax 2")
    _, kept = kept_by(of(tmp_path, **change), output)
    assert kept == ([] if "more" in change else ["hw20_Nmax00"])


def test_a_file_that_was_lost_is_made_again(tmp_path):
    output, cases = tmp_path / "out", of(tmp_path, hw="[18, 20, 24]", nmax="0")
    stopped(cases, output, "3H, JISP16, hbar-omega 24 MeV, Nmax 0")
    (output / "hw18_Nmax00" / "levels.h5").unlink()
    (output / "unrelated.json").write_text("{")
    _, kept = kept_by(cases, output)
    assert kept == ["hw20_Nmax00"]
    stopped(cases, output, "3H, JISP16, hbar-omega 24 MeV, Nmax 0")
    (output / PROGRESS).write_text("{")
    _, kept = kept_by(cases, output)
    assert kept == []


@pytest.mark.slow
def test_a_series_whose_largest_case_does_not_fit_is_refused_before_the_small_ones(tmp_path):
    lines, cases = [], of(tmp_path, nmax="[2, 12]", more="[solver]\nmemory_gb = 0.4\n")
    with pytest.raises(InputError, match=r"Nmax 12.* needs .* GB"):
        run_series(cases, tmp_path / "out", say=lines.append)
    assert not lines and not (tmp_path / "out").exists()
