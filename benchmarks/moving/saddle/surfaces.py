"""Steps of a nudged elastic band until it is at rest: eigenwerk's two methods and ASE's optimisers on formulas.

    python benchmarks/moving/saddle/surfaces.py

Needs ase.  Springs of 5 eV/Å², five images, straight lines between relaxed end points (the exchange: IDPP).
"""

import warnings

import numpy as np
from ase.build import add_adsorbate, bulk, fcc100
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from ase.constraints import FixAtoms
from ase.mep import NEB
from ase.optimize import BFGS, FIRE, MDMin

from eigenwerk.motion.saddle.band import Band, unwrapped
from eigenwerk.motion.saddle.saddle_settings import BandSettings
from eigenwerk.motion.surface import SurfacePoint

FORCE, IMAGES, SPRING = 0.03, 5, 5.0


def argon_like():
    return LennardJones(epsilon=0.104, sigma=2.3, rc=5.75, smooth=True)


def relaxed(atoms, calculator):
    atoms.calc = calculator()
    BFGS(atoms, logfile=None).run(fmax=0.01)
    return atoms


def hop():
    """Au on Al(100), from hollow to hollow."""
    slab = fcc100("Al", size=(2, 2, 3))
    add_adsorbate(slab, "Au", 1.7, "hollow")
    slab.center(axis=2, vacuum=4.0)
    slab.set_constraint(FixAtoms(mask=[atom.tag > 1 for atom in slab]))
    first = relaxed(slab.copy(), EMT)
    last = first.copy()
    last[-1].x += slab.get_cell()[0, 0] / 2
    return first, relaxed(last, EMT), EMT, "linear"


def vacancy():
    """A vacancy in a Lennard-Jones crystal of 31 atoms."""
    crystal = bulk("Cu", cubic=True, a=3.55) * (2, 2, 2)
    near = int(np.argsort(np.linalg.norm(crystal.positions - crystal.positions[0], axis=1))[1])
    first, last = crystal.copy(), crystal.copy()
    last.positions[near] = crystal.positions[0]
    del first[0], last[0]
    return relaxed(first, argon_like), relaxed(last, argon_like), argon_like, "linear"


def exchange():
    """An adatom on Cu(100) takes the place of an atom of the surface, which goes on."""
    slab = fcc100("Cu", size=(3, 3, 3))
    add_adsorbate(slab, "Cu", 1.7, "hollow")
    slab.center(axis=2, vacuum=5.0)
    slab.set_constraint(FixAtoms(mask=[atom.tag > 2 for atom in slab]))
    first = relaxed(slab.copy(), EMT)
    last, adatom = first.copy(), len(first) - 1
    apart = [np.linalg.norm(last.positions[x, :2] - last.positions[adatom, :2]) for x in range(adatom)]
    near = [x for x in range(adatom) if last[x].tag == 1 and apart[x] < 2]
    pushed = max(near, key=lambda x: last.positions[x, 0] + last.positions[x, 1])
    old = last.positions[pushed].copy()
    shift = old - last.positions[adatom]
    last.positions[pushed] = last.positions[adatom] + 2 * np.array([shift[0], shift[1], 0.0])
    last.positions[adatom] = old
    return first, relaxed(last, EMT), EMT, "idpp"


def images_of(case):
    first, last, calculator, way = case()
    images = [first, *(first.copy() for _ in range(IMAGES)), last]
    for image in images[1:-1]:
        image.calc = calculator()
    NEB(images, k=SPRING, method="improvedtangent").interpolate(way, mic=True)
    return images


def by_ase(images, optimiser):
    """Force calls of each image, and the height of the highest one."""
    band, calls = NEB(images, k=SPRING, climb=True, method="improvedtangent"), [0]
    forces = band.get_forces

    def counted():
        calls[0] += 1
        return forces()

    band.get_forces = counted
    optimiser(band, logfile=None).run(fmax=FORCE, steps=400)
    energies = [image.get_potential_energy() for image in images]
    return calls[0], max(energies) - energies[0]


def by_eigenwerk(images, method):
    first = images[0]
    free = np.ones((len(first), 3), bool)
    for constraint in first.constraints:
        free[constraint.index] = False
    settings = BandSettings(IMAGES, method, 400, SPRING, True, FORCE, pace=1.0 if method == "diis" else 0.2)
    places = unwrapped([image.get_scaled_positions(wrap=False) for image in images])
    band = Band(settings, np.array(first.cell), places, tuple(first.get_chemical_symbols()), free)
    atoms = images[1].copy()
    atoms.calc = images[1].calc
    atoms.set_constraint()
    report = None
    while wanted := band.ask():
        points = {}
        for number, arrangement in wanted.items():
            atoms.positions = arrangement.position_av
            points[number] = SurfacePoint(arrangement, atoms.get_potential_energy(), atoms.get_forces())
        report = band.tell(points)
    return band.steps_done, report.energies.energy_x.max() - report.energies.energy_x[0]


def main():
    warnings.simplefilter("ignore")
    print(f"{'surface':<10}{'method':<12}{'steps':>6}{'barrier (eV)':>14}")
    for case in (hop, vacancy, exchange):
        ways = {method: lambda im, m=method: by_eigenwerk(im, m) for method in ("diis", "quick-min")}
        ways |= {one.__name__: lambda im, one=one: by_ase(im, one) for one in (FIRE, BFGS, MDMin)}
        for name, way in ways.items():
            steps, barrier = way(images_of(case))
            print(f"{case.__name__:<10}{name:<12}{steps:>6}{barrier:>14.4f}", flush=True)


if __name__ == "__main__":
    main()
