"""The control plane: four processes of the host, on addresses that only this machine and its node reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hack.cluster import kubeconfig
from hack.cluster.certificates import Authority, Pair
from hack.cluster.paths import ClusterPaths
from hack.cluster.state import State

SERVICE_SUBNET = "10.96.0.0/16"
FIRST_SERVICE = "10.96.0.1"
_UNTHROTTLED = ("--kube-api-qps=500", "--kube-api-burst=1000")
"""At the default of 20 requests per second the controllers need seconds to start, and tests wait."""
NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


@dataclass(frozen=True)
class Identities:
    """Every certificate of the control plane."""

    authority: Authority
    server: Pair
    admin: Pair
    etcd: Pair
    controller: Pair
    scheduler: Pair
    to_kubelet: Pair
    service_accounts: Pair
    front_proxy: Authority
    front_proxy_client: Pair


def issue(paths: ClusterPaths, state: State) -> Identities:
    """Make the certificates once; later calls return the same ones."""
    authority = Authority(paths.pki)
    authority.ensure()
    front_proxy = Authority(paths.pki / "front-proxy")
    front_proxy.ensure()
    local = ["127.0.0.1", "::1"]
    return Identities(
        authority=authority,
        server=authority.issue(
            "apiserver",
            common_name="kube-apiserver",
            names=["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                   "kubernetes.default.svc.cluster.local"],
            addresses=sorted({*local, FIRST_SERVICE, state.host_address}),
        ),
        admin=authority.issue("admin", common_name="rca-admin", organization="system:masters"),
        etcd=authority.issue("etcd", common_name="etcd", names=["localhost"], addresses=local),
        controller=authority.issue("controller", common_name="system:kube-controller-manager"),
        scheduler=authority.issue("scheduler", common_name="system:kube-scheduler"),
        to_kubelet=authority.issue("to-kubelet", common_name="kube-apiserver", organization="system:masters"),
        service_accounts=authority.signing_key("service-accounts"),
        front_proxy=front_proxy,
        front_proxy_client=front_proxy.issue("client", common_name="front-proxy-client"),
    )  # fmt: skip


def write_kubeconfigs(paths: ClusterPaths, state: State, identities: Identities) -> None:
    """The person's kubeconfig, and those of the two clients in the control plane."""
    files = {
        paths.kubeconfig: identities.admin,
        paths.config / "controller.kubeconfig": identities.controller,
        paths.config / "scheduler.kubeconfig": identities.scheduler,
    }
    for path, client in files.items():
        kubeconfig.write(
            path,
            kubeconfig.document(
                context=state.context,
                server=state.server,
                authority=identities.authority.pair.certificate,
                client=client,
            ),
        )


def commands(
    paths: ClusterPaths, state: State, identities: Identities, bin_dir: Path
) -> Mapping[str, list[str]]:
    """The command line of every process, in the order of their start."""
    return {
        "etcd": [str(bin_dir / "etcd"), *_etcd(paths, state, identities)],
        "kube-apiserver": [str(bin_dir / "kube-apiserver"), *_apiserver(state, identities)],
        "kube-controller-manager": [
            str(bin_dir / "kube-controller-manager"),
            *_controller(paths, state, identities),
        ],
        "kube-scheduler": [str(bin_dir / "kube-scheduler"), *_scheduler(paths, state)],
    }


def _etcd(paths: ClusterPaths, state: State, identities: Identities) -> list[str]:
    """No fsync: the data lives for an hour. TLS: other users of the machine must not read it."""
    authority, pair = identities.authority.pair.certificate, identities.etcd
    client, peer = f"https://127.0.0.1:{state.etcd_port}", f"https://127.0.0.1:{state.etcd_peer_port}"
    return [
        "--name=etcd",
        f"--data-dir={paths.etcd}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=etcd={peer}",
        "--client-cert-auth",
        f"--trusted-ca-file={authority}",
        f"--cert-file={pair.certificate}",
        f"--key-file={pair.key}",
        "--peer-client-cert-auth",
        f"--peer-trusted-ca-file={authority}",
        f"--peer-cert-file={pair.certificate}",
        f"--peer-key-file={pair.key}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _apiserver(state: State, identities: Identities) -> list[str]:
    authority = identities.authority.pair.certificate
    arguments = [
        f"--etcd-servers=https://127.0.0.1:{state.etcd_port}",
        f"--etcd-cafile={authority}",
        f"--etcd-certfile={identities.etcd.certificate}",
        f"--etcd-keyfile={identities.etcd.key}",
        f"--bind-address={state.host_address}",
        f"--secure-port={state.api_port}",
        f"--tls-cert-file={identities.server.certificate}",
        f"--tls-private-key-file={identities.server.key}",
        f"--client-ca-file={authority}",
        f"--service-cluster-ip-range={SERVICE_SUBNET}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={identities.service_accounts.certificate}",
        f"--service-account-signing-key-file={identities.service_accounts.key}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        f"--kubelet-certificate-authority={authority}",
        f"--kubelet-client-certificate={identities.to_kubelet.certificate}",
        f"--kubelet-client-key={identities.to_kubelet.key}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--requestheader-client-ca-file={identities.front_proxy.pair.certificate}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={identities.front_proxy_client.certificate}",
        f"--proxy-client-key-file={identities.front_proxy_client.key}",
        "--profiling=false",
    ]
    if state.with_node:
        return [*arguments, f"--advertise-address={state.host_address}"]
    # Loopback cannot be a Service's endpoint; without a node nobody would use it.
    return [*arguments, "--endpoint-reconciler-type=none"]


def _controller(paths: ClusterPaths, state: State, identities: Identities) -> list[str]:
    config = paths.config / "controller.kubeconfig"
    return [
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        "--bind-address=127.0.0.1",
        f"--secure-port={state.controller_port}",
        f"--root-ca-file={identities.authority.pair.certificate}",
        f"--service-account-private-key-file={identities.service_accounts.key}",
        f"--cluster-signing-cert-file={identities.authority.pair.certificate}",
        f"--cluster-signing-key-file={identities.authority.pair.key}",
        "--use-service-account-credentials",
        *_UNTHROTTLED,
        "--leader-elect=false",
        "--profiling=false",
    ]


def _scheduler(paths: ClusterPaths, state: State) -> list[str]:
    config = paths.config / "scheduler.kubeconfig"
    return [
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        "--bind-address=127.0.0.1",
        f"--secure-port={state.scheduler_port}",
        *_UNTHROTTLED,
        "--leader-elect=false",
        "--profiling=false",
    ]
