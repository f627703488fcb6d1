"""Jumps are those of determinants compared one by one, in whatever pieces pairs are looked at."""

from dataclasses import fields

import numpy as np
import pytest

from eigenwerk.ncci.basis import jumps as module
from eigenwerk.ncci.basis.jumps import one_jumps, two_jumps
from random_pairs import no_core_basis


@pytest.mark.parametrize("space", [(3, 3, 2, 0), pytest.param((2, 3, 4, 1), marks=pytest.mark.slow)])
def test_jumps_are_all_pairs_that_differ_by_one_or_two(space):
    determinants = no_core_basis(*space).neutrons
    sets = [frozenset(row) for row in determinants.occupied_di.tolist()]
    bucket_d = determinants.twice_m_d * 2 + determinants.parity_d
    apart = {(i, j): len(sets[i] - sets[j]) for i in range(len(sets)) for j in range(len(sets))}
    one = one_jumps(determinants)
    wanted = [pair for pair, count in apart.items() if count == 1]
    assert sorted(zip(one.row_z, one.column_z, strict=True)) == wanted and (np.diff(one.row_z) >= 0).all()
    two = two_jumps(determinants)
    wanted = [(i, j) for (i, j), count in apart.items() if i > j and count == 2 and bucket_d[i] == bucket_d[j]]
    assert sorted(zip(two.row_z, two.column_z, strict=True)) == wanted
    for found in (one, two):
        for row, column, out, into in zip(found.row_z, found.column_z, found.out_zi, found.into_zi, strict=True):
            assert sets[row] - sets[column] == set(out.tolist()) and sets[column] - sets[row] == set(into.tolist())


@pytest.mark.parametrize("piece", [1, 100, 3000])
def test_pieces_do_not_matter(monkeypatch, piece):
    determinants = no_core_basis(3, 3, 4, 0).protons
    whole = one_jumps(determinants), two_jumps(determinants)
    monkeypatch.setitem(module.PIECE, "cpu", piece)
    for found, wanted in zip((one_jumps(determinants), two_jumps(determinants)), whole, strict=True):
        for field in fields(found):
            assert np.array_equal(getattr(found, field.name), getattr(wanted, field.name)), field.name


def test_jumps_are_the_same_without_a_compiler(monkeypatch):
    determinants = no_core_basis(2, 3, 4, 1).neutrons
    compiled = one_jumps(determinants), two_jumps(determinants)
    monkeypatch.setattr(module, "pairs_natively", lambda *given: None)
    for found, wanted in zip((one_jumps(determinants), two_jumps(determinants)), compiled, strict=True):
        for field in fields(found):
            assert np.array_equal(getattr(found, field.name), getattr(wanted, field.name)), field.name
