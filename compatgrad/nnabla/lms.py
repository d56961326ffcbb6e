"""A placeholder for nnabla's scheduler for networks that do not fit into a GPU's memory."""

from __future__ import annotations

from typing import Any

from compatgrad.core import notes

from .context import Context, device_of
from .logger import logger

__all__ = ["SwapInOutScheduler"]


class SwapInOutScheduler:
    """A scheduler that does nothing, so that programs which use it run: arrays stay where they are. In nnabla, the
    scheduler moves arrays that functions inside `with scheduler:` do not need at the moment from the GPU to the host.
    Where `d_ctx` is a GPU, a warning says that this does not happen. `nnabla.recompute`,
    `forward(clear_no_need_grad=True)` and `backward(clear_buffer=True)` save memory instead.

    Args:
        h_ctx: the context of the host.
        d_ctx: the context of the GPU.
        size: the number of bytes that arrays may take on the GPU.
        prefetch_size: the number of bytes to prefetch; None: 1.5 times `size`.
        save_host_mem, save_host_mem_no_abort: have no effect.

    Example:
        >>> from compatgrad.nnabla.lms import SwapInOutScheduler
        >>> cpu = nn.Context(["cpu:float"], "CpuArray", "0")
        >>> with SwapInOutScheduler(cpu, cpu, size=1 << 30) as scheduler:
        ...     loss = F.sum(nn.Variable((2, 3)))
        ...     loss.forward(function_pre_hook=scheduler.function_pre_hook)

    Source: `nnabla.lms.SwapInOutScheduler` of nnabla 1.39.0.
    """

    def __init__(
        self,
        h_ctx: Context,
        d_ctx: Context,
        size: int,
        prefetch_size: int | None = None,
        save_host_mem: bool = False,
        save_host_mem_no_abort: bool = False,
    ) -> None:
        self.h_ctx, self.d_ctx, self.size = h_ctx, d_ctx, int(size)
        self.prefetch_size = int(size * 1.5) if prefetch_size is None else int(prefetch_size)
        notes.note_difference("SwapInOutScheduler")
        if device_of(d_ctx).type != "cpu":
            logger.warning(
                "SwapInOutScheduler moves nothing to the host: the network has to fit into the GPU's memory; "
                "nnabla.recompute() reduces the memory that it needs."
            )

    def start_scheduling(self) -> None:
        """Called at the start of the ``with`` block."""

    def end_scheduling(self) -> None:
        """Called at the end of the ``with`` block."""

    def function_pre_hook(self, func: Any) -> None:
        """A hook for passes, which does nothing."""

    def function_post_hook(self, func: Any) -> None:
        """A hook for passes, which does nothing."""

    def update_pre_hook(self) -> None:
        """A hook for solvers, which does nothing."""

    def update_post_hook(self) -> None:
        """A hook for solvers, which does nothing."""

    def __enter__(self) -> SwapInOutScheduler:
        self.start_scheduling()
        return self

    def __exit__(self, *error: Any) -> None:
        self.end_scheduling()
