"""The plug-in itself: takes finished requests from vLLM and hands them to the writer.

`record` runs in the engine's event loop on every step: it copies numbers into a bounded queue and
returns. Whatever goes wrong is counted and logged once, never raised.
"""

import logging
import os
import time
from typing import Any

from tokentill_vllm.finished import Finished
from tokentill_vllm.watch import watch
from tokentill_vllm.writer import Writer, shared_writer

try:
    from vllm.v1.metrics.loggers import StatLoggerBase  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # outside vLLM, where there is nothing to record
    StatLoggerBase = object

FOLDER_VARIABLE = "TOKENTILL_VLLM_DIR"
QUEUE_VARIABLE = "TOKENTILL_VLLM_QUEUE"
QUEUE_DEFAULT = 100_000  # finished requests

logger = logging.getLogger("tokentill_vllm")


class TokentillStatLogger(StatLoggerBase):  # type: ignore[misc,unused-ignore]
    """One per engine core; all of a process share one writer."""

    def __init__(self, vllm_config: Any = None, engine_index: int = 0) -> None:
        """Do no work that could fail: an engine must start with or without us."""
        self._engine_index = engine_index
        self._writer: Writer | None = None
        self._failed = False
        try:
            folder = os.environ.get(FOLDER_VARIABLE)
            if folder:
                limit = int(os.environ.get(QUEUE_VARIABLE, QUEUE_DEFAULT))
                self._writer = shared_writer(folder, limit, _model_of(vllm_config))
                if not watch(self._writer.tell):
                    logger.info("beam search is not known here: each beam counts as a request")
            else:
                logger.warning("%s is not set: no usage is written", FOLDER_VARIABLE)
        except Exception as error:  # noqa: BLE001 # the engine matters more
            self._fail(error)

    def record(
        self,
        scheduler_stats: Any = None,  # noqa: ARG002 # vLLM passes it, by position or by name
        iteration_stats: Any = None,
        *_: Any,
        **__: Any,
    ) -> None:
        """Queue the requests that finished in this step of the engine."""
        if self._writer is None or iteration_stats is None:
            return
        try:
            finished = iteration_stats.finished_requests
            if finished:
                at = getattr(iteration_stats, "iteration_timestamp", None) or time.time()
                calls = getattr(iteration_stats, "n_params_iter", None)
                self._writer.put(
                    [_copy(request, at, self._engine_index) for request in finished],
                    None if calls is None else list(calls),
                )
        except Exception as error:  # noqa: BLE001 # the engine matters more
            self._fail(error)

    def log_engine_initialized(self) -> None:
        """Nothing to say: vLLM calls this once."""

    def log(self) -> None:
        """Nothing to say: vLLM calls this now and then."""

    def record_sleep_state(self, *_: Any, **__: Any) -> None:
        """Sleeping is no usage."""

    def _fail(self, error: Exception) -> None:
        """Say it once."""
        if not self._failed:
            self._failed = True
            logger.warning("usage of this engine may be incomplete", exc_info=error)


def _model_of(vllm_config: Any) -> str | None:
    """The name under which the model is served."""
    config = getattr(vllm_config, "model_config", None)
    name = getattr(config, "served_model_name", None) or getattr(config, "model", None)
    if isinstance(name, (list, tuple)):
        name = name[0] if name else None
    return None if name is None else str(name)


def _copy(request: Any, at: float, engine_index: int) -> Finished:
    """What a FinishedRequestStats says, as far as this version of vLLM says it."""
    cached = getattr(request, "num_cached_tokens", None)
    reason = getattr(request, "finish_reason", None)
    return Finished(
        finished_at=at,
        engine_index=engine_index,
        request_id=getattr(request, "request_id", None),
        finish_reason=None if reason is None else str(reason),
        prompt_tokens=getattr(request, "num_prompt_tokens", None),
        cached_tokens=None if cached is None or cached < 0 else cached,
        output_tokens=getattr(request, "num_generation_tokens", None),
        max_tokens=getattr(request, "max_tokens_param", None),
        preemptions=getattr(request, "num_preemptions", None),
        e2e_seconds=getattr(request, "e2e_latency", None),
        queued_seconds=getattr(request, "queued_time", None),
        prefill_seconds=getattr(request, "prefill_time", None),
        decode_seconds=getattr(request, "decode_time", None),
    )
