"""Latency and bandwidth come back from calls made of them; products are the sum of what is not hidden."""

import importlib

import pytest

from eigenwerk.perf.schemes.model import (
    VERBS,
    Link,
    Sample,
    crossing,
    dealt_shape,
    fitted,
    product_seconds,
    triangle_shape,
)

LINK = Link(2e-5, 3e11)


def test_a_fit_finds_the_latency_and_bandwidth_that_samples_were_made_of():
    samples = [
        Sample(verb, ranks, bytes, LINK.seconds(verb, ranks, bytes))
        for verb in VERBS for ranks in (2, 4, 7) for bytes in (1e5, 1e7, 1e9)
    ]  # fmt: skip
    found = fitted(samples)
    assert (found.latency, found.bandwidth) == (pytest.approx(2e-5), pytest.approx(3e11)) and found.error < 1e-9


def test_a_latency_is_never_negative():
    samples = [Sample("reduce", 2, 1e6, 1e-5), Sample("reduce", 2, 1e9, 2e-2)]
    found = fitted(samples)
    assert found.latency == 0 and 5e10 < found.bandwidth < 1e11 and found.error > 0.1


def test_one_sample_is_not_enough():
    with pytest.raises(ValueError, match="1 samples"):
        fitted([Sample("reduce", 2, 1e6, 1e-5)])


def test_calls_of_one_rank_and_what_crosses_a_link():
    assert LINK.seconds("reduce", 1, 1e9) == 0
    assert LINK.seconds("all_gather", 4, 1e9) == pytest.approx(2 * 2e-5 + 0.75e9 / 3e11)
    assert crossing("broadcast", 8) == 1 and crossing("reduce_scatter", 8) == 7 / 8


def test_kernels_hide_broadcast_and_reduce_as_far_as_they_go():
    links = dict.fromkeys(VERBS, Link(0.0, 1e9))
    shape = triangle_shape(5e8, 5, 0.06)  # parts of 0.1 GB, groups of three
    assert (shape.column, shape.row) == (3, 3)
    found = product_seconds(shape, links)
    ends = 2 * (2 / 3) * 0.1
    assert found["broadcast"] == pytest.approx(0.1) and found["kernels"] == pytest.approx(0.12)
    assert found["held"] == pytest.approx(ends + 2 * 0.04) and found["product"] == pytest.approx(0.12 + ends + 0.08)
    assert product_seconds(shape, links, beside=False)["held"] == pytest.approx(ends + 0.2)
    assert product_seconds(shape, links, meeting=0.5)["held"] == pytest.approx(ends + 0.08 + 2)


def test_blocks_dealt_out_have_two_steps():
    found = product_seconds(dealt_shape(1e8, 4, 0.06), dict.fromkeys(VERBS, Link(1e-3, 1e9)), meeting=0.5)
    assert found["broadcast"] == found["reduce"] == 0
    assert found["product"] == pytest.approx(0.06 + 2 * (0.075 + 2e-3) + 2 * 0.5)


def test_the_bytes_of_a_triangle_are_those_that_were_published():
    """Each collective moves n (n_d - 1) / 2 numbers in all: by the model's crossings, too."""
    n_d, states = 7, 700.0
    shape = triangle_shape(states, n_d, 0.0)
    groups, part = n_d, states / n_d
    for verb in VERBS:
        size = shape.column if verb in ("all_gather", "reduce_scatter") else shape.row
        each = crossing(verb, size) * size if verb in ("all_gather", "reduce_scatter") else size - 1
        assert groups * each * part == pytest.approx(states * (n_d - 1) / 2)


def test_the_committed_predictions_are_those_of_the_script(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks" / "ncci"))
    predict = importlib.import_module("predict")
    text = "\n".join([*predict.h200_lines(), *predict.published_lines()])
    assert text in (repository / "benchmarks" / "ncci" / "predicted.md").read_text()
