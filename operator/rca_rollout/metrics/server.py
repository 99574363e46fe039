"""`/metrics`, served by the operator's own loop: a scrape reads the watched objects, and a thread would meet their
changes half-way ("dictionary changed size during iteration"), just when there is most to see."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder


async def serve_metrics(
    port: int, registry: CollectorRegistry, ready: Callable[[], bool] = lambda: True
) -> web.AppRunner:
    """Serves `/metrics`, and `/readyz` by what `ready` says, until the runner's `cleanup`.

    Raises `OSError` when the port is taken.
    """

    async def scrape(request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(registry), headers={"Content-Type": content_type})

    async def readyz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if ready() else web.Response(status=503, text="starting\n")

    app = web.Application()
    app.router.add_get("/metrics", scrape)
    app.router.add_get("/readyz", readyz)
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=1.0, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", port).start()  # noqa: S104 - Prometheus comes from outside the Pod
    return runner
