"""What the environment says, or a sentence that names the variable."""

from __future__ import annotations

from datetime import timedelta

import certifi
import pytest

from rca_rollout.integrations.prometheus import Address
from rca_rollout.runtime.settings import SettingsError, from_environment

IMAGE = {"RCA_ROLLOUT_HARNESS_IMAGE": "registry.example/harness:1"}


def test_the_image_alone_is_enough() -> None:
    found = from_environment(IMAGE)
    assert found.harness_image == "registry.example/harness:1"
    assert found.namespaces == ()
    assert (found.metrics_port, found.health_port) == (8081, 8080)
    assert (found.log_level, found.log_format, found.pull_policy) == ("INFO", "json", "IfNotPresent")
    assert found.max_retry_delay == timedelta(minutes=15)
    assert found.context is None
    assert found.prometheus is None


def test_every_setting_is_read() -> None:
    found = from_environment(
        {
            **IMAGE,
            "RCA_ROLLOUT_NAMESPACES": " shop, ,web ",
            "RCA_ROLLOUT_IMAGE_PULL_POLICY": "Never",
            "RCA_ROLLOUT_LOG_LEVEL": "debug",
            "RCA_ROLLOUT_LOG_FORMAT": "plain",
            "RCA_ROLLOUT_MAX_RETRY_DELAY": "1m30s",
            "RCA_ROLLOUT_METRICS_PORT": "0",
            "RCA_ROLLOUT_HEALTH_PORT": "9000",
            "RCA_ROLLOUT_CONTEXT": "kind-x",
            "RCA_ROLLOUT_LEASE_NAMESPACE": "ops",
            "RCA_ROLLOUT_POD_NAME": "rca-rollout-0",
            "RCA_ROLLOUT_POD_UID": "6a1f",
            "RCA_ROLLOUT_PROMETHEUS_URL": "https://prometheus.monitoring:9090/prefix/",
            "RCA_ROLLOUT_PROMETHEUS_TOKEN_FILE": "/etc/token",
            "RCA_ROLLOUT_PROMETHEUS_CA_FILE": certifi.where(),
        }
    )
    assert found.namespaces == ("shop", "web")
    assert (found.metrics_port, found.health_port, found.context) == (0, 9000, "kind-x")
    assert (found.pull_policy, found.log_level, found.log_format) == ("Never", "DEBUG", "plain")
    assert found.max_retry_delay == timedelta(seconds=90)
    assert (found.lease_namespace, found.pod_name, found.pod_uid) == ("ops", "rca-rollout-0", "6a1f")
    assert found.prometheus == Address(
        "https://prometheus.monitoring:9090/prefix/", "/etc/token", certifi.where()
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HARNESS_IMAGE", "  "),
        ("HARNESS_IMAGE", "x" * 513),
        ("IMAGE_PULL_POLICY", "never"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", "xml"),
        ("MAX_RETRY_DELAY", "15 minutes"),
        ("MAX_RETRY_DELAY", "0s"),
        ("METRICS_PORT", "http"),
        ("METRICS_PORT", "-1"),
        ("HEALTH_PORT", "65536"),
        ("PROMETHEUS_URL", "prometheus:9090"),
        ("PROMETHEUS_URL", "ftp://prometheus"),
        ("PROMETHEUS_URL", "http://"),
        ("PROMETHEUS_URL", "http://prometheus:port"),
        ("PROMETHEUS_URL", "http://me:word@prometheus:9090"),
        ("PROMETHEUS_URL", "http://prometheus:9090/graph?g0.expr=up"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"RCA_ROLLOUT_{name}"):
        from_environment({**IMAGE, f"RCA_ROLLOUT_{name}": value})


@pytest.mark.parametrize("path", ["/nowhere/ca.crt", __file__, "/"])
def test_an_authority_that_is_none_is_named(path: str) -> None:
    variables = {
        **IMAGE,
        "RCA_ROLLOUT_PROMETHEUS_URL": "https://prometheus",
        "RCA_ROLLOUT_PROMETHEUS_CA_FILE": path,
    }
    with pytest.raises(SettingsError, match="has to be a file with certificates in PEM"):
        from_environment(variables)


def test_tools_that_apply_from_git_are_those_we_know_and_those_that_are_named() -> None:
    known = from_environment(IMAGE).gitops_managers
    assert {"argocd-controller", "kustomize-controller", "helm"} <= known
    more = from_environment(
        {**IMAGE, "RCA_ROLLOUT_GITOPS_MANAGERS": " my-pipeline, ,kubectl-client-side-apply"}
    )
    assert more.gitops_managers == known | {"my-pipeline", "kubectl-client-side-apply"}
