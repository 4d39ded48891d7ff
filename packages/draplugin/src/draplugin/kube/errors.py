"""What can go wrong with a request to the API server, one class per thing a caller decides on.

The mapping follows the Status object (k8s.io/apimachinery meta/v1 StatusReason) and falls back to
the HTTP code, because proxies between us and the server answer with codes alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class ApiError(Exception):
    """A request failed. `status` is the HTTP code, 0 where no answer came."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        body: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason
        self.body = dict(body or {})
        self.retry_after = retry_after


class NotFound(ApiError):  # noqa: N818
    """404: there is no such object, or no such resource."""


class Conflict(ApiError):  # noqa: N818
    """409: the object changed meanwhile, or another manager owns an applied field."""


class AlreadyExists(Conflict):
    """409 on create: the name is taken."""


class Forbidden(ApiError):  # noqa: N818
    """403: RBAC or admission refuses; the message names the rule that is missing."""


class Unauthorized(ApiError):  # noqa: N818
    """401: the token or certificate is not accepted."""


class Invalid(ApiError):  # noqa: N818
    """400, 413, 415 or 422: the object is not acceptable; the same request can never succeed."""


class Gone(ApiError):  # noqa: N818
    """410: the resource version is too old; list again."""


class Unavailable(ApiError):  # noqa: N818
    """The server cannot answer now (429, 5xx, no connection); try again later."""


_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Expired": Gone,
    "Gone": Gone,
}
_BY_CODE: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: Unavailable,
}


def error_from(status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """The typed error for an HTTP answer that is not 2xx."""
    document = _document(body)
    return error_from_status(document, status, retry_after=_seconds(retry_after))


def error_from_status(
    document: Mapping[str, Any], status: int = 0, *, retry_after: float | None = None
) -> ApiError:
    """The typed error for a Status object, as a watch sends it inside an ERROR event."""
    code = int(document.get("code") or status)
    reason = str(document.get("reason") or "")
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code)
    if kind is None:
        kind = Unavailable if code >= 500 or code == 0 else ApiError
    message = str(document.get("message") or f"HTTP {code} {reason}".strip())
    return kind(message, status=code, reason=reason, body=document, retry_after=retry_after)


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if isinstance(document, dict):
        return document
    return {"message": body[:200].decode("utf-8", "replace").strip()}


def _seconds(value: str | None) -> float | None:
    # A proxy may send a date instead of seconds; the usual back-off is good enough then.
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None
