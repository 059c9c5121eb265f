"""`heatsim effective`."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heatsim.cli.options import as_json_option
from heatsim.errors import RequestError

if TYPE_CHECKING:
    from heatsim.store.inputs import Volume
    from heatsim.studies.homogenisation.conductivity import EffectiveConductivity


@click.command()
@click.argument("image", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--phase", "phases", multiple=True, required=True, metavar="LABEL=K", help="Conductivity of a label; 0 for void."
)
@click.option("--direction", "directions", default="xyz", show_default=True, help="Axes of the gradient.")
@click.option(
    "--sides",
    type=click.Choice(["insulated", "periodic", "all-periodic"]),
    default="insulated",
    show_default=True,
    help="Faces beside the gradient; all-periodic: a mean gradient without ends.",
)
@click.option("--voxel", help="Edges of a voxel along x, y, z, in any one unit [those of the file, or 1,1,1].")
@click.option(
    "--raw", metavar="X,Y,Z[,TYPE[,big]]", help="Voxels along x, y, z of a .raw file; their type [uint8]; big-endian."
)
@click.option("--dataset", help="Name of the array in an .npz or HDF5 file.")
@click.option("--tolerance", type=float, default=1e-4, show_default=True, help="Relative, between the two bounds.")
@click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True, help="Where to solve."
)
@click.option("--cubes", is_flag=True, help="Solve cubes of growing size too: is the image representative?")
@click.option("--streamlines", is_flag=True, help="Draw lines along the flux, and write them for ParaView; needs VTK.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder for the results [outputs/<image>-effective].")
@as_json_option
def effective(image: Path, phases: tuple[str, ...], directions: str, as_json: bool, **options: Any) -> None:
    """Find the effective conductivity of a medium from an IMAGE of labels.

    IMAGE is .npy, .npz, HDF5, TIFF, PNG, .raw, or a folder of pictures, plane by plane. --phase 0=0 --phase 1=200 gives
    each label a conductivity in W/(m K), or a diffusivity. The 3 x 3 conductivity, its bounds and the tortuosity factor
    go to effective.json, phases, temperature and flux on a plane to flux.png.
    """
    from heatsim.studies.homogenisation import files, fluxes
    from heatsim.studies.homogenisation.conductivity import find_conductivity, find_in_parts
    from heatsim.studies.homogenisation.devices import most_voxels
    from heatsim.studies.homogenisation.media import make_medium

    if not directions or set(directions) - set("xyz"):
        raise RequestError(f"--direction: expected some of x, y, z, as xz, found {directions!r}")
    wanted = "".join(dict.fromkeys(directions))
    if options["streamlines"]:
        fluxes.require_vtk()
    volume = _read(image, options["raw"], options["dataset"], most_voxels(options["device"]))
    voxel, whose = _voxel_of(options["voxel"], volume)
    for note in volume.notes:
        click.echo(note, err=True)
    nz, ny, nx = (1,) * (3 - volume.values.ndim) + volume.values.shape[-3:]
    click.echo(f"{image}: {nx} x {ny} x {nz} voxels of {' x '.join(f'{edge:g}' for edge in voxel)}{whose}", err=True)
    medium = make_medium(volume.values, dict(map(_phase, phases)), voxel)
    told = (lambda axis: None) if as_json else lambda axis: click.echo(f"gradient along {axis}", err=True)
    how = {name: options[name] for name in ("sides", "tolerance", "device")}
    found = find_conductivity(medium, wanted, **how, keep=True, on_axis=told)
    of_cubes = find_in_parts(medium, wanted, **how) if options["cubes"] else []
    folder = options["output"] or Path("outputs") / f"{image.stem}-effective"
    written = files.write_effective(folder, medium, found, of_cubes, image.name, options["streamlines"])
    if as_json:
        click.echo(jsonlib.dumps({"folder": str(folder), **files.in_json(medium, found, of_cubes)}, indent=2))
        return
    for label, value, share in zip(medium.names, medium.values, found.fractions, strict=True):
        click.echo(f"phase {label:<10} {share:.2%} of the volume, {value:g} W/(m K)")
    for name in wanted:
        click.echo(f"along {name:<10} {_in_words(found, name)}")
    click.echo(f"{len(written)} files in {folder}")


def _in_words(found: EffectiveConductivity, name: str) -> str:
    place, along = "xyz".index(name), found.along[name]
    if along.bounds[1] == 0.0:
        return "0 W/(m K): no path leads from one face to the other"
    low, high = along.bounds
    apart = f"{along.unconnected:.2%} of what conducts is not connected, " if along.unconnected > 0 else ""
    return (
        f"{found.conductivity[place, place]:.6g} W/(m K), within {(high - low) / high:.1e}, tortuosity factor "
        f"{found.tortuosity[place]:.5g}; {apart}{along.iterations} iterations"
    )


def _phase(text: str) -> tuple[int, float]:
    label, _, value = text.partition("=")
    try:
        return int(label), float(value)
    except ValueError:
        raise RequestError(f"--phase: expected a whole label and a conductivity, as 1=200, found {text!r}") from None


def _read(image: Path, raw: str | None, dataset: str | None, most: int) -> Volume:
    from heatsim.store.inputs import RAW_TYPES, read_raw, read_volume

    if raw is None and image.suffix.lower() == ".raw":
        raise RequestError(f"{image}: a .raw file does not say its size: give it, as --raw 100,100,80")
    if raw is None:
        return read_volume(image, dataset, most)
    words = [word.strip() for word in raw.split(",")]
    sizes, kind, big = words[:3], "".join(words[3:4]), words[4:] == ["big"]
    wrong = (len(words) > 3 and kind not in RAW_TYPES) or (len(words) > 4 and not big)
    if wrong or len(sizes) != 3 or not all(size.isdecimal() and 0 < len(size) < 10 for size in sizes):
        types = f"one of {', '.join(RAW_TYPES)}, and big if the file is big-endian"
        expected = f"expected three whole numbers, and if need be {types}, as 100,100,80,uint16"
        raise RequestError(f"--raw: {expected}, found {raw!r}")
    x, y, z = (int(size) for size in sizes)
    return read_raw(image, (x, y, z), kind, most, big=big)


def _voxel_of(given: str | None, volume: Volume) -> tuple[tuple[float, float, float], str]:
    """The edges of a voxel, and in words where they come from: given, of the file, or cubes."""
    unit = f" {volume.unit}" if volume.unit else ""
    if given is None:
        return (volume.voxel, f"{unit}, as the file says") if volume.voxel else ((1.0, 1.0, 1.0), " (along x, y, z)")
    voxel = _voxel(given)
    if volume.voxel is not None:
        ratios = [mine / own for mine, own in zip(voxel, volume.voxel, strict=True)]
        if max(ratios) > 1.001 * min(ratios):
            own = ",".join(f"{edge:g}" for edge in volume.voxel)
            return voxel, f", where the file says {own}{unit}"
    return voxel, ", as --voxel says"


def _voxel(text: str) -> tuple[float, float, float]:
    try:
        x, y, z = (float(part) for part in (text.split(",") * 3 if "," not in text else text.split(",")))
    except ValueError:
        raise RequestError(f"--voxel: expected one number, or three with commas between them, found {text!r}") from None
    if not min(x, y, z) > 0:
        raise RequestError(f"--voxel: expected edges > 0, found {text!r}")
    return x, y, z
