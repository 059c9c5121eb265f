"""Whether the patches of faces are sound."""

from __future__ import annotations

from collections.abc import Iterator

from heatsim.scenario.boundary import FACES, Boundary, Face
from heatsim.scenario.findings import Finding
from heatsim.scenario.scanner import Key


def patches_are_parts_of_faces(boundary: Boundary) -> Iterator[Finding]:
    """A patch says where it is, a face does not; a patch has no patches, and nothing about it is periodic."""
    faces: list[tuple[str, Face]] = [("default", boundary.default)]
    faces += [(name, face) for name in FACES if (face := getattr(boundary, name)) is not None]
    for name, face in faces:
        key: Key = ("boundary", name)
        if face.where is not None:
            yield Finding((*key, "where"), "where belongs to a patch of a face, not to a face")
        if face.patches and face.kind == "periodic":
            yield Finding((*key, "patches"), "expected no patches on a periodic face, found some")
        for i, patch in enumerate(face.patches):
            yield from _patch_is_sound((*key, "patches", i), patch)


def _patch_is_sound(key: Key, patch: Face) -> Iterator[Finding]:
    if patch.where is None:
        yield Finding(key, "expected where, a condition in x, y, z, found none", 'such as where = "x > 0.01"')
    if patch.patches:
        yield Finding((*key, "patches"), "expected no patches on a patch", "later patches lie over earlier")
    if patch.kind == "periodic":
        message = 'expected "insulated", "fixed", "flux", "convection" or "radiation", found "periodic"'
        yield Finding((*key, "kind"), message, "a face is periodic as a whole")
