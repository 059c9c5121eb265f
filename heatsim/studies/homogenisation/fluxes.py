"""The flux in voxels, and the streamlines along it, which VTK finds (extra [3d])."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatsim.errors import RequestError
from heatsim.studies.homogenisation.media import Medium

LINES = 300  # of an axis; each begins with an equal share of the heat
STEP = 0.5  # voxels, at first and at most
MAX_STEPS = 40  # for each voxel along the three edges together: a winding way
INSIDE = 1e-3  # voxels from the outer centres, between which VTK interpolates
STOPPED = 1e-6  # of the mean flux: below it a line ends


class Streamline(NamedTuple):
    """points: (n, 3) x, y, z in the units of `Medium.voxel`; flux: (n,) its size there over the mean."""

    points: np.ndarray
    flux: np.ndarray


def voxel_fluxes(
    medium: Medium, temperature: np.ndarray, gradient: int, part: tuple[slice, ...] = (slice(None),) * 3
) -> list[np.ndarray]:
    """The flux along x, y and z in each voxel of a part, W/m2: half of that through each of both faces, but all of it
    at the ends of the axis of the gradient, 0 for x. temperature: (nz, ny, nx) K, NaN where nothing takes part."""
    T, k = temperature[part].astype(float), medium.values[medium.labels[part]]
    found = []
    for axis in (2, 1, 0):
        mean = np.zeros(T.shape)
        if T.shape[axis] > 1:
            warm, conducting, target = (np.moveaxis(values, axis, 0) for values in (T, k, mean))
            with np.errstate(invalid="ignore", divide="ignore"):
                through = 2.0 * conducting[:-1] * conducting[1:] / (conducting[:-1] + conducting[1:])
                through = np.nan_to_num(through * (warm[:-1] - warm[1:])) / medium.voxel[2 - axis]
            target[:-1] += 0.5 * through
            target[1:] += 0.5 * through
            if axis == 2 - gradient:
                target[0], target[-1] = through[0], through[-1]
        found.append(mean)
    return found


def find_streamlines(medium: Medium, temperature: np.ndarray, axis: int, file: Path | None = None) -> list[Streamline]:
    """Lines along the flux from the lower end of an axis, 0 for x, on, as many as `LINES`, at places by how much flows
    there. They go to a .vtp file too, for ParaView. Raises `RequestError` where VTK is missing, and OSError."""
    fluxes = [values.astype(np.float32) for values in voxel_fluxes(medium, temperature, axis)]
    start = np.clip(np.moveaxis(fluxes[axis], 2 - axis, 0)[0], 0.0, None)
    size = np.sqrt(sum(values**2 for values in fluxes))
    mean = float(size[np.isfinite(temperature)].mean()) if np.isfinite(temperature).any() else 0.0
    if mean <= 0.0 or not start.any():
        return []
    chances = start.reshape(-1) / start.sum(dtype=np.float64)
    chosen = np.random.default_rng(0).choice(start.size, LINES, p=chances / chances.sum())
    places = np.unravel_index(chosen, start.shape)  # z and y, x without that of the axis
    seeds = np.zeros((LINES, 3))
    across = [number for number in (2, 1, 0) if number != axis]
    for number, place in zip(across, places, strict=True):
        seeds[:, number] = place
    ends = np.array(medium.labels.shape[::-1]) - 1.0
    inside = np.minimum(INSIDE, 0.5 * ends)
    seeds = np.clip(seeds, inside, ends - inside)
    starts = (seeds + 0.5) * np.array(medium.voxel)
    lines = _trace(np.stack([values.reshape(-1) for values in fluxes], 1) / mean, medium, starts)
    if file is not None:
        _write(lines, file)
    return _points_of(lines)


def require_vtk() -> tuple[Any, ...]:
    """The parts of VTK that trace streamlines. Raises `RequestError` where VTK is missing."""
    try:
        from vtkmodules.util import numpy_support
        from vtkmodules.vtkCommonCore import vtkPoints
        from vtkmodules.vtkCommonDataModel import vtkImageData, vtkPolyData
        from vtkmodules.vtkFiltersFlowPaths import vtkStreamTracer
    except ImportError:
        raise RequestError('streamlines need one more package: pip install "heatsim[3d]"') from None
    return numpy_support, vtkPoints, vtkImageData, vtkPolyData, vtkStreamTracer


def _trace(flux: np.ndarray, medium: Medium, seeds: np.ndarray) -> Any:
    """VTK's lines from the seeds (n, 3); flux: (voxels, 3) over its mean, at the centres of voxels."""
    numpy_support, vtkPoints, vtkImageData, vtkPolyData, vtkStreamTracer = require_vtk()
    image, points, source = vtkImageData(), vtkPoints(), vtkPolyData()
    image.SetDimensions(*medium.labels.shape[::-1])
    image.SetSpacing(*medium.voxel)
    image.SetOrigin(*(0.5 * edge for edge in medium.voxel))
    vectors = numpy_support.numpy_to_vtk(flux, deep=True)
    vectors.SetName("flux over its mean")
    image.GetPointData().SetVectors(vectors)
    points.SetData(numpy_support.numpy_to_vtk(seeds, deep=True))
    source.SetPoints(points)
    tracer = vtkStreamTracer()
    tracer.SetInputData(image)
    tracer.SetSourceData(source)
    tracer.SetIntegrationDirectionToForward()
    tracer.SetIntegratorTypeToRungeKutta45()
    tracer.SetIntegrationStepUnit(tracer.CELL_LENGTH_UNIT)
    for setter in (tracer.SetInitialIntegrationStep, tracer.SetMaximumIntegrationStep):
        setter(STEP)
    steps = MAX_STEPS * sum(medium.labels.shape)
    tracer.SetMaximumNumberOfSteps(steps)
    tracer.SetMaximumPropagation(steps * max(medium.voxel))
    tracer.SetTerminalSpeed(STOPPED)
    tracer.SetComputeVorticity(False)
    tracer.Update()
    return tracer.GetOutput()


def _points_of(lines: Any) -> list[Streamline]:
    numpy_support = require_vtk()[0]
    if not lines.GetNumberOfPoints():
        return []
    points = numpy_support.vtk_to_numpy(lines.GetPoints().GetData())
    flux = np.linalg.norm(numpy_support.vtk_to_numpy(lines.GetPointData().GetVectors()), axis=1)
    ends = numpy_support.vtk_to_numpy(lines.GetLines().GetOffsetsArray())
    numbers = numpy_support.vtk_to_numpy(lines.GetLines().GetConnectivityArray())
    found = [numbers[first:last] for first, last in pairwise(ends)]
    return [Streamline(points[each].copy(), flux[each]) for each in found if len(each) > 1]


def _write(lines: Any, file: Path) -> None:
    from vtkmodules.vtkIOXML import vtkXMLPolyDataWriter

    temporary = file.with_name(f".{file.name}.tmp")
    writer = vtkXMLPolyDataWriter()
    writer.SetInputData(lines)
    writer.SetFileName(str(temporary))
    try:
        if not writer.Write():
            raise OSError(f"{file}: VTK could not write it")
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
