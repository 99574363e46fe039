"""Names of images: as a Pod template has them, and as the kubelet reports what it really ran."""

from __future__ import annotations

import re

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def digest_of(image_id: str) -> str | None:
    """The `sha256:…` of an `imageID`, with or without a repository before it; None where the kubelet says none."""
    found = _DIGEST.findall(image_id)
    return found[-1] if found else None


def by_digest(image: str, image_id: str) -> str:
    """The reference that runs exactly what `imageID` says: the template's repository, at that digest.

    An image that was brought to the node by hand has no digest that a registry knows (its ID stands alone). It is run as the
    template names it; what was run is compared afterwards.
    """
    digest = digest_of(image_id)
    return f"{repository(image)}@{digest}" if digest and "@" in image_id else image


def repository(image: str) -> str:
    """The image's name without tag and digest. A port (`registry:5000/agent`) is no tag."""
    name = image.partition("@")[0]
    head, slash, tail = name.rpartition("/")
    return f"{head}{slash}{tail.partition(':')[0]}"


def short_name(image: str) -> str:
    """What people call the image: the last part of its name, with its tag."""
    return image.partition("@")[0].rpartition("/")[2][:100]
