"""Runs beside each other: what is compared with what, in words, as JSON and as a picture."""

import json

import pytest

from eigenwerk.cli.main import main
from eigenwerk.perf.run_trace import load_run
from eigenwerk.perf.schemes.comparison import compared
from eigenwerk.perf.schemes.plot import schemes_figure
from eigenwerk.perf.schemes.products import product_use
from figure_faults import faults_of


@pytest.fixture
def runs(nucleus):
    """Folders of runs by several schemes, products of 0.5 s times a factor."""
    return [
        nucleus("plain", 4.0, scheme="plain"), nucleus("mpi", 2.0, scheme="mpi"), nucleus("three", 1.0),
        nucleus("two_blocks", 1.5, scheme="nccl:4:2"), nucleus("eight_blocks", 1.2, scheme="nccl:4:8"),
        nucleus("other", 8.0, scheme="plain", states=1100),
    ]  # fmt: skip


def test_speed_up_and_slowdown_are_of_runs_of_one_case(runs):
    plain, mpi, three, two, eight, other = compared([product_use(load_run(run)) for run in runs])
    assert (plain.over_plain, mpi.over_plain, three.over_plain) == (1, 2, 4)
    assert (plain.over_mpi, three.over_mpi, two.over_mpi) == (0.5, 2, pytest.approx(4 / 3))
    assert two.slower == pytest.approx(0.25) and eight.slower == 0 and three.slower is None
    assert other.over_plain == 1 and other.over_mpi is None
    assert all(row.efficiency is None for row in (plain, mpi, three, other))


def test_efficiency_is_over_the_fewest_ranks(nucleus):
    use, fewer = product_use(load_run(nucleus("three"))), product_use(load_run(nucleus("one", 2.4)))
    object.__setattr__(fewer, "run", type(fewer.run)(fewer.run.path, 1, 1, fewer.run.about, fewer.run.ranks[:1]))
    found = compared([use, fewer])
    assert found[0].efficiency == pytest.approx(2.4 / 3) and found[1].efficiency is None


def test_in_words(runs, capsys):
    assert main(["perf", "schemes", *map(str, runs), "--no-plot"]) == 0
    out = capsys.readouterr().out
    assert out.count("The four steps of 10 products") == 6 and "the device's clock" in out
    lines = out[out.index("All runs") :].splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["plain", "mpi", "nccl:3", "nccl:4:2", "nccl:4:8", "plain"]
    assert lines[4].split() == "nccl:3 3 triangle 500.000 8.000 8.3 % 4.00x 2.00x".split()
    assert "25.0 %" in lines[5]


@pytest.mark.slow
def test_as_json_and_as_a_picture(runs, tmp_path, capsys):
    assert main(["perf", "schemes", *map(str, runs), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "eigenwerk-perf-schemes" and len(document["runs"]) == 6
    third = document["runs"][2]
    assert third["speed_up_over_plain"] == 4 and third["moved_bytes"] == 96000
    assert third["steps"][1]["hidden_share"] == pytest.approx(0.9)
    assert main(["perf", "schemes", *map(str, runs), "--plot", str(tmp_path / "all.svg")]) == 0
    assert "nccl:4:2, 3 ranks" in (tmp_path / "all.svg").read_text() or (tmp_path / "all.svg").stat().st_size > 10000


@pytest.mark.slow
@pytest.mark.fast("1e-07")
@pytest.mark.parametrize("scale", [1e-7, 1e4])
def test_words_of_the_picture_stand_apart(nucleus, scale):
    names = ["plain", "mpi", "nccl:3", "nccl:4:2", "nccl:4:8"]
    runs = [nucleus(f"run {name}", scale * (1 + 0.1 * i), scheme=name) for i, name in enumerate(names)]
    for shown in (runs, runs[:1]):
        assert faults_of(schemes_figure(compared([product_use(load_run(run)) for run in shown]))) == []


def test_a_run_of_electrons_is_refused(written, entries, capsys):
    assert main(["perf", "schemes", str(written([entries.rank(0)]))]) == 2
    assert "no products of nuclei in this record" in capsys.readouterr().err
