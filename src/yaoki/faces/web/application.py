"""The web application: the API routes, the event stream, and the page's files."""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as Path_
from starlette.types import ASGIApp

from yaoki.app.person_only import refuse_agents_at_peer
from yaoki.core.lazy_dataclass import replace
from yaoki.errors import YaokiError
from yaoki.faces.web.access import METRICS, AccessGuard, json_response
from yaoki.faces.web.access_tokens import AccessTokens
from yaoki.faces.web.errors import (
    RequestRejected,
    bad_request,
    error_document,
    internal_error_document,
)
from yaoki.faces.web.events import EventHub
from yaoki.faces.web.files import PageFiles
from yaoki.faces.web.graph import EncodedDocument
from yaoki.faces.web.listen_address import ListenAddress
from yaoki.faces.web.openapi import openapi_document
from yaoki.faces.web.parameters import PageRequest, read_body, read_query
from yaoki.faces.web.reports import Download
from yaoki.faces.web.request_context import RequestContext
from yaoki.faces.web.routes import BASE, ROUTES, Route

STATIC = Path(__file__).with_name("static")
BODY_BYTES_MAX = 64 * 1024
# The store serves one reader at a time, so more threads would only wait.
THREADS = 8
PageEndpoint = Callable[[Request], Awaitable[Response]]


