"""What stands between the network and the application: whose requests are heard, how large, how often.

A page that some other site has opened in the same browser can reach 127.0.0.1 too. So a request has to name this
machine as its host (else a name that an attacker controls could be made to point here, "DNS rebinding"), a browser's
request has to come from this very page (`Origin`, `Sec-Fetch-Site`), and bodies have to be JSON, which other sites'
forms cannot send.
"""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.problems import Problem

MOST_BODY = 300_000
"""Bytes of a request; a record of `RECORD_BYTES` characters fits."""

_TOO_LARGE = f"A request has at most {MOST_BODY} bytes."
_LOCAL_NAMES = {"localhost"}


def security_headers(host: str) -> list[tuple[bytes, bytes]]:
    """Headers of every answer; the page loads nothing from elsewhere and runs no script but its own files."""
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
        f"connect-src 'self' ws://{host} wss://{host}; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return [
        (b"content-security-policy", policy.encode("latin-1")),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    ]


class Guard:
    """Lets through what `check` finds nothing against.

    Args:
        app: the application.
        names: names of this machine by which it may be addressed, besides localhost and any IP address.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str] = ()) -> None:
        self.app = app
        self._names = _LOCAL_NAMES | {name.lower() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        problem = self.check(scope, headers)
        if scope["type"] == "websocket":
            if problem is not None:
                await receive()
                await send({"type": "websocket.close", "code": 4403, "reason": str(problem)[:100]})
                return
            await self.app(scope, receive, send)
            return
        host = headers.get("host", "") if problem is None else "localhost"
        secure = security_headers(host)

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [name.lower() for name, _ in message.get("headers", [])]
                message["headers"] = [*message.get("headers", []), *secure]
                if b"cache-control" not in own:
                    message["headers"].append((b"cache-control", b"no-cache"))
            await send(message)

        if problem is not None:
            await refuse(send_secured, problem)
            return
        await self.app(scope, _Limited(receive), send_secured)

    def check(self, scope: Scope, headers: dict[str, str]) -> Problem | None:
        """What speaks against a request, or None."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            return Problem("forbidden", "This server answers only to its own address, such as localhost.")
        origin = headers.get("origin")
        if origin is not None and urlsplit_host(origin) != host.lower():
            return Problem("forbidden", "This server does not serve the pages of other sites.")
        navigates = headers.get("sec-fetch-mode") == "navigate" and scope.get("method") in ("GET", "HEAD")
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not navigates:
            return Problem("forbidden", "This server does not serve the pages of other sites.")
        if scope["type"] == "http" and scope["method"] in ("POST", "PUT", "PATCH"):
            kind = headers.get("content-type", "").split(";")[0].strip().lower()
            if kind != "application/json":
                return Problem("unsupported", "Requests are JSON: send Content-Type: application/json.")
            length = headers.get("content-length", "0")
            if length.isdecimal() and int(length) > MOST_BODY:
                return Problem("too_large", _TOO_LARGE)
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header names this machine; IP addresses do, since no name can be made to lead to them."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            urlsplit(f"//{host}").port  # noqa: B018 - raises for what is no port
        except ValueError:
            return False
        if any(sign in host for sign in "/?#@\\ ;,'\""):
            return False
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def urlsplit_host(origin: str) -> str:
    """Host and port of an origin, in small letters; "" for "null" and what is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


async def refuse(send: Send, problem: Problem) -> None:
    """Answer with a problem."""
    body = json.dumps(problem.body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class _Limited:
    """Counts what is received of a body, whatever its header promised."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._bytes = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > MOST_BODY:
            raise HTTPException(413, _TOO_LARGE)
        return message


class Rate:
    """A bucket of permissions that fills again: `burst` at once, then `per_second`."""

    def __init__(self, burst: float, per_second: float) -> None:
        self._burst, self._per_second = burst, per_second
        self._left, self._at = burst, time.monotonic()

    def take(self, what: str) -> None:
        """Use up one permission.

        Raises:
            Problem: there is none left at the moment.
        """
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            wait = (1 - self._left) / self._per_second
            raise Problem("too_many", f"Too many {what} at once: wait a moment.", seconds=round(wait, 1))
        self._left -= 1
