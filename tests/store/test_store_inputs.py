from __future__ import annotations

import base64
import io
import zipfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile
from helpers.in_turn import in_turn
from PIL import Image

from heatsim.errors import InputFileError
from heatsim.store.hdf5 import VirtualVariable
from heatsim.store.inputs import read_array, read_volume
from heatsim.store.slab_files import SlabFile, lay_out_slabs

VALUES = (np.arange(60, dtype=np.uint8) % 7).reshape(3, 4, 5)


def write_sample(path: Path, values: np.ndarray = VALUES) -> Path:
    if path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".npz":
        np.savez_compressed(path, labels=values)
    elif path.suffix == ".png":
        Image.fromarray(values.reshape(values.shape[0], -1)).save(path)
    else:
        with h5py.File(path, "w") as file:
            file.create_dataset("labels", data=values, chunks=values.shape, compression="gzip")
    return path


def refusal(path: Path, dataset: str | None = None, max_elements: int = 10_000) -> str:
    with pytest.raises(InputFileError) as caught:
        read_array(path, dataset, max_elements)
    assert str(path) in str(caught.value)
    return caught.value.message


@in_turn("name", ["a.npy", "a.npz", "a.h5", "a.hdf5", "a.png", "A.NPY"])
def test_each_kind_reads_back_the_values_and_the_type(tmp_path: Path, name: str) -> None:
    path = write_sample(tmp_path / name.lower()).rename(tmp_path / name)
    array = read_array(path)
    assert array.dtype == VALUES.dtype
    assert np.array_equal(array.ravel(), VALUES.ravel())


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_hdf5_is_read_whether_pythons_output_is_buffered_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    assert np.array_equal(read_array(write_sample(tmp_path / "a.h5")).ravel(), VALUES.ravel())


@in_turn("dtype", ["bool", ">i2", ">f8", "<f4", "u8"])
@in_turn("name", ["a.npy", "a.npz", "a.h5"])
def test_arrays_come_in_native_byte_order_and_c_order(tmp_path: Path, name: str, dtype: str) -> None:
    values = np.asfortranarray(VALUES.astype(dtype))
    array = read_array(write_sample(tmp_path / name, values))
    assert array.dtype.isnative
    assert array.flags.c_contiguous
    assert array.dtype.kind == values.dtype.kind
    assert np.array_equal(array, values)


def test_a_named_array_is_picked_out_of_several(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", first=VALUES, second=VALUES + 1)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["group/first"] = VALUES
        file["group/second"] = VALUES + 1
    assert np.array_equal(read_array(tmp_path / "a.npz", "second"), VALUES + 1)
    assert np.array_equal(read_array(tmp_path / "a.h5", "/group/second"), VALUES + 1)
    assert "found first, second" in refusal(tmp_path / "a.npz")
    assert "found first, second" in refusal(tmp_path / "a.npz", "third")
    assert "did you mean 'second'" in refusal(tmp_path / "a.h5", "group/secnd")
    assert "not a dataset" in refusal(tmp_path / "a.h5", "group")
    assert "no dataset" in refusal(tmp_path / "a.h5", "group/first/deeper")
    assert "found none" in refusal(tmp_path / "a.h5")


def test_a_dataset_name_for_a_file_of_one_array_is_refused(tmp_path: Path) -> None:
    assert "remove dataset" in refusal(write_sample(tmp_path / "a.npy"), "labels")
    assert "remove dataset" in refusal(write_sample(tmp_path / "a.png"), "labels")


@in_turn("suffix", [".npy", ".npz", ".h5", ".png"])
def test_more_elements_than_allowed_are_refused(tmp_path: Path, suffix: str) -> None:
    path = write_sample(tmp_path / f"a{suffix}")
    assert read_array(path, max_elements=60).size == 60
    assert "more than the 59 expected" in refusal(path, max_elements=59)


def test_huge_claims_are_refused_from_the_header_alone(tmp_path: Path) -> None:
    # Each file claims 10^12 elements and holds next to nothing: reading it would need a terabyte.
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (10**12,)})
    (tmp_path / "a.npy").write_bytes(header.getvalue())
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("labels.npy", header.getvalue())
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("labels", shape=(10**6, 10**6), dtype="u1", chunks=(1000, 1000))
    for name in ("a.npy", "a.npz", "a.h5"):
        assert "more than the 10000 expected" in refusal(tmp_path / name)


