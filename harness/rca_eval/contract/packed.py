"""Documents that were packed with gzip, because they have to fit somewhere: a ConfigMap holds 1 MiB."""

import zlib

from rca_eval.contract.errors import ContractError, Reason

GZIP = b"\x1f\x8b"
"""No JSON document begins so."""


def plain(data: bytes, *, source: str, reason: Reason, limit: int) -> bytes:
    """The document itself, packed or not. At most `limit` bytes come out, whatever the input claims.

    Raises `ContractError` with `reason` for what is damaged, cut off or too large.
    """
    if not data.startswith(GZIP):
        return data
    machine = zlib.decompressobj(wbits=31)
    try:
        document = machine.decompress(data, limit + 1)
    except zlib.error:
        raise ContractError(reason, f"{source} begins as gzip and is none; pack it again.") from None
    if len(document) > limit:
        raise ContractError(
            reason, f"{source} unpacks to more than the {limit} bytes that are read; make it smaller."
        )
    if not machine.eof or machine.unused_data:
        raise ContractError(reason, f"{source} is not one whole gzip file; pack it again with gzip.")
    return document
