"""Fields in VASP's layout: what is written comes back, to us and to others; what is no such file is refused."""

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.run_stamp import RunStamp, stamp_of
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.output import volumetric
from eigenwerk.io.vasp.output.volumetric import bytes_of, write_fields, write_volumetric
from eigenwerk.io.vasp.volumetric import GridBlock, Volumetric, read_head, read_volumetric

SIZE_C = (4, 6, 3)
CELL = Poscar(
    "quartz?", np.array([[3.0, 0.1, 0.0], [0.0, 4.0, 0.2], [0.0, 0.0, 5.0]]), ("Si", "O", "O"),
    np.array([[0.0, 0.0, 0.0], [0.25, 0.5, 0.1], [-0.3, 0.7, 0.9]]),
)  # fmt: skip


def made(blocks=1, occupancies=True):
    random = np.random.default_rng(3)
    return Volumetric(
        tuple(
            GridBlock(
                random.standard_normal(SIZE_C) * 10.0 ** random.integers(-12, 5, SIZE_C),
                tuple(random.standard_normal(count) for count in (33, 15, 15)) if occupancies else (),
                np.array([0.5, -1.0, 0.25]) if blocks == 2 and number == 0 else None,
            )
            for number in range(blocks)
        ),
        {"Si": "ee77bee4", "O": "0a1b2c3d"} if occupancies else {},
    )  # fmt: skip


@pytest.mark.parametrize("occupancies", [True, False])
@pytest.mark.parametrize("blocks", [1, 2])
def test_what_is_written_is_read_to_the_printed_digits(tmp_path, blocks, occupancies):
    field, path = made(blocks, occupancies), tmp_path / "CHGCAR"
    write_fields(path, CELL, field, str(RunStamp("0123456789abcdef", 7)))
    head, found = read_volumetric(path)
    assert head.size_c == SIZE_C and found.data_sets == field.data_sets == read_head(path).data_sets
    assert head.poscar.symbols == CELL.symbols and stamp_of(path) == RunStamp("0123456789abcdef", 7)
    np.testing.assert_allclose(head.poscar.lattice_cv, CELL.lattice_cv, atol=1e-15)
    for here, there in zip(field.blocks, found.blocks, strict=True):
        np.testing.assert_allclose(there.value_R, here.value_R, rtol=5.1e-11)
        assert len(here.occupancies) == len(there.occupancies)
        for one, other in zip(here.occupancies, there.occupancies, strict=True):
            np.testing.assert_allclose(other, one, rtol=5.1e-11)
        assert (here.moment_a is None) == (there.moment_a is None)
        if here.moment_a is not None:
            np.testing.assert_allclose(there.moment_a, here.moment_a, rtol=1e-10)


@pytest.mark.parametrize("digits", ["long", "short"])
def test_numbers_have_fortrans_form(tmp_path, digits):
    values = [0.0, -0.0, 1.0, -10.0, 0.1, 0.99999999999999, 9.5e-5, 1e-99, 1e-97, -1.2345678901e90, 1e15, 3.0]
    field = Volumetric((GridBlock(np.array(values).reshape(3, 2, 2, order="F")),), {})
    write_fields(tmp_path / "X", CELL, field, short=digits == "short")
    words = [line.split() for line in (tmp_path / "X").read_text().splitlines()[13:]]
    assert [len(line) for line in words] == ([10, 2] if digits == "short" else [5, 5, 2])
    text = [word for line in words for word in line]
    zeros = "0" * (4 if digits == "short" else 10)
    assert text[:6] == [f"0.0{zeros}E+00"] * 2 + [f"0.1{zeros}E+01", f"-.1{zeros}E+02", f"0.1{zeros}E+00",
                                                  f"0.1{zeros}E+01"]  # fmt: skip
    relative = 5.1e-5 if digits == "short" else 5.1e-11
    np.testing.assert_allclose([float(word) for word in text], np.array(values), rtol=relative, atol=1e-98)
    values_text = "".join((tmp_path / "X").read_text().splitlines(keepends=True)[13:])
    assert abs(len(values_text) - bytes_of(12, digits == "short")) <= 1


