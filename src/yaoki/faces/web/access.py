"""Access control: host, origin and token of every request; strict headers on every response."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yaoki.core.text import replace_lone_surrogates
from yaoki.faces.web.access_tokens import (
    ACT,
    COOKIE,
    COOKIE_VALID_FOR,
    FRESH,
    LINK,
    SCRAPE,
    AccessToken,
    AccessTokens,
)
from yaoki.faces.web.errors import RequestRejected, error_document
from yaoki.faces.web.listen_address import ListenAddress

API = "/api/"
METRICS = "/metrics"
ENTER = "/enter"
OK = 200
SAFE = frozenset({"GET", "HEAD"})
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data:; font-src 'self'; worker-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: with it a browser hides the origin of a POST from our own page.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class AccessGuard:
    """Wraps the whole application; a rejected request reaches nothing else."""

    def __init__(
        self, app: ASGIApp, place: ListenAddress, passes: AccessTokens, now: Callable[[], datetime]
    ) -> None:
        self._app, self._place, self._passes, self._now = app, place, passes, now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        strict = _add_headers(send)
        try:
            answer = self._rejection(scope)
        except RequestRejected as turned:
            if _opened_an_old_link(scope, turned):
                # A person gets the page, which asks for the link; its data still needs a token.
                strict = _add_headers(send, turned.status)
                answer = None
            else:
                answer = json_response(*error_document(turned))
        await (answer or self._app)(scope, receive, strict)

    def _rejection(self, scope: Scope) -> Response | None:
        """None when the request may pass; its permission is then stored in the scope."""
        headers = Headers(scope=scope)
        self._check_host(headers)
        self._check_origin(scope["method"], headers)
        if scope["path"] == ENTER:
            return self._enter(scope)
        if scope["path"].startswith(API):
            known, face = self._token_of(headers)
            if scope["method"] not in SAFE and known.permission != ACT:
                raise RequestRejected(403, "READ_ONLY", "this link is read-only", hint="yaoki ui")
            fresh = self._now() - known.made_at < FRESH
            origin = {"may": known.permission, "how": f"{face} {known.name}", "fresh": fresh}
            scope.setdefault("state", {}).update(origin)
        elif scope["path"] == METRICS and not self._is_metrics_request(headers):
            self._token_of(headers)
        return None

    def _is_metrics_request(self, headers: Headers) -> bool:
        """A metrics token opens nothing else."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        known = self._passes.permission_of(SCRAPE, token.strip(), self._now())
        return scheme.lower() == "bearer" and bool(known)

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._place.answers_to(hosts[0]):
            raise RequestRejected(
                421,
                "WRONG_HOST",
                f"this server does not answer to {', '.join(hosts)[:80]!r}",
                hint="open the link that yaoki ui printed",
            )

    def _check_origin(self, method: str, headers: Headers) -> None:
        """Refuse requests that pages of other sites send, whatever cookie the browser adds."""
        own = {f"{scheme}://{headers['host']}" for scheme in ("http", "https")}
        origins, site = headers.getlist("origin"), headers.get("sec-fetch-site", "")
        foreign = any(origin not in own for origin in origins)
        unsaid = method not in SAFE and not origins and "authorization" not in headers
        # Another port of this machine is the same site to a browser, but not our page.
        foreign_site = site in {"cross-site", "same-site"}
        embedded = foreign_site and headers.get("sec-fetch-mode") != "navigate"
        if foreign or unsaid or embedded:
            origin = ", ".join(origins)[:80] or site or "nowhere"
            raise RequestRejected(
                403, "WRONG_ORIGIN", f"requests from {origin!r} are not accepted here"
            )

    def _token_of(self, headers: Headers) -> tuple[AccessToken, str]:
        """The token of the request, and whether it comes from a program or a browser."""
        given = headers.get("authorization", "")
        if given:
            scheme, _, token = given.partition(" ")
            known = self._passes.verify(LINK, token.strip(), self._now())
            known = known if scheme.lower() == "bearer" else None
        else:
            given = self._cookie(headers)
            known = self._passes.verify(COOKIE, given, self._now())
        if known:
            return known, "API" if "authorization" in headers else "page"
        code = "WRONG_TOKEN" if given else "NO_TOKEN"
        words = "the token is invalid or expired" if given else "a token is needed"
        raise RequestRejected(401, code, words, hint="open the link that yaoki ui prints")

    def _cookie(self, headers: Headers) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")[:8192]).get(self._cookie_name)
        except CookieError:
            return ""
        return found.value if found else ""

    @property
    def _cookie_name(self) -> str:
        """Cookies ignore ports, so the name contains the port."""
        return f"yaoki-{self._place.port}"

    def _enter(self, scope: Scope) -> Response:
        """The token of a link becomes a cookie; the browser keeps the address without it."""
        from starlette.requests import Request

        if scope["method"] not in SAFE:
            raise RequestRejected(405, "BAD_METHOD", "only GET is allowed here")
        now = self._now()
        given = Request(scope).query_params.get("token", "")
        known = self._passes.verify(LINK, given, now)
        if not known:
            hint = "links are valid for a day; get a new one: yaoki ui"
            code = "WRONG_TOKEN" if given else "NO_TOKEN"
            words = "the token is invalid or expired" if given else "a token is needed"
            raise RequestRejected(401, code, words, hint=hint)
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(
            self._cookie_name,
            self._passes.make(COOKIE, known.permission, now, known.made_at),
            max_age=int(COOKIE_VALID_FOR.total_seconds()),
            httponly=True,
            samesite="strict",
        )
        return answer

    def expire_cookie(self) -> Response:
        answer = Response(status_code=204)
        answer.delete_cookie(self._cookie_name, httponly=True, samesite="strict")
        return answer


def _opened_an_old_link(scope: Scope, turned: RequestRejected) -> bool:
    wants = Headers(scope=scope).get("accept", "")
    return scope["path"] == ENTER and turned.code == "WRONG_TOKEN" and "text/html" in wants


def _add_headers(send: Send, status: int = OK) -> Send:
    """Add the strict headers, and replace the status if one is given."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            if message["status"] == OK:
                message["status"] = status
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sent


def json_response(status: int, document: Mapping[str, Any]) -> Response:
    body = replace_lone_surrogates(
        json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    ).encode()
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return Response(body, status, headers, media_type="application/json")
