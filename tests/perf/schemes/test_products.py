"""What products cost, from a record that can be checked by hand; and of runs that did take place."""

import json
import os

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.trace_file import TRACE_FILE
from eigenwerk.perf.run_trace import load_run
from eigenwerk.perf.schemes.products import STEPS, product_use
from running import EIGENWERK
from warm_start import warm_run


def used(folder):
    use = product_use(load_run(folder))
    return use, {step.name: step for step in use.steps}


def test_seconds_of_solver_products_and_kernels(nucleus):
    use, _ = used(nucleus())
    assert use.solver == 8 and use.seconds == 0.5 and use.products == 10 and use.scheme == "nccl:3"
    assert use.kernel_p.tolist() == [2, 3, 4] and use.imbalance == pytest.approx(1 / 3) and use.on_device
    held = [0.6, 0.2 + 0.1 + 0.3 + 0.4, 0.4]
    assert use.held == pytest.approx(np.mean(held)) and use.share == pytest.approx(np.mean(held) / 8)


def test_bytes_that_reach_another_rank(nucleus):
    """Column of two: each part to one other; reduce-scatter moves half of what is given; so do row groups of two."""
    use, steps = used(nucleus())
    assert [step.moved for step in use.steps] == [24000, 24000, 24000, 24000] and use.moved == 96000
    assert steps["broadcast"].message == 2400 and steps["all-gather"].call_p.tolist() == [10, 10, 0]
    assert use.typical_message == 4 * 1200 / 2
    assert use.flops == 10 * (4 * 50000 - 2 * 1200) and use.flops_per_byte == use.flops / 96000


def test_what_is_hidden_is_what_did_not_hold_up_the_work(nucleus):
    _, steps = used(nucleus())
    assert steps["broadcast"].hidden == pytest.approx(0.9) and steps["reduce"].hidden == pytest.approx(0.7)
    assert steps["all-gather"].hidden == 0


def test_on_processors_nothing_is_said_of_what_is_hidden(nucleus):
    use, steps = used(nucleus(device=False))
    assert not use.on_device and all(step.hidden is None for step in use.steps)
    assert np.isnan(steps["broadcast"].transfer_p[1]) and steps["broadcast"].held_p.tolist() == [0, 0.1, 0.1]


def test_transfers_of_a_host_that_waits_while_a_gpu_works_are_known_by_its_clock(nucleus):
    folder = nucleus()
    document = json.loads((folder / TRACE_FILE).read_text())
    for rank in document["ranks"]:
        for step in rank["phases"][0]["children"][0]["children"][0]["children"]:
            for inner in step["children"]:
                inner["device_seconds"] = None
    (folder / TRACE_FILE).write_text(json.dumps(document))
    assert used(folder)[1]["broadcast"].hidden == pytest.approx(0.9)


@pytest.mark.parametrize("cases", [None, [], [{"title": "6Li"}], "many"])
def test_records_without_products_of_nuclei(nucleus, cases):
    folder = nucleus()
    document = json.loads((folder / TRACE_FILE).read_text())
    (folder / TRACE_FILE).write_text(json.dumps(document | {"cases": cases}))
    with pytest.raises(InputError, match="no products of nuclei in this record"):
        used(folder)


def test_groups_on_which_ranks_do_not_agree_are_no_groups(nucleus):
    folder = nucleus()
    document = json.loads((folder / TRACE_FILE).read_text())
    document["ranks"][0]["groups"]["column"] = [0]
    (folder / TRACE_FILE).write_text(json.dumps(document))
    run = load_run(folder)
    assert run.groups_of("column") == [(0,)] and run.groups_of("row") == [(1, 2)]
    assert run.groups_of("world") == [(0, 1, 2)] and run.groups_of("nobody") == []


CASE = 'nucleus = "4He"\ninteraction = "JISP16"\nhw = 20\nNmax = 4\nstates = 2\n'


@pytest.mark.ranks
@pytest.mark.slow
@pytest.mark.parametrize("layout", ("triangle", "dealt"))
def test_of_three_ranks_that_did_work_the_four_steps_and_their_bytes_are_known(tmp_path, layout):
    (tmp_path / "case.toml").write_text(CASE + f'[solver]\nbackend = "csb"\nlayout = "{layout}"\n')
    words = ["ncci", "run", str(tmp_path / "case.toml"), "-o", str(tmp_path / "out"), "--ranks", "3", "--quiet"]
    command = [*EIGENWERK[1:], *words, "--scheme", "gloo", "--device", "cpu"]
    assert warm_run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}).returncode == 0
    use, steps = used(tmp_path / "out")
    case = use.cases[0]
    assert (use.scheme, case["layout"], case["states"], use.ranks) == ("gloo", layout, 952, 3)
    travelling = ("all-gather", "reduce-scatter") if layout == "dealt" else tuple(name for name, *_ in STEPS)
    assert {name for name, step in steps.items() if step.moved} == set(travelling)
    # two block rows, or one home: 2 n (n_d - 1) and 2 n (p - 1) numbers, with padding at most a few more
    wanted = 2 * 952 * 8 * use.products * (1 if layout == "triangle" else 2)
    assert wanted * 0.9 <= use.moved <= wanted * 1.1
    assert {int(calls) for name in travelling for calls in steps[name].call_p} <= {0, use.products}
    assert 0 < use.share < 1 and use.product_p.max() < use.solver
