"""The name of nnabla's scheduler for networks that do not fit into a GPU's memory."""

from __future__ import annotations

from typing import Any

from .context import Context, device_of
from .logger import logger

__all__ = ["SwapInOutScheduler"]


class SwapInOutScheduler:
    """Accepted where programs use it; arrays stay where they are.

    In nnabla, what the functions inside ``with scheduler:`` do not need at the moment moves from the GPU, where it may
    take `size` bytes, to the host. Here nothing is moved, with a warning where `d_ctx` means a GPU: there
    `nnabla.recompute`, `forward(clear_no_need_grad=True)` and `backward(clear_buffer=True)` save memory.

    h_ctx, d_ctx: the contexts of host and GPU; the other arguments say what to move when.
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
        if device_of(d_ctx).type != "cpu":
            logger.warning(
                "SwapInOutScheduler moves nothing to the host: the network has to fit into the GPU's memory; "
                "nnabla.recompute() lets it take less."
            )

    def start_scheduling(self) -> None:
        """Called where ``with`` begins."""

    def end_scheduling(self) -> None:
        """Called where ``with`` ends."""

    def function_pre_hook(self, func: Any) -> None:
        """May be given to passes; does nothing."""

    def function_post_hook(self, func: Any) -> None:
        """May be given to passes; does nothing."""

    def update_pre_hook(self) -> None:
        """May be given to solvers; does nothing."""

    def update_post_hook(self) -> None:
        """May be given to solvers; does nothing."""

    def __enter__(self) -> SwapInOutScheduler:
        self.start_scheduling()
        return self

    def __exit__(self, *error: Any) -> None:
        self.end_scheduling()