@pytest.mark.parametrize(("digits", "per_line"), [(11, 5), (5, 10)])
def test_lines_are_those_of_number_by_number(digits, per_line):
    rng = np.random.default_rng(3)
    powers = 10.0 ** np.arange(-97, 99)
    value_x = np.concatenate([
        rng.lognormal(size=401) * rng.choice([-1, 1], 401), [0.0, -0.0, 1e-99, -1e-99, 1.0, -100.0], powers,
        np.nextafter(powers, 0), np.nextafter(powers, 1e300), 10.0 ** rng.uniform(-105, 98, 300),
    ])  # fmt: skip
    words = [plainly(value, digits) for value in value_x.tolist()]
    expected = "".join("".join(words[i : i + per_line]) + "\n" for i in range(0, len(words), per_line))
    assert b"".join(volumetric._lines(value_x, digits, per_line)).decode() == expected


def plainly(value, digits):
    """Fortran's form of one number, of which an exponent has two digits."""
    if abs(value) < 1e-98:
        return f" 0.{'0' * digits}E+00"
    mantissa, power = f"{abs(value):.{digits - 1}E}".split("E")
    return f" {'-' if value < 0 else '0'}.{mantissa.replace('.', '')}E{int(power) + 1:+03d}"


@pytest.mark.parametrize("blocks", [1, 2])
def test_pymatgen_reads_values_and_occupancies(tmp_path, blocks):
    outputs = pytest.importorskip("pymatgen.io.vasp.outputs", reason="pymatgen is not installed")
    field = made(blocks)
    write_fields(tmp_path / "CHGCAR", CELL, field, "eigenwerk run 0123456789abcdef, save 1")
    charge = outputs.Chgcar.from_file(str(tmp_path / "CHGCAR"))
    assert charge.is_spin_polarized is (blocks == 2)
    for name, block in zip(("total", "diff"), field.blocks, strict=False):
        np.testing.assert_allclose(charge.data[name], block.value_R, rtol=5.1e-11)
        for atom, numbers in enumerate(block.occupancies, 1):
            np.testing.assert_allclose(charge.data_aug[name][atom], numbers, rtol=5.1e-11)


@pytest.mark.parametrize("blocks", [1, 2])
def test_ase_reads_values(tmp_path, blocks):
    vasp = pytest.importorskip("ase.calculators.vasp", reason="ASE is not installed")
    field = made(blocks)
    write_fields(tmp_path / "CHGCAR", CELL, field)
    read = vasp.VaspChargeDensity(str(tmp_path / "CHGCAR"))
    found = [read.chg[0], *read.chgdiff]
    assert len(found) == blocks and read.atoms[0].get_chemical_symbols() == list(CELL.symbols)
    for values, block in zip(found, field.blocks, strict=True):
        np.testing.assert_allclose(values * CELL.volume, block.value_R, rtol=1e-10)


def test_a_record_writes_its_fields(tmp_path, make_record):
    field = Volumetric((GridBlock(np.ones((2, 2, 2))),), {})
    write_volumetric(tmp_path / "LOCPOT", make_record(fields={"LOCPOT": field}), "LOCPOT")
    assert read_head(tmp_path / "LOCPOT").poscar.symbols == ("Mg", "Mg", "O")


DAMAGES = {
    "cut": (lambda text: text[: len(text) // 2], "follow"),
    "no grid": (lambda text: text.replace("    4    6    3\n", "    4    6\n"), "three numbers of grid points"),
    "large grid": (lambda text: text.replace("    4    6    3\n", " 4000 6000 3000\n"), "72000000000 values"),
    "other grid": (lambda text: text[::-1].replace("3    6    4", "3    7    4", 1)[::-1], "second grid of"),
    "word": (lambda text: text.replace("E+01", "E+0x", 1), "no number"),
    "infinite": (lambda text: text.replace("E+01", "E+999", 1), "not finite"),
    "order": (lambda text: text.replace("occupancies   2", "occupancies   3", 1), "occupancies of atom 3 in place"),
    "count": (lambda text: text.replace("2  15", "2  16", 1), "16 occupancies are announced"),
    "atoms": (lambda text: text.replace("Si     O", "Si    Xx", 1), "Xx"),
    "empty": (lambda text: "", "empty line"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_are_refused_with_the_place(tmp_path, name):
    change, words = DAMAGES[name]
    write_fields(tmp_path / "CHGCAR", CELL, made(2))
    text = (tmp_path / "CHGCAR").read_text()
    assert change(text) != text
    (tmp_path / "CHGCAR").write_text(change(text))
    with pytest.raises(InputError, match=words) as caught:
        read_volumetric(tmp_path / "CHGCAR")
    assert str(caught.value).startswith("CHGCAR")
