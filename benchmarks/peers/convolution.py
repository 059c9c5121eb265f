"""Other libraries that solve these problems, each called at its best in a process of its own.

NumPy and the library are all that such a process needs (see serve.py); libraries are imported
by name, since heatsim needs none of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from heatsim.studies.bench.convolution import problems
from heatsim.studies.bench.convolution.problems import ConvolutionProblem, corner_flaw, data

Call = Callable[[], Any]  # computes a result, an array of the library


class Library(NamedTuple):
    """A library that has been imported: its version, how to solve a problem (None if it does not), how to wait for all
    that was asked of it, how to bring an array to NumPy, and the one edge that it has, "" for any."""

    version: str
    solve: Callable[[ConvolutionProblem, np.ndarray, np.ndarray], Call | None]
    wait: Callable[[], None]
    host: Callable[[Any], np.ndarray]
    edge: str = ""


def nothing() -> None:
    """CPU libraries return when they are done."""


def scipy(threads: int) -> Library:
    """scipy.ndimage, one thread."""
    ndimage = import_module("scipy.ndimage")
    return Library(import_module("scipy").__version__, _ndimage(ndimage, np), nothing, np.asarray)


def cupy(threads: int) -> Library:
    """cupyx.scipy.ndimage, and cupy itself for ReLU."""
    module, ndimage = import_module("cupy"), import_module("cupyx.scipy.ndimage")
    module.zeros(1)  # raises where there is no GPU
    wait = import_module("cupy.cuda").get_current_stream().synchronize
    return Library(module.__version__, _ndimage(ndimage, module), wait, module.asnumpy)


def _ndimage(ndimage: Any, arrays: Any) -> Callable[[ConvolutionProblem, np.ndarray, np.ndarray], Call | None]:
    def solve(problem: ConvolutionProblem, field: np.ndarray, weights: np.ndarray) -> Call | None:
        source, mask = arrays.asarray(field), arrays.asarray(weights)
        out, half_done = arrays.empty_like(source), arrays.empty_like(source)
        mode = {"zero": "constant"}.get(problem.edge, problem.edge)

        def separable() -> Any:
            ndimage.convolve1d(source, mask, axis=0, output=half_done, mode=mode)
            ndimage.convolve1d(half_done, mask, axis=1, output=out, mode=mode)
            return out

        def planes() -> Any:
            ndimage.convolve(source, mask, output=out, mode=mode)
            return out

        def lines() -> Any:
            ndimage.convolve1d(source, mask, axis=problem.axis, output=out, mode=mode)
            return out

        relu = None if arrays is np else lambda: arrays.maximum(source, 0, out)
        known = {problems.PLANES: planes, problems.LINES: lines, problems.SEPARABLE: separable, problems.RELU: relu}
        return known.get(problem.family)

    return solve


def opencv(threads: int) -> Library:
    """filter2D and sepFilter2D; they correlate, so masks are turned round."""
    cv2 = import_module("cv2")
    cv2.setNumThreads(threads)
    borders = {"zero": cv2.BORDER_CONSTANT, "nearest": cv2.BORDER_REPLICATE, "reflect": cv2.BORDER_REFLECT}

    def solve(problem: ConvolutionProblem, field: np.ndarray, weights: np.ndarray) -> Call | None:
        if problem.family not in (problems.PLANES, problems.LINES, problems.SEPARABLE):
            return None
        mask, one, out = np.ascontiguousarray(np.flip(weights)), np.ones(1, weights.dtype), np.empty_like(field)
        border = borders[problem.edge]
        if problem.family == problems.PLANES:
            return lambda: cv2.filter2D(field, -1, mask, dst=out, borderType=border)
        down, along = (mask if problem.family == problems.SEPARABLE or problem.axis == axis else one for axis in (0, 1))
        return lambda: cv2.sepFilter2D(field, -1, along, down, dst=out, borderType=border)

    return Library(cv2.__version__, solve, nothing, np.asarray)


def torch_on_cpu(threads: int) -> Library:
    """PyTorch with oneDNN."""
    torch = import_module("torch")
    torch.set_num_threads(threads)
    return Library(torch.__version__, _torch(torch, "cpu"), nothing, lambda tensor: np.asarray(tensor), "zero")


def torch_on_cuda(threads: int) -> Library:
    """PyTorch with cuDNN, which may choose its algorithm by trial, but not TF32."""
    torch = import_module("torch")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.zeros(1, device="cuda")  # raises where there is no GPU
    version = f"{torch.__version__}, cuDNN {torch.backends.cudnn.version()}"
    return Library(
        version,
        _torch(torch, "cuda"),
        import_module("torch.cuda").synchronize,
        lambda tensor: tensor.cpu().numpy(),
        "zero",
    )


def _torch(torch: Any, device: str) -> Callable[[ConvolutionProblem, np.ndarray, np.ndarray], Call | None]:
    functional = torch.nn.functional
    torch.set_grad_enabled(False)

    def solve(problem: ConvolutionProblem, field: np.ndarray, weights: np.ndarray) -> Call | None:
        family = problem.family
        images = torch.from_numpy(field).to(device)
        images = images.reshape((1,) * (4 - field.ndim) + field.shape)
        if family == problems.RELU:
            return lambda: functional.relu(images).reshape(field.shape)
        if family == problems.POOL:
            return lambda: functional.max_pool2d(images, problem.mask).reshape(problem.output)
        masks = [torch.from_numpy(each).to(device) for each in _filters(problem, weights)]
        paddings = [tuple(n // 2 for n in mask.shape[2:]) for mask in masks]

        def convolve() -> Any:
            found = images
            for mask, padding in zip(masks, paddings, strict=True):
                found = functional.conv2d(found, mask, padding=padding, stride=problem.stride)
            return found.reshape(problem.output)

        return convolve

    return solve


def _filters(problem: ConvolutionProblem, weights: np.ndarray) -> list[np.ndarray]:
    """Filters (filters, channels, rows, columns) as correlation has them, one bank after another."""
    if problem.family == problems.BANKS:
        return [weights]
    turned = np.ascontiguousarray(np.flip(weights))
    if problem.family == problems.PLANES:
        return [turned[None, None]]
    down, along = turned[None, None, :, None], turned[None, None, None]
    return [down, along] if problem.family == problems.SEPARABLE else [along if problem.axis else down]


# Name in tables -> how to import it, by device.
LIBRARIES: dict[str, dict[str, Callable[[int], Library]]] = {
    "cpu": {"SciPy": scipy, "OpenCV": opencv, "PyTorch": torch_on_cpu},
    "cuda": {"CuPy": cupy, "PyTorch": torch_on_cuda},
}


# The process of one peer.


ROUNDINGS = 16.0  # FFT and Winograd's algorithm, which peers may choose, lose more than a sum does
SMALL = (37, 91)  # rows and columns of the fields that a peer is verified on, less than a corner


class PreparedPeer:
    """A library and the problem that it holds ready."""

    def __init__(self, device: str, name: str, threads: int) -> None:
        self.library = LIBRARIES[device][name](threads)
        self.call: Call | None = None

    def version(self) -> str:
        """The library's version."""
        return self.library.version

    def verify(self, fields: dict[str, Any]) -> str:
        """What is wrong with the solution of a small problem of this kind and of the problem itself, or ""; ImportError
        where the library has no such thing. The problem stays ready."""
        problem = ConvolutionProblem.of(fields)
        problem = problem._replace(edge=self.library.edge or problem.edge)
        for each in (problem._replace(shape=(*problem.shape[:-2], *SMALL)), problem):
            field, weights = data(each)
            field -= field.dtype.type(0.5)
            self.call = self.library.solve(each, field, weights)
            if self.call is None:
                raise ImportError("has no such thing")
            found = self.library.host(self.call())
            flaw = corner_flaw(each, field, weights, found, ROUNDINGS)
            if flaw:
                return f"{' x '.join(map(str, each.shape))}: {flaw}"
        return ""

    def run(self, repetitions: int) -> float:
        """Seconds that so many solutions take."""
        assert self.call is not None
        self.library.wait()
        begun = time.perf_counter()
        for _ in range(repetitions):
            self.call()
        self.library.wait()
        return time.perf_counter() - begun

    def found(self) -> dict[str, str]:
        """Nothing more."""
        return {}


def make_peer(name: str, device: str, threads: str) -> PreparedPeer:
    """A library of a device."""
    return PreparedPeer(device, name, int(threads))