def test_a_png_beyond_the_limit_of_pillow_is_refused(tmp_path: Path) -> None:
    path = write_sample(tmp_path / "a.png")
    data = bytearray(path.read_bytes())
    data[16:24] = (100_000).to_bytes(4, "big") * 2
    path.write_bytes(data)
    assert refusal(path)


@in_turn(
    ("mode", "colour", "expected", "dtype"),
    [
        ("L", 7, 7, "uint8"),
        ("1", 1, True, "bool"),
        ("I;16", 60_000, 60_000, "uint16"),
        ("P", 3, 3, "uint8"),
        ("RGB", (9, 9, 9), 9, "uint8"),
    ],
)
def test_every_kind_of_png_gives_one_number_a_pixel(
    tmp_path: Path, mode: str, colour: int | tuple[int, ...], expected: int, dtype: str
) -> None:
    image = Image.new(mode, (4, 3))
    if mode == "P":
        image.putpalette([0, 0, 0, 10, 10, 10, 20, 20, 20, 30, 30, 30])
    image.putpixel((2, 0), colour)  # column 2 of the top row
    image.save(tmp_path / "a.png")
    array = read_array(tmp_path / "a.png")
    assert array.dtype == dtype
    assert array.shape == (3, 4)
    assert array[0, 2] == expected
    assert np.count_nonzero(array) == 1


def test_pngs_in_colours_or_transparent_in_parts_are_refused(tmp_path: Path) -> None:
    """Their first channel was taken without a word."""
    path = tmp_path / "a.png"
    for mode, first, second, found in (
        ("RGB", (9, 9, 9), (9, 1, 2), "found 3: an image in colours?"),
        ("RGBA", (9, 9, 9, 255), (9, 1, 2, 255), "found 3: an image in colours?"),
        ("RGBA", (9, 9, 9, 255), (9, 9, 9, 0), "pixels that are transparent in parts"),
        ("LA", (9, 255), (9, 100), "pixels that are transparent in parts"),
    ):
        image = Image.new(mode, (4, 3), first)
        image.save(path)
        assert (read_array(path) == 9).all()
        image.putpixel((2, 0), second)
        image.save(path)
        assert found in refusal(path)


def test_an_animated_png_is_no_picture(tmp_path: Path) -> None:
    """Its first picture was taken without a word."""
    path, planes = tmp_path / "a.png", [Image.new("L", (4, 3), number) for number in (1, 2)]
    planes[0].save(path, save_all=True, append_images=planes[1:])
    with pytest.raises(InputFileError, match="found an animation of 2: save them as pages of a TIFF"):
        read_array(path)


def test_pickles_and_types_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "object.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "object.npz", np.array([{}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "text.npy", np.array(["a"]))
    np.save(tmp_path / "complex.npy", np.array([1j]))
    np.save(tmp_path / "record.npy", np.zeros(2, dtype=[("a", "f4")]))
    with h5py.File(tmp_path / "object.h5", "w") as file:
        file["labels"] = ["a", "b"]
    with h5py.File(tmp_path / "reference.h5", "w") as file:
        file["labels"] = np.array([file.ref], dtype=h5py.ref_dtype)
    for path in tmp_path.iterdir():
        assert "numbers or bools were expected" in refusal(path)


