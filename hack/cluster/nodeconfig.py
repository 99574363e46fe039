"""The configuration files of containerd, the CNI plugins, kubelet and kube-proxy, as plain values."""

from __future__ import annotations

from pathlib import Path

from hack.cluster import cgroups, versions
from hack.cluster.certificates import Authority, Pair
from hack.cluster.paths import ClusterPaths
from hack.cluster.state import State


def containerd(paths: ClusterPaths, *, runc: str, cni_plugins: str) -> str:
    """containerd's configuration, version 3.

    `restrict_oom_score_adj`: without CAP_SYS_RESOURCE (usual inside virtual machines of CI) runc cannot
    lower a score, and a container would not start at all. `opt` is off because it makes /opt/containerd on
    the host.
    """
    return f"""version = 3
root = "{paths.node}/containerd"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.nri.v1.nri",
  "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
address = "{paths.containerd_socket}"

[plugins.'io.containerd.cri.v1.images']
snapshotter = "overlayfs"

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "{versions.PAUSE_IMAGE}"

[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["{cni_plugins}"]
conf_dir = "{paths.config}/cni"

[plugins.'io.containerd.cri.v1.runtime'.containerd]
default_runtime_name = "runc"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
BinaryName = "{runc}"
SystemdCgroup = false
"""


def cni(paths: ClusterPaths, state: State) -> dict[str, object]:
    """Pods on a bridge in the node's network; the host has a route to them."""
    return {
        "cniVersion": "1.0.0",
        "name": "rca",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "cni0",
                "isGateway": True,
                "ipMasq": True,
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "dataDir": f"{paths.node}/ipam",
                    "ranges": [[{"subnet": state.pod_subnet}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def kubelet(paths: ClusterPaths, state: State, authority: Authority, serving: Pair) -> dict[str, object]:
    """kubelet on a small, shared machine: it never evicts because somebody else filled the disk or the
    memory, and never throws away an image, because there is no registry to get it back from."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": state.node_address,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority.pair.certificate)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(serving.certificate),
        "tlsPrivateKeyFile": str(serving.key),
        "readOnlyPort": 0,
        "containerRuntimeEndpoint": f"unix://{paths.containerd_socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroups.group(state.name)}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "localStorageCapacityIsolation": True,
        "evictionHard": {
            "memory.available": "64Mi",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
            "imagefs.inodesFree": "0%",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "resolvConf": str(paths.config / "resolv.conf"),
        "clusterDomain": "cluster.local",
        "volumePluginDir": f"{paths.node}/volume-plugins",
        "syncFrequency": "10s",
        "maxPods": 100,
        "registerNode": True,
        "nodeStatusUpdateFrequency": "5s",
        "rotateCertificates": False,
    }


def kube_proxy(paths: ClusterPaths, binary: Path, state: State) -> list[str]:
    """kube-proxy's command line; the connection tracking limits are the machine's and read-only here."""
    return [
        str(binary),
        f"--kubeconfig={paths.config / 'kube-proxy.kubeconfig'}",
        f"--hostname-override={state.name}",
        "--proxy-mode=iptables",
        f"--cluster-cidr={state.pod_subnet}",
        "--conntrack-max-per-core=0",
        "--conntrack-min=0",
        "--conntrack-tcp-timeout-established=0s",
        "--conntrack-tcp-timeout-close-wait=0s",
    ]
