"""The report of a run: one page that holds everything, needs nothing, and does not hide what went wrong."""

import re
import shutil
from html.parser import HTMLParser

import pytest

from eigenwerk.errors import InputError
from eigenwerk.view.folder import RunFolder
from eigenwerk.view.report.report import report


class Outline(HTMLParser):
    """Sections, sources and text of a page; raises AssertionError for an element that is not closed."""

    ALONE = ("meta", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.sections, self.sources, self.words = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.sources += [found[name] for name in ("src", "href") if name in found]
        if tag == "section":
            self.sections.append(found["id"])
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style",):
            self.words.append(data)


@pytest.fixture
def copied(seen, tmp_path):
    return shutil.copytree(seen[0], tmp_path / "run")


@pytest.mark.slow
def test_every_part_of_a_run_is_there(seen):
    folder, result = seen
    found = Outline(report(RunFolder(folder)))
    assert found.sections == [
        "structure", "settings", "energies", "forces", "convergence", "bands", "dos", "time", "origin",
    ]  # fmt: skip
    words = " ".join(" ".join(found.words).split())
    for expected in (
        f"{result.free_energy:.8f}", "Converged in", "INCAR line 1", "100 eV", "k-points",
        "gpaw-data", "md5:", str(result.stamp), "Pulay", "moment (μB)", "phase",
        "ENCUT = 100 ! low",
    ):
        assert expected in words, expected
    assert f"{result.forces_av[0][2]:.5f}".lstrip("-") in words
    assert words.count("eigenwerk.h5") >= 1 and "no: " not in words


@pytest.mark.slow
def test_page_needs_nothing_from_elsewhere(seen):
    text = report(RunFolder(seen[0]))
    assert all(source.startswith(("#", "data:image/svg+xml;base64,")) for source in Outline(text).sources)
    assert not re.search(r"<script|<link|@import|url\(|http-equiv", text)
    assert "prefers-color-scheme: dark" in text and "@media print" in text


@pytest.mark.slow
def test_the_same_run_makes_the_same_pictures(seen):
    first, second = (Outline(report(RunFolder(seen[0]))).sources for _ in range(2))
    assert first == second and len(first) > 12


def test_a_run_that_did_not_converge_says_so_first_and_in_red(unconverged):
    text = report(RunFolder(unconverged[0]))
    assert re.search(r'class="status bad">\s*<p class="">NOT CONVERGED in 2 steps', text)
    words = " ".join(Outline(text).words)
    assert "not reliable" in words and unconverged[1].advice[0] in words
    assert text.index("NOT CONVERGED") < text.index("<section")


@pytest.mark.slow
def test_a_run_on_its_way_is_not_converged(copied):
    path = copied / "vasprun.xml"
    text = path.read_text()
    text = re.sub(r'(name="converged"> )T', r"\1F", text)
    path.write_text(re.sub(r'(name="status">)[^<]*', r"\1unfinished: step 3 of at most 60", text))
    assert 'bad">\n<p class="">NOT CONVERGED: unfinished: step 3 of at most 60.' in report(RunFolder(copied))


@pytest.mark.slow
def test_atoms_that_are_not_at_rest_are_not_finished(copied):
    path = copied / "vasprun.xml"
    text = re.sub(r'(name="reached"> )T', r"\1F", path.read_text())
    path.write_text(re.sub(r'(name="status">)[^<]*', r"\1not at rest after 3 points", text))
    text = report(RunFolder(copied))
    assert 'bad">\n<p class="">NOT FINISHED: not at rest after 3 points.' in text and "not reliable" not in text


def test_files_of_other_runs_are_not_mixed_in(copied, unconverged):
    for name in ("eigenwerk.h5", "eigenwerk-trace.json"):
        shutil.copy(unconverged[0] / name, copied / name)
    text = (copied / "bands.json").read_text()
    (copied / "bands.json").write_text(re.sub("run [0-9a-f]{16}", "run 0123456789abcdef", text))
    words = " ".join(Outline(report(RunFolder(copied))).words)
    assert "bands.json is of another run" in words and "no record of times" in words and "no: eigenwerk run" in words
    assert "ENCUT = 100 ! low" not in words


@pytest.mark.slow
def test_words_of_the_user_are_text_and_not_page(seen, tmp_path):
    shutil.copytree(seen[0], tmp_path / "run")
    path = tmp_path / "run" / "vasprun.xml"
    path.write_text(path.read_text().replace("Si2: silicon", "Si2: &lt;script&gt;alert(1)&lt;/script&gt;"))
    text = report(RunFolder(tmp_path / "run"))
    assert "<script" not in text and "&lt;script&gt;alert(1)" in text


@pytest.mark.slow
def test_words_in_files_of_others_are_text_and_not_page(copied):
    """Names of phases and elements may be anything that a file holds."""
    trace = copied / "eigenwerk-trace.json"
    trace.write_text(trace.read_text().replace('"name": "bands"', '"name": "<script>alert(1)</script>"'))
    run = copied / "vasprun.xml"
    run.write_text(run.read_text().replace("<rc><c>Si</c>", "<rc><c>&lt;</c>"))
    page = report(RunFolder(copied))
    Outline(page)
    assert "<script" not in page and "&lt;script&gt;alert(1)" in page and "<h1>&lt;2</h1>" in page


def test_runs_of_vasp_and_other_folders_are_refused(shared_dir, tmp_path):
    with pytest.raises(InputError, match=r"vasprun.xml: of vasp 5\.2\.12.*eigenwerk plot"):
        report(RunFolder(shared_dir / "reference" / "vasp_outputs" / "li_relax"))
    (tmp_path / "neb.json").write_text("{}")  # of a path, whose first end was not computed
    for name in ("00", "01", "02"):
        (tmp_path / name).mkdir()
    for name in ("01", "02"):
        (tmp_path / name / "vasprun.xml").write_text("<x")
    with pytest.raises(InputError, match=r"own \(01, 02\): give one, like .*/01\. It has neb\.json: `eigenwerk plot`"):
        report(RunFolder(tmp_path))
    (tmp_path / "neb.json").unlink()
    for name in ("01", "02"):
        shutil.rmtree(tmp_path / name)
    with pytest.raises(InputError, match="no run to report"):
        report(RunFolder(tmp_path))
    (tmp_path / "eos.json").write_text("{}")
    with pytest.raises(InputError, match=r"has eos\.json: `eigenwerk plot`"):
        report(RunFolder(tmp_path))
    with pytest.raises(InputError, match="no such folder"):
        RunFolder(tmp_path / "none")
