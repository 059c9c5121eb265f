"""Peak, time above a threshold and cooling rate, kept beside a field: CPU, CUDA simulator, GPU."""

from __future__ import annotations

import numpy as np
import pytest
import simulate_watch
from heatsim_kernels.field.time_statistics import CpuTimeStatistics, StatisticsRequest, bytes_a_cell
from helpers import simulator
from helpers.in_turn import in_turn
from watch_cases import CASES, WANTED, expected, samples

with_cuda = simulator.needs_numba_cuda


def statistics_request(seen: list[tuple[np.ndarray, float]], wanted: StatisticsRequest) -> dict[str, np.ndarray]:
    on_progress = CpuTimeStatistics(seen[0][0].reshape(-1), seen[0][0].shape, wanted)
    for field, elapsed in seen[1:]:
        on_progress.sample(field.reshape(-1), elapsed)
    return on_progress.fields()


@in_turn(("name", "dtype"), CASES)
def test_the_cpu_sees_what_numpy_sees(name: str, dtype: type) -> None:
    seen = list(samples(dtype, (5, 40, 700)))  # enough for several threads
    found, by_numpy = statistics_request(seen, WANTED[name]), expected(seen, WANTED[name])
    assert found.keys() == by_numpy.keys()
    for key, values in found.items():
        assert values.dtype == (np.float64 if key == "time_above" else dtype)
        np.testing.assert_allclose(values, by_numpy[key], rtol=1e-6 if dtype is np.float32 else 1e-13, atol=1e-15)


@in_turn(("name", "dtype"), CASES)
def test_the_bytes_of_a_watch_are_those_of_its_arrays(name: str, dtype: type) -> None:
    field, wanted = np.zeros((2, 3, 7), dtype), WANTED[name]
    kept = vars(CpuTimeStatistics(field.reshape(-1), field.shape, wanted)).values()
    prescribed = sum(each.nbytes for each in kept if isinstance(each, np.ndarray))
    times, coolings = wanted.above is not None, wanted.crossing is not None
    assert prescribed == field.size * bytes_a_cell(wanted.peak, times, coolings, field.itemsize)


def test_a_field_that_changes_linearly_is_watched_exactly_whatever_the_interval() -> None:
    """From 10 to -10 in 4 s: 1.5 s above 2.5, through 0 at 5 a second."""
    for times in ([0, 4], [0, 1, 1.25, 3.5, 4]):
        seen = [(np.full((1, 1, 2), 10.0 - 5.0 * t), t - before) for t, before in zip(times, [0, *times], strict=False)]
        fields = statistics_request(seen, StatisticsRequest(True, 2.5, 0.0))
        assert fields["peak_temperature"].tolist() == [[[10.0, 10.0]]]
        assert fields["time_above"] == pytest.approx(np.full((1, 1, 2), 1.5))
        assert fields["cooling_rate"] == pytest.approx(np.full((1, 1, 2), 5.0))


def test_the_last_solidification_counts_and_what_never_cooled_has_no_rate() -> None:
    rises = [np.array([[[1.0, 1.0, -1.0]]]), np.array([[[-1.0, 1.0, 1.0]]]), np.array([[[1.0, 1.0, 2.0]]])]
    seen = [*((field, 0.5) for field in rises), (np.array([[[-3.0, 1.0, 3.0]]]), 0.5)]
    rate = statistics_request(seen, StatisticsRequest(True, 0.0, 0.0))["cooling_rate"]
    assert rate[0, 0, 0] == 8.0
    assert np.isnan(rate[0, 0, 1:]).all()


def test_many_short_steps_lose_no_time() -> None:
    field = np.ones(1, np.float32)
    on_progress = CpuTimeStatistics(field, (1, 1, 1), StatisticsRequest(above=0.0))
    for _ in range(20_000):
        on_progress.sample(field, 1e-7)
    assert on_progress.fields()["time_above"].item() == pytest.approx(2e-3, rel=1e-11)


simulated = simulator.fixture_of(simulate_watch.__file__)


@with_cuda
@in_turn(("name", "dtype"), CASES)
def test_the_simulated_kernel_gives_the_bits_of_the_cpu(
    name: str, dtype: type, simulated: dict[str, np.ndarray]
) -> None:
    fields = statistics_request(list(samples(dtype)), WANTED[name])
    prefix = f"{name}, {np.dtype(dtype).name}: "
    assert {key.removeprefix(prefix) for key in simulated if key.startswith(prefix)} == fields.keys()
    for key, values in fields.items():
        assert simulated[prefix + key].tobytes() == values.tobytes()


@with_cuda
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_kernel_compiles_for_a_gpu_without_spills(precision: str) -> None:
    from heatsim_kernels.device.cuda.api import cuda
    from heatsim_kernels.field.cuda.time_statistics import build
    from numba import types

    real, number = getattr(types, precision)[::1], types.float64
    signature = types.void(real, real, real, types.float64[::1], real, number, number, number)
    ptx, _ = cuda.compile_ptx(build((True, True, True)), signature, cc=(9, 0))
    assert ".local" not in ptx  # nothing lies in local memory
    assert "div.rn.f64" in ptx
    alone, _ = cuda.compile_ptx(build((True, False, False)), signature, cc=(9, 0))
    assert "div.rn" not in alone  # what is not wanted is not compiled


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_a_gpu_gives_the_bits_of_the_cpu_watch(name: str, dtype: type) -> None:
    from heatsim_kernels.device.cuda.arrays import on_device
    from heatsim_kernels.field.cuda.time_statistics import CudaTimeStatistics

    seen = list(samples(dtype, (5, 40, 701)))
    on_progress = CudaTimeStatistics(on_device(seen[0][0].reshape(-1)), (5, 40, 701), WANTED[name])
    for field, elapsed in seen[1:]:
        on_progress.sample(on_device(field.reshape(-1)), elapsed)
    found = on_progress.fields()
    for key, values in statistics_request(seen, WANTED[name]).items():
        assert found[key].tobytes() == values.tobytes()
