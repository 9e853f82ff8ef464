"""The refusals of the service and of this kit, and the answers of your server."""

from __future__ import annotations

import json
import math
from typing import Any, Mapping, NamedTuple

RETRY_AFTER_SECONDS = 1


class UserGroupServiceError(Exception):
    """
    A refusal of the service, by its `code` and HTTP `status`, or a problem after which nobody knows whether the call changed anything:
    `network_error` and `timeout`, with the status 503, and `unexpected_answer`, such as a proxy's page. `retry_after` are the seconds to
    wait, if the service asks for it, and `request_id` names the request in the operator's log. No credential is in it.
    """

    def __init__(
        self, code: str, message: str, status: int, retry_after: float | None = None, request_id: str | None = None
    ) -> None:
        super().__init__(code, message, status, retry_after)
        self.code, self.message, self.status = code, message, status
        self.retry_after, self.request_id = retry_after, request_id

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    @property
    def is_transient(self) -> bool:
        """Whether a later try may succeed: after a 429, a 503 but for a damaged database, and a 502, 504 or 52x of a proxy."""
        return self.code != "environment_damaged" and (self.status in (429, 502, 503, 504) or 520 <= self.status < 530)


class Answer(NamedTuple):
    """An answer of your server. A view of Flask returns it as it is; FastAPI and Starlette send `Response(*answer)`."""

    body: str
    status: int
    headers: dict[str, str]


class SessionRefused(UserGroupServiceError):
    """Why your API refuses a request. `answer` is the answer to it, with this code and status, in the form of the service's own."""

    def __init__(self, code: str, message: str, status: int, retry_after: float | None = None) -> None:
        super().__init__(code, message, status, retry_after)
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 and code != "signed_out" else {}
        if status == 405:
            headers["Allow"] = "POST"
        if status == 503:
            headers["Retry-After"] = str(math.ceil(retry_after or RETRY_AFTER_SECONDS))
        self.answer = uncached({"success": 0, "error": {"code": code, "message": message}}, status, headers)


_REFUSALS = {
    # Messages for the people who view a page.
    "signed_out": (401, "Sign in to see this."),
    "user_group_suspended": (403, "This account is suspended. Contact our support."),
    "user_group_not_found": (404, "There is nothing to see for this account. Contact our support."),
    "service_unavailable": (503, "This is not available at the moment. Try again in a few minutes."),
    # Messages for the people who program it.
    "method_not_allowed": (405, "Send a POST: a browser may cache the answer to a GET."),
    "origin_not_allowed": (403, "Pages of this origin may not call this. Add the origin to origins."),
    "route_not_found": (404, "There is nothing here. Only the paths that end with /session and /sign-out are known."),
    "unauthenticated": (401, "Send a viewer session in the header Authorization: Bearer <session>."),
    "credential_expired": (401, "This session has expired. Get a new one."),
    "credential_revoked": (401, "This session has ended. Get a new one."),
}


def refusal(code: str, message: str | None = None) -> SessionRefused:
    """The refusal with this code: raise it, or send its `answer`."""
    status, usual = _REFUSALS[code]
    return SessionRefused(code, message or usual, status)


def unavailable(error: UserGroupServiceError) -> SessionRefused:
    """What a page may know of a failed call: 503 if it may try again, and 500 if only you can fix it, such as an expired API key."""
    status = 503 if error.is_transient or error.status >= 500 else 500
    return SessionRefused("service_unavailable", _REFUSALS["service_unavailable"][1], status, error.retry_after)


def uncached(body: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> Answer:
    """JSON that nobody may cache: it contains a session, or depends on one."""
    fixed = {"Content-Type": "application/json", "Cache-Control": "no-store"}
    return Answer(json.dumps(body), status, {**fixed, **headers})
