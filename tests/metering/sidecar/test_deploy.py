"""What docs/sidecar.md and docs/deploy show is what the program takes."""

import configparser
import copy
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import msgspec
import pytest
import yaml

from metering.sidecar.config import (
    SCRAPED_KINDS,
    LabelsConfig,
    LimitsConfig,
    SidecarConfig,
    SourceConfig,
    parse_config,
    read_config,
)
from metering.sidecar.health import PREFIX


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs/sidecar.md").read_text()


def manifests(root: Path) -> dict[str, dict[str, Any]]:
    """By kind."""
    text = (root / "docs/deploy/kubernetes-sidecar.yaml").read_text()
    return {document["kind"]: document for document in yaml.safe_load_all(text)}


def test_the_example_file_is_sound(root: Path) -> None:
    """docs/deploy/sidecar.toml as it stands."""
    assert read_config(root / "docs/deploy/sidecar.toml", {}).node == "p01"


def test_the_examples_of_the_page_are_sound(page: str) -> None:
    """Every TOML block of docs/sidecar.md."""
    for block in page.split("```toml\n")[1:]:
        raw = msgspec.toml.decode(block.partition("```")[0])
        assert parse_config(raw, {}).source


@pytest.mark.parametrize("table", [SidecarConfig, LimitsConfig, SourceConfig, LabelsConfig])
def test_every_key_is_explained(page: str, table: type[msgspec.Struct]) -> None:
    """Each key stands in the page, in the form in which it is written."""
    prefix = "labels." if table is LabelsConfig else ""
    keys = [key for key in table.__struct_fields__ if key not in {"source", "labels", "limits"}]
    assert [key for key in keys if f"`{prefix}{key}`" not in page] == []


def test_every_kind_of_scrape_is_named(page: str) -> None:
    """SGLang's, vLLM's metrics are read as kind metrics."""
    by_other_name = {"sglang_metrics", "vllm_metrics", "sglang_loads"}
    assert [k for k in SCRAPED_KINDS if k not in by_other_name and f'"{k}"' not in page] == []


def test_every_metric_is_named(page: str, root: Path) -> None:
    """The names that health.py serves."""
    code = (root / "metering/sidecar/health.py").read_text()
    served = {word.split('"')[1] for word in code.split("PREFIX + ")[1:]}
    assert [name for name in served if PREFIX + name not in page] == []


def test_the_unit_starts_a_command_that_there_is(root: Path) -> None:
    """ExecStart and ExecReload of the systemd unit."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's keys have capitals
    unit.read(root / "docs/deploy/tokentill-sidecar.service")
    program, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/tokentill")
    assert words == ["sidecar", "run", "--config", "/etc/tokentill/sidecar.toml"]
    assert "-HUP" in unit["Service"]["ExecReload"]


def test_systemd_takes_the_unit(root: Path, tmp_path: Path) -> None:
    """Where systemd is, it knows every key and value; only the program lies elsewhere here."""
    text = (root / "docs/deploy/tokentill-sidecar.service").read_text()
    unit = tmp_path / "tokentill-sidecar.service"
    unit.write_text(text.replace("/opt/tokentill/bin/tokentill", shutil.which("true") or ""))
    verify = shutil.which("systemd-analyze")
    command = [verify, "verify", "--man=no", str(unit)] if verify else ["true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


SECTIONS = {"Unit", "Service", "Install"}


def test_the_unit_is_whole_without_systemd(root: Path) -> None:
    """Sections and keys as systemd.service(5) writes them, each once and none empty."""
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(root / "docs/deploy/tokentill-sidecar.service")
    assert set(unit.sections()) == SECTIONS
    assert all(key[0].isupper() and key.isalnum() for name in SECTIONS for key in unit[name])
    assert all(value for key, value in unit["Service"].items() if key != "CapabilityBoundingSet")


KUBERNETES = (
    "1.29",
    kubernetes_validate.latest_version(),
)  # the oldest that the file names, and now


@pytest.mark.parametrize("version", KUBERNETES)
def test_kubernetes_takes_the_manifests(root: Path, version: str) -> None:
    """Each document against Kubernetes' own schema of its kind; unknown keys are errors."""
    found = manifests(root)
    assert set(found) == {"Secret", "ConfigMap", "StatefulSet"}
    for document in found.values():
        kubernetes_validate.validate(document, version, strict=True)


def test_a_misspelt_key_is_no_kubernetes(root: Path) -> None:
    """The check sees what it is for: restartPolicy, which keeps the sidecar running, misspelt."""
    document = copy.deepcopy(manifests(root)["StatefulSet"])
    sidecar = document["spec"]["template"]["spec"]["initContainers"][0]
    sidecar["restartpolicy"] = sidecar.pop("restartPolicy")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, KUBERNETES[0], strict=True)


def test_the_manifests_configuration_is_sound(root: Path) -> None:
    """The ConfigMap's file with the Pod's environment; its paths lie on mounted volumes."""
    found = manifests(root)
    pod = found["StatefulSet"]["spec"]["template"]["spec"]
    (sidecar,), (engine,) = pod["initContainers"], pod["containers"]
    raw = msgspec.toml.decode(found["ConfigMap"]["data"]["sidecar.toml"])
    config = parse_config(raw, {entry["name"]: "prefill-0" for entry in sidecar["env"]})
    mounts = tuple(mount["mountPath"] + "/" for mount in sidecar["volumeMounts"])
    assert config.node == "prefill-0"
    assert all(path.startswith(mounts) for path in (config.state_dir, config.key_file))
    assert f"--export-metrics-to-file-dir={config.source[0].dir}" in engine["args"]


def test_the_manifests_volumes_exist(root: Path) -> None:
    """Each mount names a volume of the Pod or of the claim templates; the sidecar outlives it."""
    spec = manifests(root)["StatefulSet"]["spec"]
    pod = spec["template"]["spec"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
    containers = [*pod["initContainers"], *pod["containers"]]
    assert {m["name"] for c in containers for m in c["volumeMounts"]} == volumes
    assert pod["initContainers"][0]["restartPolicy"] == "Always"
