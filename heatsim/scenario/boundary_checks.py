"""Whether faces and their patches are sound."""

from __future__ import annotations

from collections.abc import Iterator

from heatsim.scenario.boundary import FACES, Boundary, Face
from heatsim.scenario.expressions import Expression
from heatsim.scenario.findings import Finding
from heatsim.scenario.scanner import Key


def patches_are_parts_of_faces(boundary: Boundary) -> Iterator[Finding]:
    """A patch says where it is, a face does not; a patch has no patches, and nothing about it is periodic."""
    for key, face in _faces(boundary):
        if face.where is not None:
            yield Finding((*key, "where"), "where belongs to a patch of a face, not to a face")
        if face.patches and face.kind == "periodic":
            yield Finding((*key, "patches"), "expected no patches on a periodic face, found some")
        for i, patch in enumerate(face.patches):
            yield from _patch_is_sound((*key, "patches", i), patch)


def temperatures_are_factors(boundary: Boundary) -> Iterator[Finding]:
    """A coefficient or emissivity that follows temperature has a table over T, times what else it depends on."""
    for key, face in _faces(boundary):
        parts = [((*key, "patches", i), patch) for i, patch in enumerate(face.patches)]
        for where, each in [(key, face), *parts]:
            name = {"convection": "coefficient", "radiation": "emissivity"}.get(each.kind, "")
            value = getattr(each, name, None)
            if isinstance(value, Expression) and "T" in value.names and value.split_temperature() is None:
                message = "expected an expression in T alone times one in x, y, z, t, found what mixes them"
                yield Finding((*where, name), message, 'such as "(5 + 20*x) * abs(T - 300)**0.25"')


def _faces(boundary: Boundary) -> Iterator[tuple[Key, Face]]:
    yield ("boundary", "default"), boundary.default
    yield from ((("boundary", name), face) for name in FACES if (face := getattr(boundary, name)) is not None)


def _patch_is_sound(key: Key, patch: Face) -> Iterator[Finding]:
    if patch.where is None:
        yield Finding(key, "expected where, a condition in x, y, z, found none", 'such as where = "x > 0.01"')
    if patch.patches:
        yield Finding((*key, "patches"), "expected no patches on a patch", "later patches lie over earlier")
    if patch.kind == "periodic":
        message = 'expected "insulated", "fixed", "flux", "convection" or "radiation", found "periodic"'
        yield Finding((*key, "kind"), message, "a face is periodic as a whole")
