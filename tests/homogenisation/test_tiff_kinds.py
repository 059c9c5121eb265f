"""TIFF files of all kinds are read as they are meant, told of, or refused."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from helpers.in_turn import in_turn
from PIL import Image

from heatsim.errors import InputFileError
from heatsim.store.inputs import read_volume

IMAGE = (np.random.default_rng(1).random((5, 7, 9)) < 0.5).astype(np.uint8)
Write = Callable[[Path], Any]


def by_tifffile(values: np.ndarray = IMAGE, **options: Any) -> Write:
    return lambda path: tifffile.imwrite(path, values, **options)


def by_pillow(mode: str = "L", values: np.ndarray = IMAGE, **options: Any) -> Write:
    def write(path: Path) -> None:
        first, *others = (Image.fromarray(plane).convert(mode) for plane in values)
        first.save(path, save_all=True, append_images=others, **options)

    return write


def one_by_one(path: Path) -> None:
    for number, plane in enumerate(IMAGE):
        tifffile.imwrite(path, plane, append=number > 0)


def with_preview(path: Path) -> None:
    tifffile.imwrite(path, IMAGE)
    tifffile.imwrite(path, IMAGE[0, ::2, ::2].copy(), append=True, subfiletype=1)


def with_a_pyramid(path: Path) -> None:
    with tifffile.TiffWriter(path) as file:
        file.write(IMAGE, subifds=1)
        file.write(IMAGE[:, ::2, ::2].copy(), subfiletype=1)


def broken(old: bytes, new: bytes, **options: Any) -> Write:
    def write(path: Path) -> None:
        tifffile.imwrite(path, IMAGE, **options)
        path.write_bytes(path.read_bytes().replace(old, new))

    return write


def cut(by: int, **options: Any) -> Write:
    def write(path: Path) -> None:
        tifffile.imwrite(path, IMAGE, **options)
        path.write_bytes(path.read_bytes()[:-by])

    return write


GREY = np.stack([IMAGE] * 3, -1)
READ = {
    "pages one by one": one_by_one,
    "no metadata": by_tifffile(metadata=None),
    "BigTIFF": by_tifffile(bigtiff=True),
    "OME": by_tifffile(ome=True, metadata={"axes": "ZYX"}),
    "ImageJ": by_tifffile(imagej=True, metadata={"axes": "ZYX"}),
    "deflate": by_tifffile(compression="zlib"),
    "tiles": by_tifffile(tile=(16, 16)),
    "big-endian": by_tifffile(IMAGE.astype(">u2"), byteorder=">"),
    "float": by_tifffile(IMAGE.astype(np.float32)),
    "palette": by_tifffile(photometric="palette", colormap=np.arange(768, dtype=np.uint16).reshape(3, 256)),
    "grey in colours": by_tifffile(GREY, photometric="rgb"),
    "planes of colours": by_tifffile(np.moveaxis(GREY, -1, 1).copy(), photometric="rgb", planarconfig="separate"),
    "opaque": by_tifffile(np.stack([IMAGE] * 3 + [np.full_like(IMAGE, 255)], -1), photometric="rgb", extrasamples=[2]),
    "preview": with_preview,
    "pyramid": with_a_pyramid,
    "LZW": by_pillow(compression="tiff_lzw"),
    "PackBits": by_pillow(compression="packbits"),
    "LZMA": by_pillow(compression="lzma"),
    "bits": by_pillow("1", IMAGE.astype(bool)),
    "fax": by_pillow("1", IMAGE.astype(bool), compression="group4"),
    "grey and opacity": by_pillow("LA"),
    "indices": by_pillow("P"),
}


@in_turn("kind", READ)
def test_kinds_that_hold_one_image_are_read(kind: str, tmp_path: Path) -> None:
    READ[kind](tmp_path / "a.tif")
    found = read_volume(tmp_path / "a.tif")
    np.testing.assert_array_equal(found.values, IMAGE)
    assert not found.notes


ROWS, COLUMNS = np.s_[:, 1:2], np.s_[:, :, 1:2]
OME, IMAGEJ = ({kind: True, "metadata": {"axes": "ZYX"}} for kind in ("ome", "imagej"))


@in_turn(("thin", "options"), [(ROWS, {}), (COLUMNS, {}), (ROWS, OME), (COLUMNS, OME), (ROWS, IMAGEJ)])
def test_images_one_voxel_thin_keep_their_axes(thin: Any, options: dict[str, Any], tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "a.tif", IMAGE[thin].copy(), **options)
    np.testing.assert_array_equal(read_volume(tmp_path / "a.tif").values, IMAGE[thin])


TOLD = {
    "its 5 times are taken as planes along z": by_tifffile(imagej=True, metadata={"axes": "TYX"}),
    "its 5 channels are taken as planes along z": by_tifffile(imagej=True, metadata={"axes": "CYX"}),
    "0 is white in it: values are taken as they are stored": by_tifffile(photometric="miniswhite"),
    "stored in another order (4)": by_tifffile(extratags=[(274, "H", 1, 4, True)]),
    "says pixels of 0.5 x 0.25 um, and nothing of z; its voxels are taken as cubes": by_tifffile(
        imagej=True, resolution=(2, 4), metadata={"axes": "ZYX", "unit": "um"}
    ),
    "says voxels of 500 nm x 0.5 um x ?; its voxels are taken as cubes": by_tifffile(
        ome=True,
        metadata={"axes": "ZYX", "PhysicalSizeX": 500, "PhysicalSizeXUnit": "nm", "PhysicalSizeY": 0.5},
    ),
}


@in_turn("note", TOLD)
def test_what_is_odd_is_told(note: str, tmp_path: Path) -> None:
    TOLD[note](tmp_path / "a.tif")
    found = read_volume(tmp_path / "a.tif")
    np.testing.assert_array_equal(found.values, IMAGE)
    assert [note in each for each in found.notes] == [True], found.notes


def test_units_of_voxels_may_differ(tmp_path: Path) -> None:
    sizes = {"PhysicalSizeX": 500, "PhysicalSizeXUnit": "nm", "PhysicalSizeY": 0.5, "PhysicalSizeZ": 3}
    tifffile.imwrite(tmp_path / "a.tif", IMAGE, ome=True, metadata={"axes": "ZYX", **sizes})
    found = read_volume(tmp_path / "a.tif")
    assert (found.voxel, found.unit) == ((500.0, 500.0, 3000.0), "nm")
    by_pillow(compression="jpeg")(tmp_path / "b.tif")
    assert "compression JPEG may have changed values" in read_volume(tmp_path / "b.tif").notes[0]


BOTH = np.stack([IMAGE, 1 - IMAGE])
REFUSED = {
    "found 2 channels, 5 planes, 7 rows, 9 columns: save one of them": by_tifffile(
        BOTH, ome=True, metadata={"axes": "CZYX"}
    ),
    "found 2 times, 5 planes": by_tifffile(BOTH, ome=True, metadata={"axes": "TZYX"}),
    "found 3: an image in colours": by_tifffile(np.stack([IMAGE, IMAGE, 1 - IMAGE], -1), photometric="rgb"),
    "transparent in parts": by_tifffile(np.stack([IMAGE] * 4, -1), photometric="rgb", extrasamples=[2]),
    "elements of type complex64": by_tifffile(IMAGE.astype(np.complex64)),
    "damaged or cut: OME series is missing 2 frames": broken(
        b'SizeZ="5"', b'SizeZ="7"', ome=True, metadata={"axes": "ZYX"}
    ),
    "the file is damaged or cut: corrupted tag": cut(60),
    "the file is damaged or cut: invalid page offset": cut(666, imagej=True, metadata={"axes": "ZYX"}),
}


@in_turn("message", REFUSED)
def test_what_is_no_such_image_is_refused(message: str, tmp_path: Path) -> None:
    """A part of a file that was cut was taken for all of it."""
    REFUSED[message](tmp_path / "a.tif")
    with pytest.raises(InputFileError, match=message):
        read_volume(tmp_path / "a.tif")


@pytest.mark.skipif(find_spec("imagecodecs") is not None, reason="imagecodecs reads it")
def test_a_compression_that_nothing_reads_names_what_would(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "a.tif", IMAGE, compression="zlib", metadata=None)
    with tifffile.TiffFile(tmp_path / "a.tif", mode="r+") as file:
        for page in file.pages:
            page.tags["Compression"].overwrite(34712)  # JPEG 2000
    with pytest.raises(InputFileError, match=r"compression JPEG2000 cannot be read .*brings imagecodecs"):
        read_volume(tmp_path / "a.tif")
