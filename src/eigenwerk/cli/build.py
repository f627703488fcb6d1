"""`eigenwerk build`: supercells, vacancies, substitutions and slabs from any POSCAR.

Prints the new POSCAR, or writes it; computes nothing else.  Exit codes: 0 done, 2 bad input.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from eigenwerk.cli.saying import hand_over, say
from eigenwerk.dft.building.build import BuildRequest, built
from eigenwerk.dft.building.slab import SlabCut
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import ensure_writable
from eigenwerk.io.vasp.elements import formula
from eigenwerk.io.vasp.input.poscar import Poscar, format_poscar, read_poscar, write_poscar

LAYERS, VACUUM = 5, 15.0

Source = Annotated[Path, typer.Argument(metavar="POSCAR", help="A POSCAR file, or a folder with one.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="A file, or a folder that exists; by default it is printed."),
]
Force = Annotated[bool, typer.Option("--force", help="Write over an existing file.")]
Supercell = Annotated[
    tuple[int, int, int] | None, typer.Option(metavar="A B C", help="Repeat the cell along its three vectors.")
]
Matrix = Annotated[
    tuple[int, int, int, int, int, int, int, int, int] | None,
    typer.Option(metavar="M11 ... M33", help="Supercell by nine integers, row by row: new vectors from the old ones."),
]
Slab = Annotated[tuple[int, int, int] | None, typer.Option(metavar="H K L", help="Cut a slab along this plane.")]
Layers = Annotated[int | None, typer.Option(metavar="N", help=f"Atomic layers of the slab ({LAYERS}).")]
Vacuum = Annotated[float | None, typer.Option(metavar="Å", help=f"Vacuum between slabs ({VACUUM:g}).")]
First = Annotated[int | None, typer.Option(metavar="N", help="Lowest layer of the slab: chooses the termination (1).")]
Replace = Annotated[
    list[str] | None, typer.Option(metavar="ATOMS:NEW", help="17:Bi, As:Bi:2, As:Bi, or @x,y,z:Bi; may be repeated.")
]
Remove = Annotated[
    list[str] | None, typer.Option(metavar="ATOMS", help="17, As:2, As, or @x,y,z (nearest atom); may be repeated.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Of random choices; the same seed gives the same atoms.")]
Title = Annotated[str | None, typer.Option(metavar="TEXT", help="First line of the file; by default what was done.")]


def build(
    source: Source,
    supercell: Supercell = None,
    matrix: Matrix = None,
    slab: Slab = None,
    layers: Layers = None,
    vacuum: Vacuum = None,
    first_layer: First = None,
    replace: Replace = None,
    remove: Remove = None,
    seed: Seed = 0,
    title: Title = None,
    output: Output = None,
    force: Force = False,
) -> None:
    """Make a supercell, vacancies, substitutions or a slab from a POSCAR.

    Done in the order slab, supercell, replacing and removing; atom numbers, from 1, are those after slab and supercell.
    """
    poscar = read_poscar(source / "POSCAR" if source.is_dir() else source)
    cut = _cut(slab, layers, vacuum, first_layer)
    request = BuildRequest(cut, _matrix(supercell, matrix), replace or (), remove or (), seed, title)
    made, done = built(poscar, request)
    if output is None:
        hand_over(format_poscar(made))
        return
    if output.is_dir():
        output /= "POSCAR"
    if output.exists() and not force:
        raise InputError(f"{output} exists. Choose another name, or write over it with --force.")
    ensure_writable(output.parent)
    write_poscar(output, made)
    say(_summary(made, done, output))


def _cut(
    slab: tuple[int, int, int] | None, layers: int | None, vacuum: float | None, first: int | None
) -> SlabCut | None:
    """The slab that is asked for; raises InputError for words about a slab without --slab."""
    if slab is None:
        given = {"--layers": layers, "--vacuum": vacuum, "--first-layer": first}
        alone = [name for name, value in given.items() if value is not None]
        if alone:
            raise InputError(f"{' and '.join(alone)}: of which plane? Add --slab H K L, for example --slab 1 1 1.")
        return None
    return SlabCut(slab, LAYERS if layers is None else layers, VACUUM if vacuum is None else vacuum, first or 1)


def _matrix(supercell: tuple[int, ...] | None, matrix: tuple[int, ...] | None) -> np.ndarray | None:
    if supercell is not None and matrix is not None:
        raise InputError("--supercell and --matrix both say what the new cell is. Give one of them.")
    if supercell is not None:
        if min(supercell) < 1:
            raise InputError(f"--supercell {' '.join(map(str, supercell))}: give three whole numbers above zero.")
        return np.diag(supercell)
    return None if matrix is None else np.array(matrix).reshape(3, 3)


def _summary(poscar: Poscar, done: tuple[str, ...], output: Path) -> str:
    lengths = " x ".join(f"{length:.3f}" for length in np.linalg.norm(poscar.lattice_cv, axis=1))
    return f"{output}: {formula(poscar.symbols)}, {len(poscar.symbols)} atoms, {lengths} Å\n" + "\n".join(
        f"  {words}" for words in done
    )
