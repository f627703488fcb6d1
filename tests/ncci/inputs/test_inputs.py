"""A case file is read whole or refused with the key, the value and the remedy."""

import pytest

from eigenwerk.errors import InputError
from eigenwerk.ncci.inputs.input_settings import SETTINGS
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.inputs.nucleus import Nucleus, nucleus_named

GOOD = 'nucleus = "6Li"\ninteraction = "JISP16"\nhw = 20\nNmax = 2\n'


def read(tmp_path, text):
    path = tmp_path / "case.toml"
    path.write_text(text, encoding="utf-8")
    return read_cases(path)


def message(tmp_path, text):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    return str(caught.value)


def test_a_short_file_gets_sensible_defaults(tmp_path):
    (case,) = read(tmp_path, GOOD)
    assert case.nucleus == Nucleus(3, 3) and case.hw == 20 and case.max_excitation == 2 and case.twice_m == 0
    assert case.srg_lambda is None
    assert case.coulomb and case.lawson == 50 and case.solver.method == "lanczos" and case.parity is None


def test_an_evolved_interaction_shows_in_the_title(tmp_path):
    (case,) = read(tmp_path, GOOD.replace("JISP16", "NNLOopt") + "srg_lambda = 1.8\n")
    assert case.srg_lambda == 1.8 and "NNLOopt SRG 1.8 fm^-1" in case.title


def test_lists_make_a_series_with_growing_nmax(tmp_path):
    cases = read(tmp_path, GOOD.replace("20", "[15, 12.5]").replace("Nmax = 2", "Nmax = [4, 0, 2]"))
    assert [(case.hw, case.max_excitation) for case in cases] == [(h, n) for h in (12.5, 15.0) for n in (0, 2, 4)]


@pytest.mark.parametrize(("text", "twice"), [("1", 2), ('"3"', 6), ("0", 0), ("-1", -2)])
def test_m_of_an_even_nucleus(tmp_path, text, twice):
    assert read(tmp_path, f"{GOOD}M = {text}\n")[0].twice_m == twice


@pytest.mark.parametrize(("text", "twice"), [("0.5", 1), ('"3/2"', 3), ('"-1/2"', -1)])
def test_m_of_an_odd_nucleus(tmp_path, text, twice):
    assert read(tmp_path, GOOD.replace("6Li", "7Li") + f"M = {text}\n")[0].twice_m == twice


def test_a_table_of_the_solver(tmp_path):
    (case,) = read(tmp_path, GOOD + '[solver]\nmethod = "LOBPCG"\nblock = 8\nstart = "small.h5"\n')
    assert case.solver.method == "lobpcg" and case.solver.block == 8
    assert case.solver.start == tmp_path / "small.h5"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD + "M = 0.5", ["M = 1/2", "6Li has 6 nucleons", "integer", 'M = "0"']),
        (GOOD + "M = 0.3", ["M = 0.3", "multiple of one half"]),
        (GOOD.replace("6Li", "7Li") + "M = 0", ["M = 0", "half-integer", 'M = "1/2"']),
        (GOOD.replace("6Li", "7Li") + "M = -1", ["M = -1", 'M = "-1/2"']),
        (GOOD.replace("6Li", "6Xx"), ["nucleus = '6Xx' names no nucleus", "Write it as 6Li"]),
        (GOOD.replace("6Li", "6li"), ["nucleus = '6li' names no nucleus", "Write 6Li."]),
        (GOOD.replace("6Li", "t"), ["nucleus = 't' names no nucleus", "Write 3H."]),
        (GOOD.replace("6Li", "2Li"), ["nucleus = '2Li'", "2 nucleons but 3 protons", "3Li"]),
        (GOOD.replace("6Li", "1H"), ["nucleus = '1H'", "at least two nucleons"]),
        (GOOD.replace('nucleus = "6Li"', "Z = 1\nN = 0"), ["Z = 1, N = 0", "at least two nucleons"]),
        (GOOD.replace('nucleus = "6Li"', ""), ["which nucleus"]),
        (GOOD + "Z = 3", ["both nucleus and Z"]),
        (GOOD.replace('interaction = "JISP16"', ""), ["names no interaction", "JISP16"]),
        (GOOD.replace("hw = 20", "hw = 0"), ["hw = 0", "larger than 0"]),
        (GOOD.replace("hw = 20", "hw = -5"), ["hw = -5", "larger than 0"]),
        (GOOD.replace("hw = 20", "hw = \u22125"), ["line 3", "U+2212", "'-'"]),
        (GOOD.replace("hw = 20", 'hw = "20"'), ["hw = '20'", "a number"]),
        (GOOD.replace("Nmax = 2", "Nmax = 2.5"), ["Nmax = 2.5", "whole number"]),
        (GOOD.replace("Nmax = 2", "Nmax = []"), ["Nmax", "list"]),
        (GOOD + 'parity = "odd"', ["parity = 'odd'", '"unnatural"']),
        (GOOD + "states = 0", ["states = 0", "1 or larger"]),
        (GOOD + "coulomb = 1", ["coulomb = 1", "true or false"]),
        (GOOD + 'observables = ["radius"]', ["observables", "radii"]),
        (GOOD + "core = [8]", ["core", "two whole numbers"]),
        (GOOD + "nmax = 4", ["no key nmax", "Did you mean Nmax?"]),
        (GOOD + "block = 4", ["block stands in the wrong place", "[solver]"]),
        (GOOD + "[solver]\nstates = 4", ["states stands in the wrong place", "above the first line"]),
        (GOOD + '[solver]\nmethod = "magic"', ["[solver] method = 'magic'", "lanczos, lobpcg"]),
        (GOOD + '[solver]\ndevice = "tpu"', ["[solver] device = 'tpu'", "cuda"]),
        (GOOD + "srg_lambda = 0.5", ["srg_lambda = 0.5", "1 or larger"]),
        (GOOD + "srg_lambda = true", ["srg_lambda = true", "a number"]),
        (GOOD + "solver = 3", ["solver is a table"]),
        ("nucleus = 6Li", ["no TOML", "quotation marks"]),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, words):
    said = message(tmp_path, text)
    assert "case.toml" in said
    for word in words:
        assert word in said


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no case file .*absent\.toml"):
        read_cases(tmp_path / "absent.toml")


def test_every_setting_has_words_and_its_own_key():
    assert len({setting.key for setting in SETTINGS}) == len(SETTINGS)
    assert all(setting.help and setting.kind for setting in SETTINGS)


@pytest.mark.parametrize(("name", "pair"), [("Li6", (3, 3)), ("12-C", (6, 6)), ("3H", (1, 2)), ("4n", (0, 4))])
def test_names_of_nuclei(name, pair):
    nucleus = nucleus_named(name)
    assert (nucleus.protons, nucleus.neutrons) == pair and nucleus_named(nucleus.name) == nucleus
