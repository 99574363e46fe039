"""The resources that the operator speaks of, and where the API serves them."""

from __future__ import annotations

from dataclasses import dataclass

GROUP = "rca.bluerobin.io"
VERSION = "v1alpha1"


@dataclass(frozen=True)
class Resource:
    """One resource of the API: where it is served and what its objects call themselves."""

    group: str
    version: str
    plural: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of the collection (of all namespaces with None), one object or its subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root, *(("namespaces", namespace) if namespace else ()), self.plural]
        parts += [part for part in (name, subresource) if part]
        return "/".join(parts)


COMPONENTS = Resource(GROUP, VERSION, "rcacomponents", "RcaComponent")
RUNS = Resource(GROUP, VERSION, "evalruns", "EvalRun")
SUITES = Resource(GROUP, VERSION, "evalsuites", "EvalSuite")
JOBS = Resource("batch", "v1", "jobs", "Job")
PODS = Resource("", "v1", "pods", "Pod")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
EVENTS = Resource("", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")


def resource_of(path: str) -> str:
    """`evalruns/status` of a path as `Resource.path` makes it."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return "/".join([*rest[:1], *rest[2:3]])
