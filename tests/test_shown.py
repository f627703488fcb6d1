"""Words of others reach terminals, pictures and pages without being commands, formulas or tags."""

from io import BytesIO

import pytest
from matplotlib.figure import Figure

from eigenwerk.perf.pictures import save_figure
from eigenwerk.shown import for_mathtext, for_page, for_terminal, make_plain

HOSTILE = "\x1b[31mred\x07 \u202egnp.exe \udcff [red] $\\foo$ <script>&\x9b"


def test_terminals_get_nothing_that_cannot_be_seen():
    assert for_terminal(HOSTILE) == "?[31mred? ?gnp.exe ? [red] $\\foo$ <script>&?"
    assert for_terminal("a\tµB Å³\nb") == "a\tµB Å³\nb"


def test_pages_get_no_tags():
    assert for_page('<b onclick="x">\x07') == "&lt;b onclick=&quot;x&quot;&gt;?"
    assert for_mathtext("$\\foo$\x07") == "\\$\\foo\\$?"


@pytest.mark.fast("*script*")
@pytest.mark.parametrize("words", [r"$\foo$", r"$\mathdefault{\foo}$", r"\$\foo$$", HOSTILE, "$" * 50, "a\nb"])
def test_no_words_in_a_picture_are_a_formula(words, tmp_path):
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 2], [1e-5, 1e5], label=words)
    axes.set_yscale("log")
    axes.set_xticks([1, 2], [words, "Γ"])
    axes.set_title(words)
    axes.set_xlabel(words)
    axes.annotate(words, (1, 1))
    axes.legend(title=words)
    figure.suptitle(words)
    for suffix in ("png", "svg", "pdf"):
        save_figure(figure, tmp_path / f"picture.{suffix}")  # a second time words stay as they are
    assert (tmp_path / "picture.svg").stat().st_size > 1000


def test_powers_of_ten_along_an_axis_stay_powers():
    """matplotlib writes them as formulas, and would write dollars if they were none."""
    figure = Figure()
    axes = figure.subplots()
    axes.semilogy([1, 2], [1e-5, 1e5])
    make_plain(figure)
    figure.savefig(BytesIO(), format="svg")
    labels = axes.yaxis.get_majorticklabels()
    assert any("mathdefault" in label.get_text() for label in labels)
    assert all(label.get_parse_math() for label in labels)
