"""Whether a model fits a worker: what both have, in packages and in memory."""

from __future__ import annotations

from dataclasses import dataclass

ROOM = 1.2
"""Times the weights, for what is computed with them."""


@dataclass(frozen=True)
class WorkNeeds:
    """What work needs.

    - `modules`: to be imported.
    - `parameters`: weights of the model; 0 where that is not known here, and then no worker is too small.
    - `cpu_bytes` and `gpu_bytes`: of memory for one of them.
    - `is_spread`: whether the model may lie on several GPUs.
    - `takes_gpu`: whether it runs on nothing else.
    """

    modules: frozenset[str] = frozenset()
    parameters: int = 0
    cpu_bytes: float = 4.0
    gpu_bytes: float = 2.0
    is_spread: bool = False
    takes_gpu: bool = False


@dataclass(frozen=True)
class WorkerCapacity:
    """What a worker has."""

    modules: frozenset[str] = frozenset()
    memory: int | None = None
    """Bytes of the machine, or of the container in it."""
    gpus: int = 0
    """That it may use."""
    gpu_memory: int | None = None
    """Bytes of the first of them."""


def fits(needs: WorkNeeds, capacity: WorkerCapacity) -> bool:
    """Whether the worker can do it, as far as is known."""
    if not needs.modules <= capacity.modules or (needs.takes_gpu and not capacity.gpus):
        return False
    if capacity.gpus:
        gpus = capacity.gpus if needs.is_spread else 1
        return capacity.gpu_memory is None or needs.parameters * needs.gpu_bytes * ROOM <= capacity.gpu_memory * gpus
    return capacity.memory is None or needs.parameters * needs.cpu_bytes * ROOM <= capacity.memory
