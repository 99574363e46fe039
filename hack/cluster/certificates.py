"""A throw-away certificate authority per cluster, made with the `openssl` command.

The CA states basicConstraints and keyUsage as critical: Python 3.13 refuses a CA without them. Keys are
P-256, which takes milliseconds. A cluster lives for hours; its certificates live for a year.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hack.cluster.errors import ClusterError

DAYS = "365"
_EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: Path
    key: Path


def _openssl(*arguments: str) -> None:
    if shutil.which("openssl") is None:
        raise ClusterError("The `openssl` command is missing: install the openssl package.")
    answer = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False, umask=0o077)
    if answer.returncode != 0:
        raise ClusterError(f"openssl {arguments[0]} failed: {answer.stderr.strip()}")


class Authority:
    """The cluster's CA."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.pair = Pair(directory / "ca.crt", directory / "ca.key")

    def ensure(self) -> None:
        """Make the CA once."""
        if self.pair.certificate.exists() and self.pair.key.exists():
            return
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        extensions = self._directory / "ca.cnf"
        extensions.write_text(
            "[req]\ndistinguished_name=dn\nx509_extensions=ca\nprompt=no\n[dn]\nCN=rca-rollout local CA\n"
            "[ca]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign,digitalSignature\n"
            "subjectKeyIdentifier=hash\n",
            encoding="ascii",
        )
        _openssl(
            "req", "-x509", *_EC, "-days", DAYS, "-config", str(extensions),
            "-keyout", str(self.pair.key), "-out", str(self.pair.certificate),
        )  # fmt: skip

    def issue(
        self,
        name: str,
        *,
        common_name: str,
        organization: str = "",
        names: Sequence[str] = (),
        addresses: Sequence[str] = (),
    ) -> Pair:
        """A certificate for a client, and with names or addresses for a server too; made once."""
        pair = Pair(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        if pair.certificate.exists() and pair.key.exists():
            return pair
        request, extensions = self._directory / f"{name}.csr", self._directory / f"{name}.cnf"
        alternatives = [f"DNS:{item}" for item in names] + [f"IP:{item}" for item in addresses]
        usage = "clientAuth,serverAuth" if alternatives else "clientAuth"
        lines = [
            "basicConstraints=critical,CA:FALSE",
            "keyUsage=critical,digitalSignature,keyEncipherment",
            f"extendedKeyUsage={usage}",
            "authorityKeyIdentifier=keyid",
        ]
        if alternatives:
            lines.append(f"subjectAltName={','.join(alternatives)}")
        extensions.write_text("\n".join(lines) + "\n", encoding="ascii")
        subject = (f"/O={organization}" if organization else "") + f"/CN={common_name}"
        _openssl("req", "-new", *_EC, "-subj", subject, "-keyout", str(pair.key), "-out", str(request))
        _openssl(
            "x509", "-req", "-days", DAYS,
            "-in", str(request), "-extfile", str(extensions), "-CAcreateserial",
            "-CA", str(self.pair.certificate), "-CAkey", str(self.pair.key), "-out", str(pair.certificate),
        )  # fmt: skip
        return pair

    def signing_key(self, name: str) -> Pair:
        """A key pair without a certificate, for service account tokens."""
        pair = Pair(self._directory / f"{name}.pub", self._directory / f"{name}.key")
        if not (pair.certificate.exists() and pair.key.exists()):
            _openssl(
                "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(pair.key)
            )
            _openssl("pkey", "-in", str(pair.key), "-pubout", "-out", str(pair.certificate))
        return pair
