"""JAX: one jitted `fori_loop` over the steps; the state carries its ghost layer and is donated."""

from functools import partial

import numpy as np

from .problem import NUMBER, Sweeps, missing, potential

NAME, DISTRIBUTION, BOUNDARY = "JAX", "jax", "ghost"
SETTINGS = "jit(fori_loop), ghosted state, donated buffers (the fastest of the forms in README.md)"


def available() -> str | None:
    return missing("jax", "jaxlib")


def prepare(initial: np.ndarray) -> Sweeps:
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", initial.dtype == np.float64)

    def sweep(_: int, u: jax.Array) -> jax.Array:
        drives = potential(u)
        in_z = drives[2:, 1:-1, 1:-1] + drives[:-2, 1:-1, 1:-1]
        in_y = drives[1:-1, 2:, 1:-1] + drives[1:-1, :-2, 1:-1]
        in_x = drives[1:-1, 1:-1, 2:] + drives[1:-1, 1:-1, :-2]
        centre = drives[1:-1, 1:-1, 1:-1]
        return jnp.pad(u[1:-1, 1:-1, 1:-1] + NUMBER * (in_z + in_y + in_x - 6 * centre), 1)

    @partial(jax.jit, donate_argnums=0)
    def loop(u: jax.Array, steps: int) -> jax.Array:
        return jax.lax.fori_loop(0, steps, sweep, u)

    field = jnp.asarray(np.pad(initial, 1))

    def advance(steps: int) -> None:
        nonlocal field
        field = loop(field, steps).block_until_ready()

    return Sweeps(advance, lambda: np.asarray(field)[1:-1, 1:-1, 1:-1])
