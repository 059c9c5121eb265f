"""The vector fields of a series: in the snapshots a dataset for each component, for readers of the series one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import h5py

from heatsim.store.hdf5 import ComponentPlace, VirtualVariable, add_virtual, lay_out_vectors

COMPONENT = "component"  # the dimension, with the letters as its values
_LETTERS = ("xyz", "rz")  # of Cartesian and of cylindrical coordinates
_ZERO_OF_MESH = "Zero"  # of the mesh file: what flows around the axis


@dataclass(frozen=True)
class VectorVariable:
    """A vector field: its name, the datasets of its components by letter, and their type and attributes."""

    name: str
    parts: Mapping[str, str]
    variable: VirtualVariable

    def add(self, file: h5py.File, shape: tuple[int, ...], sources: Sequence[str]) -> h5py.Dataset:
        """Add it as (time, z, y, x, component)."""
        whole = tuple(slice(None) for _ in shape)
        parts = [
            ComponentPlace(source, name, shape, (time, *whole), number)
            for time, source in enumerate(sources)
            for number, name in enumerate(self.parts.values())
        ]
        layout = lay_out_vectors(parts, self.variable, (len(sources), *shape, len(self.parts)))
        return add_virtual(file, self.name, self.variable, layout)

    def lay_out_single(self, shape: tuple[int, ...], source: str) -> h5py.VirtualLayout:
        """Lay out (z, y, x, 3) at the only time."""
        whole = tuple(slice(None) for _ in shape)
        parts = [ComponentPlace(source, name, shape, whole, number) for number, name in enumerate(self.parts.values())]
        return lay_out_vectors(parts, self.variable, (*shape, len(parts)))

    def lay_out_queue(self, shape: tuple[int, ...], sources: Sequence[str], mesh: str) -> h5py.VirtualLayout:
        """Lay out (time * cells, 3). In cylindrical coordinates, the half plane x = r, y = 0, nothing is along y."""
        cells, parts = prod(shape), []
        for time, source in enumerate(sources):
            at = (slice(time * cells, (time + 1) * cells),)
            for number, letter in enumerate("xyz" if len(self.parts) == 3 else "r z"):
                name = self.parts.get(letter)
                parts.append(ComponentPlace(source if name else mesh, name or _ZERO_OF_MESH, shape, at, number))
        return lay_out_vectors(parts, self.variable, (len(sources) * cells, 3))


def add_zero(mesh: h5py.File, shape: tuple[int, ...]) -> None:
    """Add to a mesh file what takes no room there: a zero for each cell."""
    mesh.create_dataset(_ZERO_OF_MESH, shape, "f4", chunks=True, fillvalue=0.0)


def find_vectors(variables: Mapping[str, VirtualVariable]) -> list[VectorVariable]:
    """The vectors whose components are among some variables, in their order."""
    found: dict[str, VectorVariable] = {}
    for each in variables:
        name = each[:-2]
        for letters in _LETTERS:
            parts = {letter: f"{name}_{letter}" for letter in letters}
            if each[-2:-1] == "_" and name not in variables and variables.keys() >= set(parts.values()):
                first = variables[next(iter(parts.values()))]
                long_name = str(first.attributes.get("long_name", name)).removesuffix(f" along {letters[0]}")
                attributes = {**first.attributes, "long_name": long_name}
                found.setdefault(name, VectorVariable(name, parts, VirtualVariable(first.dtype, attributes)))
    return list(found.values())
