"""Read PAW data sets in the PAW-XML format (`paw_setup` 0.6 and `paw_dataset` 0.7).

Source: the PAW-XML specification, https://esl.cecam.org/en/data/paw-xml ; `docs/formats/paw_xml.md` has
what we checked on real files.  Every number is the float of the text, unscaled: the file has the units of `PawDataset`.
"""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from eigenwerk.io.paw.dataset import (
    AtomEnergy,
    CompensationShape,
    PawDataset,
    PawHeader,
    PawState,
    split_dataset_name,
    stem,
)
from eigenwerk.io.paw.radial_grid import GRID_FORMULAS, Array, RadialGrid, regrid
from eigenwerk.io.paw.xml_source import XmlSource, label

LARGEST_Z, LARGEST_L, RADII, FEWEST_POINTS = 130, 6, (0.01, 20.0), 10
"""What a data set may say: charge and electrons, angular momentum, radii in bohr, points of a radial grid."""

_REMEDY = "Reinstall the data set (pip install --force-reinstall gpaw-data) or give another file."


def read_paw_xml(path: str | Path) -> PawDataset:
    """Read a whole data set (about 10 ms), gzipped or not.

    Raises InputError naming file, element and remedy if the file is missing, damaged or incomplete.
    """
    source = _Source(Path(path))
    header = source.header()
    grids = source.grids()
    # The longest grid carries everything; functions on other grids are brought to it.
    main = max(grids.values(), key=lambda grid: grid.r_g.size)

    def density(tag: str) -> Array | None:
        return source.function(tag, grids, main)

    def waves(tag: str) -> Array:
        return source.functions_by_state(tag, header.states, grids, main)

    core_density = [density(tag) for tag in ("ae_core_density", "pseudo_core_density")]
    if header.core == 0:
        core_density = [np.zeros_like(main.r_g) if n_g is None else n_g for n_g in core_density]
    dataset = PawDataset(
        **vars(header),
        grid=main,
        ae_core_density_g=source.required(core_density[0], "ae_core_density"),
        pseudo_core_density_g=source.required(core_density[1], "pseudo_core_density"),
        pseudo_valence_density_g=density("pseudo_valence_density"),
        zero_potential_g=source.required(density("zero_potential"), "zero_potential"),
        ae_core_kinetic_energy_density_g=density("ae_core_kinetic_energy_density"),
        pseudo_core_kinetic_energy_density_g=density("pseudo_core_kinetic_energy_density"),
        ae_partial_wave_jg=waves("ae_partial_wave"),
        pseudo_partial_wave_jg=waves("pseudo_partial_wave"),
        projector_jg=waves("projector_function"),
        kinetic_energy_difference_jj=source.kinetic_energy_differences(len(header.states)),
        exact_exchange_jj=source.exact_exchange(header.states),
        core_core_exchange=source.core_core_exchange(),
    )
    for array in [*vars(dataset).values(), main.r_g, main.dr_g]:
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return dataset


def read_paw_header(path: str | Path) -> PawHeader:
    """Read all but the radial functions (about 5 ms, most of it to unzip); errors as `read_paw_xml`."""
    return _Source(Path(path)).header()