@in_turn("link", [h5py.SoftLink("/sound"), h5py.ExternalLink("other.h5", "/labels")])
@in_turn("place", ["labels", "group/labels", "linked_group/labels"])
def test_soft_and_external_links_anywhere_on_the_way_are_refused(
    tmp_path: Path, link: h5py.SoftLink | h5py.ExternalLink, place: str
) -> None:
    write_sample(tmp_path / "other.h5")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["sound"] = VALUES
        file[place.replace("linked_group/labels", "linked_group")] = link
    assert "link" in refusal(tmp_path / "a.h5", place)
    assert np.array_equal(read_array(tmp_path / "a.h5"), VALUES)  # the link does not count as an array


def test_virtual_and_external_storage_are_refused(tmp_path: Path) -> None:
    write_sample(tmp_path / "other.h5")
    (tmp_path / "secret.txt").write_bytes(b"0123456789")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        layout = h5py.VirtualLayout(VALUES.shape, VALUES.dtype)
        layout[...] = h5py.VirtualSource("other.h5", "labels", shape=VALUES.shape)
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("external", (10,), "u1", external=[(str(tmp_path / "secret.txt"), 0, 10)])
    assert "other files" in refusal(tmp_path / "a.h5", "virtual")
    assert "other files" in refusal(tmp_path / "a.h5", "external")


def test_a_slab_of_a_snapshot_may_refer_to_no_other_file(tmp_path: Path) -> None:
    write_sample(tmp_path / "secret.h5")
    shape, kind = VALUES.shape, VALUES.dtype
    with h5py.File(tmp_path / "000001.0.h5", "w") as file:
        layout = h5py.VirtualLayout(shape, kind)
        layout[...] = h5py.VirtualSource("secret.h5", "labels", shape=shape)
        file.create_virtual_dataset("labels", layout)
    size = (tmp_path / "000001.0.h5").stat().st_size
    with h5py.File(tmp_path / "000001.h5", "w") as file:
        slabs = [SlabFile("000001.0.h5", shape[0], size, "")]
        variable = VirtualVariable(kind, {})
        file.create_virtual_dataset("labels", lay_out_slabs(file, "labels", variable, shape, slabs))
    assert "other files" in refusal(tmp_path / "000001.h5", "labels")


def test_what_is_no_array_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 2 3")
    assert ".npy, .npz, .h5, .hdf5, .png" in refusal(tmp_path / "a.txt")
    assert refusal(tmp_path / "absent.npy") == "no such file"
    (tmp_path / "folder.npy").mkdir()
    assert refusal(tmp_path / "folder.npy") == "is not a file"
    for suffix in (".npy", ".npz", ".h5", ".png"):
        (tmp_path / f"empty{suffix}").touch()
        assert f"cannot be read as {suffix}" in refusal(tmp_path / f"empty{suffix}")
        (tmp_path / f"text{suffix}").write_text("hello " * 100)
        assert f"cannot be read as {suffix}" in refusal(tmp_path / f"text{suffix}")


