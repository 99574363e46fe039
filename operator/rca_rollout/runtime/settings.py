"""What the installation decides, from the environment. The chart sets these; `docs/` lists them."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from rca_rollout.api.base import ApiError
from rca_rollout.api.values import Duration
from rca_rollout.core.managers import GITOPS_MANAGERS
from rca_rollout.integrations.prometheus import Address

_LONGEST_IMAGE = 512
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")


class SettingsError(ValueError):
    """An environment variable that cannot be used; the message is a sentence that names it."""


@dataclass(frozen=True)
class Settings:
    """Namespaces empty means the whole cluster. Ports 0 turn the server off."""

    namespaces: tuple[str, ...]
    harness_image: str
    pull_policy: str
    metrics_port: int
    health_port: int
    log_level: str
    log_format: str
    max_retry_delay: timedelta
    context: str | None = None
    workers: int = 8
    # Where the Lease is; empty: see `LeasePlace`. The Pod, as the Lease names it; empty outside of one.
    lease_namespace: str = ""
    pod_name: str = ""
    pod_uid: str = ""
    # None: no Prometheus is asked, so live conditions have no data.
    prometheus: Address | None = None
    # Field managers that apply from Git what they declare, ours to know and those of the installation.
    gitops_managers: frozenset[str] = GITOPS_MANAGERS


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """Raises `SettingsError`."""

    def text(name: str, default: str) -> str:
        return environment.get(f"RCA_ROLLOUT_{name}", "").strip() or default

    image = text("HARNESS_IMAGE", "")
    if not image:
        raise SettingsError(
            "RCA_ROLLOUT_HARNESS_IMAGE is not set: name the harness image (the chart sets it from harness.image)"
        )
    if len(image) > _LONGEST_IMAGE:
        raise SettingsError(
            f"RCA_ROLLOUT_HARNESS_IMAGE has {len(image)} characters: at most {_LONGEST_IMAGE} fit into the status of a run"
        )
    policy = text("IMAGE_PULL_POLICY", "IfNotPresent")
    if policy not in _PULL_POLICIES:
        raise SettingsError(
            f"RCA_ROLLOUT_IMAGE_PULL_POLICY is {policy!r}: use one of {', '.join(_PULL_POLICIES)}"
        )
    log_format = text("LOG_FORMAT", "json")
    if log_format not in ("json", "plain"):
        raise SettingsError(f"RCA_ROLLOUT_LOG_FORMAT is {log_format!r}: use json or plain")
    level = text("LOG_LEVEL", "info").upper()
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise SettingsError(f"RCA_ROLLOUT_LOG_LEVEL is {level!r}: use debug, info, warning or error")
    try:
        delay = Duration.parse(text("MAX_RETRY_DELAY", "15m")).delta
    except ApiError as error:
        raise SettingsError(f"RCA_ROLLOUT_MAX_RETRY_DELAY: {error}") from None
    if not delay:
        raise SettingsError(
            "RCA_ROLLOUT_MAX_RETRY_DELAY is 0: runs without a verdict would follow each other at once"
        )
    names = (name.strip() for name in text("NAMESPACES", "").split(","))
    return Settings(
        namespaces=tuple(name for name in names if name),
        harness_image=image,
        pull_policy=policy,
        metrics_port=_port("METRICS_PORT", text("METRICS_PORT", "8081")),
        health_port=_port("HEALTH_PORT", text("HEALTH_PORT", "8080")),
        log_level=level,
        log_format=log_format,
        max_retry_delay=delay,
        context=text("CONTEXT", "") or None,
        lease_namespace=text("LEASE_NAMESPACE", ""),
        pod_name=text("POD_NAME", ""),
        pod_uid=text("POD_UID", ""),
        prometheus=_prometheus(text),
        gitops_managers=GITOPS_MANAGERS
        | {name.strip() for name in text("GITOPS_MANAGERS", "").split(",") if name.strip()},
    )


def _prometheus(text: Callable[[str, str], str]) -> Address | None:
    url = text("PROMETHEUS_URL", "")
    token = text("PROMETHEUS_TOKEN_FILE", "")
    authority = text("PROMETHEUS_CA_FILE", "")
    if not url:
        return None
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment:
        raise SettingsError(
            f"RCA_ROLLOUT_PROMETHEUS_URL is {url!r}: use an address such as http://prometheus.monitoring:9090"
        )
    if parts.username or parts.password:
        raise SettingsError(
            "RCA_ROLLOUT_PROMETHEUS_URL holds a user or a password: put a token into a file, and name that in "
            "RCA_ROLLOUT_PROMETHEUS_TOKEN_FILE"
        )
    try:
        if authority:
            ssl.create_default_context(cafile=authority)
    except OSError as error:
        raise SettingsError(
            f"RCA_ROLLOUT_PROMETHEUS_CA_FILE is {authority!r}: it has to be a file with certificates in PEM ({error.strerror or error})"
        ) from None
    return Address(url, token or None, authority or None)


def _port(name: str, value: str) -> int:
    if not value.isdecimal() or int(value) > 65535:
        raise SettingsError(f"RCA_ROLLOUT_{name} is {value!r}: use a port number, or 0 for no server")
    return int(value)