class _Source(XmlSource):
    """The elements of a PAW-XML file, one method each."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "PAW data set", _REMEDY)
        atom = self.root.find("atom")
        self.about = f" (element {'unknown' if atom is None else atom.get('symbol', 'unknown').strip()})"
        if self.root.tag not in ("paw_setup", "paw_dataset"):
            raise self.wrong(f"its root element is <{self.root.tag}>, not <paw_setup> or <paw_dataset>")

    def required(self, value_g: Array | None, tag: str) -> Array:
        if value_g is not None:
            return value_g
        if tag == "zero_potential" and self.root.find("kresse_joubert_local_ionic_pseudopotential") is not None:
            raise self.wrong(
                "it has a Kresse-Joubert local potential instead of the element <zero_potential>, which we need"
            )
        raise self.wrong(f"the element <{tag}> is missing")

    def header(self) -> PawHeader:
        atom, xc = self.element("atom"), self.element("xc_functional")
        generator, energy = self.root.find("generator"), self.element("ae_energy")
        kinds = ("kinetic", "xc", "electrostatic", "total")
        names = split_dataset_name(self.path.name)
        return PawHeader(
            symbol=self.attribute(atom, "symbol"),
            Z=self.number_within(atom, "Z", 0.1, LARGEST_Z),
            core=self.number_within(atom, "core", 0.0, LARGEST_Z),
            valence=self.number_within(atom, "valence", 0.0, LARGEST_Z),
            xc_type=self.attribute(xc, "type"),
            xc_name=self.attribute(xc, "name"),
            relativity="" if generator is None else generator.get("type", ""),
            generator="" if generator is None else generator.get("name", ""),
            dialect=f"{self.root.tag} {self.root.get('version', '')}".strip(),
            name=stem(self.path.name),
            variant="" if names is None else names[1],
            file=str(self.path),
            md5=self.md5,
            sha256=self.sha256,
            states=self.states(),
            shape=self.shape(),
            ae_energy=AtomEnergy(*(self.number(energy, kind) for kind in kinds)),
            core_kinetic_energy=self.number(self.element("core_energy"), "kinetic"),
            pw_ecut=self.pw_ecut(),
            has_exact_exchange=all(
                self.root.find(name) is not None for name in ("exact_exchange_X_matrix", "exact_exchange")
            ),
        )

    def pw_ecut(self) -> tuple[float, ...] | None:
        element = self.root.find("pw_ecut")
        return None if element is None else tuple(self.number(element, key) for key in ("low", "medium", "high"))

    def shape(self) -> CompensationShape:
        element = self.element("shape_function")
        kind = self.attribute(element, "type")
        if kind not in ("gauss", "sinc", "exp", "bessel"):
            raise self.wrong(f'<shape_function type="{kind}"> is not one of gauss, sinc, exp, bessel')
        radius = self.number_within(element, "rc", *RADII)
        exponent = next((key for key in ("lamb", "lambda") if key in element.attrib), None)
        return CompensationShape(kind, radius, None if exponent is None else self.number(element, exponent))

    def states(self) -> tuple[PawState, ...]:
        states = tuple(self.state(element) for element in self.element("valence_states").findall("state"))
        if not states:
            raise self.wrong("<valence_states> holds no <state>")
        if len({state.id for state in states}) < len(states):
            raise self.wrong("two <state> elements have the same id")
        return states

    def state(self, element: ET.Element) -> PawState:
        self.number_within(element, "l", 0, LARGEST_L)
        return PawState(
            n=self.integer(element, "n") if "n" in element.attrib else None,
            l=self.integer(element, "l"),
            f=self.number_within(element, "f", 0.0, LARGEST_Z) if "f" in element.attrib else 0.0,
            rc=self.number_within(element, "rc", *RADII) if "rc" in element.attrib else None,
            e=self.number(element, "e") if "e" in element.attrib else None,
            id=self.attribute(element, "id"),
        )

    def grids(self) -> dict[str, RadialGrid]:
        grids = {self.attribute(g, "id"): self.grid(g) for g in self.root.findall("radial_grid")}
        if not grids:
            raise self.wrong("the element <radial_grid> is missing")
        return grids

    def grid(self, element: ET.Element) -> RadialGrid:
        eq = re.sub(r"\s", "", self.attribute(element, "eq"))
        start, end = self.integer(element, "istart"), self.integer(element, "iend")
        if not (start >= 0 and start + FEWEST_POINTS <= end < 10**6):
            raise self.wrong(f"<radial_grid> runs from {start} to {end}")
        if eq in GRID_FORMULAS:
            keys, formula = GRID_FORMULAS[eq]
            with np.errstate(all="ignore"):
                r_g, dr_g = formula(np.arange(start, end + 1.0), *(self.number(element, key) for key in keys))
        elif (values := element.find("values")) is not None and (slopes := element.find("derivatives")) is not None:
            r_g, dr_g = (self.numbers(e, end + 1 - start) for e in (values, slopes))
        else:
            raise self.wrong(f'the grid formula eq="{eq}" is none of {", ".join(GRID_FORMULAS)}')
        # a^5/a - a^4 of the last formula is zero only up to rounding.
        r_g[:1] = np.where(np.abs(r_g[:1]) < 1e-15, 0.0, r_g[:1])
        if not (np.isfinite(r_g).all() and r_g[0] >= 0 and (np.diff(r_g) > 0).all() and (dr_g > 0).all()):
            raise self.wrong(f"the points of the radial grid {eq} do not increase from 0")
        return RadialGrid(r_g, dr_g, eq)

    def function(self, tag: str, grids: dict[str, RadialGrid], main: RadialGrid) -> Array | None:
        element = self.root.find(tag)
        return None if element is None else self.on_grid(element, grids, main)

    def functions_by_state(
        self, tag: str, states: tuple[PawState, ...], grids: dict[str, RadialGrid], main: RadialGrid
    ) -> Array:
        elements = {self.attribute(element, "state"): element for element in self.root.findall(tag)}
        for state in states:
            if state.id not in elements:
                raise self.wrong(f'<{tag} state="{state.id}"> is missing ({len(elements)} of {len(states)} are there)')
        return np.stack([self.on_grid(elements[state.id], grids, main) for state in states])

    def on_grid(self, element: ET.Element, grids: dict[str, RadialGrid], main: RadialGrid) -> Array:
        """Values of a function element on the main grid; zero beyond the end of its own grid."""
        name = self.attribute(element, "grid")
        if name not in grids:
            raise self.wrong(f'{label(element)} is on grid "{name}", but the file defines {", ".join(grids)}')
        own = grids[name]
        value_g = self.numbers(element, own.r_g.size)
        return value_g if own is main else regrid(value_g, own.r_g, main.r_g)

    def kinetic_energy_differences(self, n_states: int) -> Array:
        matrix_jj = self.numbers(self.element("kinetic_energy_differences"), n_states**2).reshape(n_states, -1)
        asymmetry = np.abs(matrix_jj - matrix_jj.T).max()
        if asymmetry > 1e-6 * max(1.0, np.abs(matrix_jj).max()):
            raise self.wrong(f"<kinetic_energy_differences> is not symmetric ({asymmetry:.1e} hartree)")
        return matrix_jj

    def exact_exchange(self, states: tuple[PawState, ...]) -> Array | None:
        """X_jj from either form in use: j x j numbers, or the upper triangle over all (j, m)."""
        element = self.root.find("exact_exchange_X_matrix")
        if element is None:
            return None
        value_x = self.numbers(element, None)
        size_j = [2 * state.l + 1 for state in states]
        n_states, n_i = len(states), sum(size_j)
        if value_x.size == n_states**2:
            return value_x.reshape(n_states, n_states)
        if value_x.size != n_i * (n_i + 1) // 2:
            raise self.wrong(
                f"<exact_exchange_X_matrix> holds {value_x.size} numbers; {n_states} states need {n_states**2} "
                f"or {n_i * (n_i + 1) // 2}"
            )
        matrix_ii = np.zeros((n_i, n_i))
        matrix_ii[np.triu_indices(n_i)] = value_x
        # The core is spherical: the matrix is diagonal in (l, m), the same for all m; take the first m.
        first_j = np.cumsum([0, *size_j[:-1]])
        same_l_jj = np.equal.outer(size_j, size_j)
        upper_jj = np.where(same_l_jj, matrix_ii[np.ix_(first_j, first_j)], 0.0)
        return upper_jj + np.triu(upper_jj, 1).T

    def core_core_exchange(self) -> float | None:
        element = self.root.find("exact_exchange")
        if element is None:
            return None
        return self.number(element, "core-core" if "core-core" in element.attrib else "core")