def damaged_files(path: Path, count: int) -> Iterator[Path]:
    """Copies of a sound file with one to three bits flipped, and others cut off somewhere."""
    data = path.read_bytes()
    random = np.random.default_rng(0)
    for i in range(count):
        damaged = bytearray(data)
        for position in random.integers(0, len(data), random.integers(1, 4)):
            damaged[position] ^= 1 << random.integers(8)
        flipped = path.with_name(f"flipped{i}{path.suffix}")
        flipped.write_bytes(damaged)
        cut = path.with_name(f"cut{i}{path.suffix}")
        # The last 4 bytes of a PNG are the checksum of an empty chunk, which nobody misses.
        cut.write_bytes(data[: i * (len(data) - 4) // count])
        yield from (flipped, cut)


def outcome(path: Path) -> str:
    try:
        read_array(path, max_elements=10_000)
    except InputFileError:
        return "refused"
    return "read"


@in_turn(("suffix", "count"), [(".npy", 300), (".npz", 300), (".png", 300), (".h5", 5)])
def test_damaged_files_end_in_a_clear_refusal_or_an_array(tmp_path: Path, suffix: str, count: int) -> None:
    files = list(damaged_files(write_sample(tmp_path / f"a{suffix}"), count))
    with ThreadPoolExecutor(4) as pool:  # an HDF5 file is read in a process of its own, which takes a while
        outcomes = dict(zip(files, pool.map(outcome, files), strict=True))
    assert {outcomes[path] for path in files if path.name.startswith("cut")} == {"refused"}


# An HDF5 file with five bytes changed, on which HDF5 2.0 crashes (found by fuzzing); zlib, base 85.
CRASHER = """
c-rgqaB<`1lHy_j0S*oZ76t(ZWbhvfma3uhVe$!3nh{EOK<O1sFmYzEoCH){0BXJhGphcOAXitA>i=i}W{(3KO#dhtiNM3vF#tqI
K>4urbb<+0U3yUgn9fN|O3f)oq)P`f?G=QkIP`SQ12vJ6fr&wcfrB9tDlf^%2-YD0&l4Od`GW-^1QufiLxg`|_N{>Cj}xrO`GWyx
{ul+L`2#tBK$9553szKhuyhzeC3}PY{9QnK0A^nUGpar4=@?#qON_?ZU;ysU{yvOI5ra}r0YOP>MG3O{8~meTHVQ_;C>RB!fH>eV
8U&+Y6pVsVFbYP&C>RBU1~4+PLHhiRFun$aW`YQCLDktnX>>j_g8*2o00(T$Kmkm$GH`&!nV2C4aWe!!#yg?oK}=wIMuy^y(zLXk
RQPxUBUC&kH7zHx1R>509iRZJElJKuEiyKOh;u*(l9-v81teig85l$u;6oT1B!vfPoRyJ*2V<Pon}9wKWeDwyCN6@;pNvBtx+@<*
)rB!2JcSMDszBY1rVicSW*q9!?Y$0F7YyaI;jmX*71ca89QM{h)rF#|L$~*mDlGmXfD?zk>d<*8Ei`rL_6Fimhi-4R8Y-U$%{-RT
B4QL!7u1ag!6+C7Q~(;IK|n8XZ8Qk*f{M80gp{PT#MI>H51u@F_VDRraRCvbZ5y|4E-xr4Dl054{{G?1r*9v>eqO&~&8l@P*RIab
$jQpf%*}rP;?1ixi6#by#YO_&l?xRND&m9%MTMtNm@;YF#Ho|R144qr0z-rOIe57EIC;7IJ9@hMI(xhQJ$$_0y?pz6zCq!oCz`>_
edik%UwdO&{QPV>$gny!k>6d6*NrRUE?>BE>DtAsm(2}KjLZy8jkj;uvdPcW*Zcg5GpEj-JbPMSLq|(bQ&&5FL&3#Is@~Ie<2M#v
ePx<`eeL}Xg_qOX6ge0or6gBh_?5|D5qEo2>FsZ_*5z;SZ7#q6kC~lc)~@KwjgS2D_O<^$eZBo%-oF0tzt7+A*R#2)rOC$H)-pRQ
CkqD~7jt`SXG=$0SF<TGDDyR}>x%<62}PAA-><K_UJ++q`02_^<Mi`$_ZNJ;^i(^1eeC|i&)0Ir!pzF}{PgnV;_T`e9TgJ=0}Tt=
-PO~@!_CY2{q^(Z<L&=999WRRrqeLdqhVb?(993}#e=u#Zse<o+g<$q-d}cpdE2^AUv7RD*N@*@_xao1YEDnhOvy;gN>*3ZRMAk=
QeI!(w-YXG_|S1;#fup?cKm2LvgFB>D_csC%sjnWhWXzKxmOi&r_q886qRwCN^X7<)ec`9x4G=@FJ5W$+<Txf!m#-_D2&pUFc|Ov
J2IE1XgtrZmAq9Ew;C-afTHyN#^USmY^%S&wJ-Q^;i0m7zpOndfb`?{*Z%+b`TBeN`u~5^p{Xrhh1tN7@i4I6{8mVHe!@Rl=Zd)5
7)b&gw-^EZ*1G)tUF75{22FQqDnbT{j6BRN4C~LzMfa3m{aFz=87VDZhbF0X1(3QIS!~h_40}?T#nW${2dXqiN@%bQkcOmEWfjZv
UkvvSR>Tz}WeZsPMmDqOA)C4K*&k~Flo=2G
"""


def test_a_file_that_crashes_the_hdf5_library_is_refused(tmp_path: Path) -> None:
    content = zlib.decompress(base64.b85decode("".join(CRASHER.split())))
    (tmp_path / "a.h5").write_bytes(content)
    assert "is damaged" in refusal(tmp_path / "a.h5", "labels")


def label_image() -> np.ndarray:
    return (np.random.default_rng(5).random((11, 4, 5)) < 0.5).astype(np.uint8)


def test_planes_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    image = label_image()
    for number, plane in enumerate(image):
        Image.fromarray(plane[::-1]).save(tmp_path / f"slice{number}.png")  # no leading zeros
    found = read_volume(tmp_path)
    np.testing.assert_array_equal(found.values, image)
    assert found.notes == (f"{tmp_path}: 11 planes, from slice0.png to slice10.png",)
    (tmp_path / "slice7.png").unlink()
    assert "no plane lies between slice6.png and slice8.png" in read_volume(tmp_path).notes[1]


@pytest.mark.lowest
@in_turn("how", ["append", "loop", "at once", "lzw", "grey in colours"])
def test_pages_of_a_tiff_are_planes_however_they_were_written(how: str, tmp_path: Path) -> None:
    image, path = label_image(), tmp_path / "a.tif"
    if how == "append":
        for plane in image:
            tifffile.imwrite(path, plane, append=True)
    elif how == "loop":
        with tifffile.TiffWriter(path) as writer:
            for plane in image:
                writer.write(plane)
    elif how == "lzw":
        first, *others = [Image.fromarray(plane) for plane in image]
        first.save(path, save_all=True, append_images=others, compression="tiff_lzw")
    else:
        tifffile.imwrite(path, image if how == "at once" else np.stack([image] * 3, axis=-1))
    np.testing.assert_array_equal(read_array(path), image)


def test_tiffs_that_are_no_single_image_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path) as writer:
        writer.write(np.zeros((4, 3), np.uint8))
        writer.write(np.zeros((5, 3), np.uint8))
    assert "pages of one size were expected, found 2 images of 4 x 3, 5 x 3" in refusal(path)
    tifffile.imwrite(path, np.arange(2 * 4 * 3 * 3, dtype=np.uint8).reshape(2, 4, 3, 3), photometric="rgb")
    assert "an image in colours?" in refusal(path)


def test_axes_of_length_one_stay_where_they_are(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((12, 1, 15), np.uint8))
    assert read_array(tmp_path / "a.tif").shape == (12, 1, 15)


def test_the_voxels_that_a_tiff_says_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, label_image(), imagej=True, resolution=(2.0, 4.0), metadata={"spacing": 3.0, "unit": "um"})
    found = read_volume(path)
    assert found.voxel == pytest.approx((0.5, 0.25, 3.0))
    assert found.unit == "um"
    ome = {"axes": "ZYX", "PhysicalSizeX": 0.1, "PhysicalSizeY": 0.2, "PhysicalSizeZ": 0.4}
    tifffile.imwrite(tmp_path / "b.ome.tif", label_image(), metadata=ome)
    assert read_volume(tmp_path / "b.ome.tif").voxel == pytest.approx((0.1, 0.2, 0.4))
    tifffile.imwrite(path, label_image(), resolution=(300, 300), resolutionunit="INCH")  # dots of a printer
    assert read_volume(path).voxel is None
