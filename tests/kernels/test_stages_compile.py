"""The kernels of stages compile, without a GPU; and what they compile to."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
from heatsim_kernels.stencil import ONE_STEP_KERNELS
from numba import types
from test_cuda_compiles import LARGEST, PRECISIONS, ptx_of, pytestmark, registers, spilled_bytes, structure
from test_cuda_compiles import sweep_signature as explicit_signature

__all__ = ["pytestmark"]


def stage_signature(precision: str, kinds: str) -> Any:
    """u, v, shape, walls, medium, heat with what stages are made of."""
    from heatsim_kernels.stencil.cuda.cell_update import CudaStageSources

    *others, heat = explicit_signature(precision, kinds).args
    real = getattr(types, precision)
    return types.void(*others, types.NamedTuple((*heat.types, *(real[::1],) * 3, *(real,) * 4), CudaStageSources))


def ptx_of_stage(movement: str, name: str, precision: str, form: str) -> str:
    module = import_module(f"heatsim_kernels.stencil.ladder.{movement}")
    chosen = structure(name, precision)._replace(stage=form)
    return ptx_of(module.build, (chosen, module.TILES[0]), stage_signature(precision, chosen.class_dtype), (9, 0))


CASES = [
    *((movement, LARGEST, "float32", "four") for movement in ONE_STEP_KERNELS),
    ("register", "uniform", "float32", "two"),
    ("register", "uniform", "float64", "four"),
]


@pytest.mark.parametrize(("movement", "name", "precision", "form"), CASES)
def test_a_stage_compiles_without_spills_and_fuses_no_multiply_add_by_itself(
    movement: str, name: str, precision: str, form: str
) -> None:
    ptx = ptx_of_stage(movement, name, precision, form)
    real = "f32" if precision == "float32" else "f64"
    assert spilled_bytes(ptx, (9, 0)) == 0
    assert registers(ptx, (9, 0)) <= 128
    assert not re.findall(rf"(?:mul|mad|div|rcp)\S*\.{real}\b|\.ftz|\.approx", ptx)
    assert precision == "float64" or ".f64" not in ptx


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_kernel_of_the_defect_compiles_without_spills(precision: str) -> None:
    from heatsim_kernels.stencil.cuda import trapezoidal_defect

    fields = (getattr(types, precision)[::1],) * 4
    signature = types.void(*fields, types.float64, types.float64[:, ::1])
    assert spilled_bytes(ptx_of(trapezoidal_defect.build, None, signature, (9, 0)), (9, 0)) == 0