class PageApplication:
    """The application, and the event hub behind it."""

    def __init__(
        self, context: RequestContext, address: ListenAddress, tokens: AccessTokens
    ) -> None:
        self.context, self.hub = context, EventHub(context)
        self._threads = CapacityLimiter(THREADS)
        self._document = json.dumps(openapi_document(ROUTES)).encode()
        self._files = PageFiles(STATIC)
        inner = Starlette(
            routes=[*self._api(), *self._page()],
            lifespan=self._life,
            exception_handlers={HTTPException: self._unserved},
        )
        self._guard = AccessGuard(inner, address, tokens, lambda: context.now)

    @property
    def asgi_app(self) -> ASGIApp:
        return self._guard

    @asynccontextmanager
    async def _life(self, _: Starlette) -> AsyncIterator[None]:
        warming = asyncio.create_task(to_thread.run_sync(self.context.open_newest_run))
        following = asyncio.create_task(self.hub.follow())
        try:
            yield
        finally:
            self.hub.close()
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
            await warming

    # -------------------------------------------------------------- the table

    def _api(self) -> list[Path_]:
        own: Mapping[str, PageEndpoint] = {
            "delete_session": self._forget,
            "get_events": self._events,
            "get_openapi_json": self._openapi,
        }
        return [
            Path_(
                BASE + route.path,
                self._error_response(own.get(route.operation_id) or self._endpoint(route)),
                methods=[route.method],
                name=route.operation_id,
            )
            for route in ROUTES
        ]

    def _endpoint(self, route: Route) -> PageEndpoint:
        async def endpoint(request: Request) -> Response:
            state = request.scope["state"]
            asked = PageRequest(
                request.path_params,
                read_query(route.query, request.query_params.multi_items()),
                await _body(request, route),
                state["may"],
                state["how"],
                state["fresh"],
            )
            if route.method == "POST":
                asked = await to_thread.run_sync(self._require_person, request, asked)
            return await to_thread.run_sync(self._answer, route, asked, limiter=self._threads)

        return endpoint

    def _require_person(self, request: Request, asked: PageRequest) -> PageRequest:
        """Refuse callers from a task's process tree; an unknown caller is recorded as such."""
        ours, theirs = request.scope.get("server"), request.scope.get("client")
        if ours and theirs and refuse_agents_at_peer(self.context.app, ours, theirs):
            return asked
        return replace(asked, channel=f"{asked.channel}, caller unknown")

    def _answer(self, route: Route, asked: PageRequest) -> Response:
        assert route.function is not None, f"{route.operation_id} has no function"
        answer = route.function(self.context, asked)
        if isinstance(answer, Download):
            headers = {"Content-Disposition": f'attachment; filename="{answer.file_name}"'}
            return Response(answer.data, headers=headers, media_type=answer.media_type)
        if isinstance(answer, EncodedDocument):
            return Response(answer.body, media_type="application/json")
        return json_response(200, self.context.mask(answer))

    def _error_response(self, endpoint: PageEndpoint) -> PageEndpoint:
        """Every error becomes a response; internal errors are also logged."""

        async def told(request: Request) -> Response:
            try:
                return await endpoint(request)
            except YaokiError as error:
                status, document = error_document(error)
            except ClientDisconnect:
                raise
            except Exception as error:  # noqa: BLE001 - the last place where it can be reported
                print(self.context.mask(traceback.format_exc()), file=sys.stderr, flush=True)
                status, document = internal_error_document(error)
            return json_response(status, self.context.mask(document))

        return told

    async def _forget(self, _: Request) -> Response:
        return self._guard.expire_cookie()

    async def _openapi(self, _: Request) -> Response:
        return Response(self._document, media_type="application/json")

    async def _events(self, request: Request) -> Response:
        route = next(route for route in ROUTES if route.operation_id == "get_events")
        query = read_query(route.query, request.query_params.multi_items())
        after = _after(query["after"], request.headers.get("last-event-id", ""))
        run = await to_thread.run_sync(self._run_id, query["run"])
        self.hub.require_room()
        return StreamingResponse(self.hub.listen(after, run), media_type="text/event-stream")

    def _run_id(self, named: str) -> str:
        return self.context.run(named).id if named else ""

    # -------------------------------------------------------------- the page

    def _page(self) -> list[Path_]:
        """Any other path is a view of the page, so that views can be bookmarked."""
        return [
            Path_(METRICS, self._error_response(self._metrics)),
            Path_("/static/{file:path}", self._file),
            Path_("/favicon.ico", self._no_icon),
            Path_("/{view:path}", self._index),
        ]

    async def _metrics(self, _: Request) -> Response:
        text = await to_thread.run_sync(self.context.metrics_text, limiter=self._threads)
        # Only after the first scrape has loaded the client library, in its thread.
        from yaoki.adapters.telemetry.prometheus import CONTENT_TYPE

        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    async def _no_icon(self, _: Request) -> Response:
        return Response(status_code=204)

    async def _index(self, request: Request) -> Response:
        if request.url.path.startswith("/api"):
            raise HTTPException(404)
        return self._files.serve_index(_known(request))

    async def _file(self, request: Request) -> Response:
        found = self._files.serve(request.path_params["file"], _known(request))
        if found is None:
            raise HTTPException(404)
        return found

    async def _unserved(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        code = {404: "UNKNOWN", 405: "BAD_METHOD"}.get(status, "BAD_REQUEST")
        words = f"there is no {request.method} {request.url.path[:200]}"
        hint = f"{BASE}/openapi.json"
        return json_response(*error_document(RequestRejected(status, code, words, hint=hint)))


def _known(request: Request) -> str:
    return request.headers.get("if-none-match", "")


async def _body(request: Request, route: Route) -> dict[str, Any]:
    if route.body is None:
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestRejected(415, "NOT_JSON", "the body must be application/json")
    raw = bytearray()
    async for piece in request.stream():
        raw += piece
        if len(raw) > BODY_BYTES_MAX:
            raise RequestRejected(
                413, "TOO_LONG", f"the body is longer than {BODY_BYTES_MAX} bytes"
            )
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise bad_request(f"the body is not JSON: {error}") from error
    return read_body(route.body, given)


def _after(asked: int, last: str) -> int | None:
    """A reconnecting browser sends the last entry it saw, which is newer than its URL."""
    if last:
        if not (last.isascii() and last.isdigit() and len(last) <= 18):
            raise bad_request(f"Last-Event-ID: {last[:40]!r} is not the number of an entry")
        return int(last)
    return None if asked < 0 else asked
