"""One file; every mistake is answered with what to write instead."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from metering.errors import ConfigInvalid
from metering.sidecar.config import SidecarConfig, parse_config, read_config

TEXT = """
node = "p1"
stage = "prefill"
model = "glm-5.2"
state_dir = "/var/lib/tokentill"
collectors = ["https://a.example", "https://b.example"]
key_file = "/etc/tokentill/key"
[[source]]
kind = "sglang_export"
dir = "/var/log/sglang"
[[source]]
kind = "metrics"
url = "http://127.0.0.1:30000/metrics"
"""


def parsed(environment: dict[str, str] | None = None, **change: Any) -> SidecarConfig:
    raw = {key: value for key, value in (tomllib.loads(TEXT) | change).items() if value is not None}
    return parse_config(raw, environment or {})


def test_defaults_are_filled_in() -> None:
    """A source is named after its kind and reads the names that its engine gives."""
    files, metrics = parsed().source
    assert (files.name, files.glob) == ("sglang_export", "sglang-request-metrics-*.log")
    assert (metrics.name, metrics.interval_seconds) == ("metrics", 15.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nod": "x"}, r"key 'nod' is not known. Did you mean 'node'\?"),
        ({"limits": {"batch_row": 1}}, r"key limits.'batch_row' .* 'batch_rows'"),
        ({"limits": {"batch_rows": 0}}, r"Expected `int` >= 1 - at `limits.batch_rows`"),
        ({"stage": "both"}, r"Invalid enum value 'both' - at `stage`"),
        ({"node": None}, r"missing required field `node`"),
        ({"node": "p\n1"}, r"node travels as an HTTP header"),
        ({"model": ""}, r"model is empty"),
        (
            {"collectors": ["a.example"]},
            r"expected an http:// or https:// address, got 'a.example'",
        ),
        ({"collectors": []}, r"collectors"),
        ({"key": "both"}, r"set either key_file .* or key"),
        ({"key_file": None}, r"set either key_file"),
        ({"timezone": "Asia/Beijing2"}, r"timezone 'Asia/Beijing2' is unknown"),
        ({"source": [{"kind": "sglang_exprt"}]}, r"kind 'sglang_exprt' .* 'sglang_export'"),
        ({"source": [{"kind": "sglang_export"}]}, r"needs dir"),
        ({"source": [{"kind": "metrics"}]}, r"source 'metrics': url: expected"),
        ({"source": [{"kind": "sglang_export", "dir": "/a", "glob": "x/*"}]}, r"without '/'"),
        ({"source": [{"kind": "sglang_export", "dir": "/a", "name": "a/b"}]}, r"use letters"),
        ({"source": [{"kind": "dcgm", "url": "http://a", "nam": "x"}]}, r"source\[0\].'nam'"),
        ({"source": [{"kind": "mthreads_gmi"}] * 2}, r"two sources are named 'mthreads_gmi'"),
    ],
)
def test_a_mistake_is_named_with_its_remedy(change: dict[str, Any], message: str) -> None:
    """Each message holds the key and what was expected."""
    with pytest.raises(ConfigInvalid, match=message):
        parsed(**change)


def test_the_environment_overrides_the_file() -> None:
    """Containers set what differs from node to node."""
    config = parsed(
        {
            "TOKENTILL_SIDECAR_NODE": "p7",
            "TOKENTILL_SIDECAR_COLLECTORS": "http://one, http://two",
            "TOKENTILL_SIDECAR_LIMITS_BATCH_ROWS": "10",
            "TOKENTILL_SIDECAR_LABELS_TENANT": "team",
            "HOME": "/root",
        }
    )
    assert (config.node, config.collectors) == ("p7", ("http://one", "http://two"))
    assert (config.limits.batch_rows, config.labels.tenant) == (10, "team")


def test_a_misspelt_variable_is_an_error() -> None:
    """Otherwise the setting would be silently ignored."""
    with pytest.raises(ConfigInvalid, match=r"TOKENTILL_SIDECAR_NOD is not known. .* 'NODE'"):
        parsed({"TOKENTILL_SIDECAR_NOD": "p7"})


def test_kubernetes_service_variables_are_no_settings() -> None:
    """A Service named tokentill-sidecar puts these into every container of its namespace."""
    links = ("SERVICE_HOST", "SERVICE_PORT_HTTP", "PORT", "PORT_80_TCP_ADDR")
    assert parsed({f"TOKENTILL_SIDECAR_{link}": "x" for link in links}).node == "p1"


def test_role_is_accepted_for_stage() -> None:
    """The engines call it role."""
    assert parsed(stage=None, role="decode").stage == "decode"


def test_the_message_names_the_file(tmp_path: Path) -> None:
    """Unreadable, or not TOML: the path comes first."""
    path = tmp_path / "sidecar.toml"
    with pytest.raises(ConfigInvalid, match=f"Cannot read {path}"):
        read_config(path, {})
    path.write_text("node = ")
    with pytest.raises(ConfigInvalid, match=f"{path} is not TOML"):
        read_config(path, {})


def test_the_identity_is_what_parsers_add() -> None:
    """Labels named in the file decide who the owner is."""
    identity = parsed(labels={"tenant": "team"}, region="cn-north").identity()
    assert (identity.node_id, identity.stage, identity.region) == ("p1", "prefill", "cn-north")
    assert identity.tenant_label == "team"
