"""Real engines as processes of their own on loopback, and what they count."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

FOLDER = Path(os.environ.get("ENGINES_DIR") or Path.home() / ".cache" / "tokentill-engines")
LOOPBACK = "127.0.0.1"
MODEL = "tiny"
LENGTH = 32_768  # tokens of prompt and answer: long enough that a client can leave before the end
START_SECONDS_MAX = 300
QUIET_SECONDS_MAX = 90
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "OMP_NUM_THREADS": "1",
    "HOME": str(FOLDER / "home"),
    "XDG_CACHE_HOME": str(FOLDER / "cache"),
}
COUNTERS = {
    "vllm": {
        "input": "vllm:prompt_tokens_total",
        "cached": "vllm:prompt_tokens_cached_total",
        "output": "vllm:generation_tokens_total",
    },
    "sglang": {
        "input": "sglang:prompt_tokens_total",
        "cached": "sglang:cached_tokens_total",
        "output": "sglang:generation_tokens_total",
    },
}
RUNNING = {"vllm": "vllm:num_requests_running", "sglang": "sglang:num_running_reqs"}


class Engine:
    """One server of an engine. usage: the folder of its records; what they are: the source."""

    def __init__(
        self, node: str, stage: str, port: int, folder: Path, *, engine: str = "vllm"
    ) -> None:
        self.node, self.stage, self.port, self.engine = node, stage, port, engine
        self.url = f"http://{LOOPBACK}:{port}"
        self.usage = folder / f"{node}-usage"
        self.log = folder / f"{node}.log"
        self.command: Sequence[str] = ()
        self.environment: Mapping[str, str] = {}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def source(self) -> str:
        """The format of its records."""
        return {"vllm": "vllm_stats", "sglang": "sglang_export"}[self.engine]

    def start(self) -> "Engine":
        """Start in a process group of its own, at a low priority."""
        self.usage.mkdir(exist_ok=True)
        for place in ("HOME", "XDG_CACHE_HOME"):
            Path(OFFLINE[place]).mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["nice", "-n", "10", *self.command],
                env=os.environ | OFFLINE | self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def ready(self) -> "Engine":
        """Wait until it serves."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while not answers(f"{self.url}/health"):
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()[-4000:]
            assert time.monotonic() < deadline, self.log.read_text()[-4000:]
            time.sleep(0.5)
        return self

    def end(self, with_signal: signal.Signals = signal.SIGTERM) -> None:
        """Signal the whole group, and again without mercy what is left of it."""
        if self.process is None:
            return
        for each in (with_signal, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, each)
                self.process.wait(timeout=30)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
        self.process = None

    def counted(self) -> dict[str, int]:
        """What its own counters hold, read without the project's parsers."""
        text = httpx.get(f"{self.url}/metrics", timeout=30).text
        return {kind: _sum(text, name) for kind, name in COUNTERS[self.engine].items()}

    def quiet(self) -> dict[str, int]:
        """Its counters once nothing runs and they stand still."""
        deadline = time.monotonic() + QUIET_SECONDS_MAX
        before: dict[str, int] = {}
        while time.monotonic() < deadline:
            text = httpx.get(f"{self.url}/metrics", timeout=30).text
            now = self.counted()
            if now == before and _sum(text, RUNNING[self.engine]) == 0:
                return now
            before = now
            time.sleep(0.4)
        raise AssertionError(f"{self.node} is not quiet: {before}")


def answers(url: str) -> bool:
    """Whether a server says 200."""
    try:
        return httpx.get(url, timeout=5).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def _sum(text: str, name: str) -> int:
    """The sum of a metric over its label sets; 0 where it has none yet."""
    found = re.findall(rf"^{re.escape(name)}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE)
    return sum(int(float(value)) for value in found)


def vllm(node: str, stage: str, port: int, folder: Path, *more: str, **environment: str) -> Engine:
    """A vLLM server with the plug-in; it caches blocks of 32 tokens."""
    engine = Engine(node, stage, port, folder)
    model = ("serve", str(FOLDER / "model"), "--served-model-name", MODEL)
    place = ("--host", LOOPBACK, "--port", str(port))
    size = ("--max-model-len", str(LENGTH), "--max-num-seqs", "16", "--block-size", "32")
    flags = ("--enforce-eager", "--dtype", "float32", "--enable-prompt-tokens-details")
    engine.command = (str(FOLDER / "vllm" / "bin" / "vllm"), *model, *place, *size, *flags, *more)
    engine.environment = {
        "TOKENTILL_VLLM_DIR": str(engine.usage),
        "VLLM_CACHE_ROOT": str(FOLDER / "cache" / "vllm"),
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        **environment,
    }
    return engine


def vllm_half(node: str, stage: str, ports: tuple[int, int], folder: Path) -> Engine:
    """One side of a prefill/decode pair over NIXL. ports: of the server, of NIXL."""
    transfer = '{"kv_connector":"NixlConnector","kv_role":"kv_both","kv_buffer_device":"cpu"}'
    return vllm(
        node,
        stage,
        ports[0],
        folder,
        "--kv-transfer-config",
        transfer,
        VLLM_NIXL_SIDE_CHANNEL_HOST=LOOPBACK,
        VLLM_NIXL_SIDE_CHANNEL_PORT=str(ports[1]),
        UCX_TLS="tcp,sysv,posix,self",
    )


def vllm_router(ports: tuple[int, int], prefill: Engine, decode: Engine, folder: Path) -> Engine:
    """vllm-router in prefill/decode mode. ports: of the server, of its metrics."""
    router = Engine("router", "gateway", ports[0], folder)
    halves = ("--prefill", prefill.url, "--decode", decode.url, "--kv-connector", "nixl")
    place = ("--host", LOOPBACK, "--port", str(ports[0]))
    metrics = ("--prometheus-host", LOOPBACK, "--prometheus-port", str(ports[1]))
    command = str(FOLDER / "vllm" / "bin" / "vllm-router")
    router.command = (command, "--vllm-pd-disaggregation", *halves, *place, *metrics)
    return router


def sglang(node: str, port: int, folder: Path) -> Engine:
    """A plain SGLang server with its export file; it caches single tokens."""
    engine = Engine(node, "unified", port, folder, engine="sglang")
    model = ("--model-path", str(FOLDER / "model"), "--served-model-name", MODEL)
    place = ("--host", LOOPBACK, "--port", str(port))
    cpu = ("--device", "cpu", "--dtype", "float32", "--attention-backend", "torch_native")
    size = (
        "--max-total-tokens",
        str(2 * LENGTH),
        "--context-length",
        str(LENGTH),
        "--mem-fraction-static",
        "0.1",
    )
    flags = ("--sampling-backend", "pytorch", "--disable-overlap-schedule", "--enable-cache-report")
    export = ("--export-metrics-to-file", "--export-metrics-to-file-dir", str(engine.usage))
    command = (str(FOLDER / "sglang" / "bin" / "python"), "-m", "sglang.launch_server")
    engine.command = (*command, *model, *place, *cpu, *size, *flags, "--enable-metrics", *export)
    engine.environment = {"SGLANG_USE_CPU_ENGINE": "1"}
    return engine


def free_ports(count: int) -> list[int]:
    """TCP ports of 127.0.0.1 that nobody listens on, all different."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind((LOOPBACK, 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
