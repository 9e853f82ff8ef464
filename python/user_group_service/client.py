"""Calls of the service with the API key of one environment."""

from __future__ import annotations

import copy
import json
import random
import re
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, NamedTuple, Sequence, TypeVar
from urllib.parse import urlencode

from .answers import UserGroupServiceError
from .transport import Reply, header_value, protected_url, redact, send

RETRIES_MAX = 3
BACKOFF_SECONDS = 0.2
TIMEOUT_SECONDS_MAX = 86_400
ISSUES_IN_MESSAGE_MAX = 3

# What a call leaves out. None is refused, because a variable that somebody forgot to set must not end everybody's sessions.
UNSET: Any = object()

Fields = Mapping[str, Any]
Result = TypeVar("Result")


@dataclass(frozen=True)
class ViewerSession:
    """A session for a page. `viewer_ended_ms_ago` says how long ago the person's sessions were ended; None if no end is known."""

    token: str = field(repr=False)
    expires_at: str
    expires_in_seconds: int
    max_stale_seconds: int
    viewer_ended_ms_ago: float | None


class BoundQuery(NamedTuple):
    """SQL with placeholders, their values, and the variables whose clauses were dropped."""

    sql: str
    params: Any
    dropped: list[str]


class Client:
    """
    The user groups of one environment, for servers that have its API key. `url` is the service's origin, such as
    https://groups.example.com; without TLS only on this machine, or with `allow_http` on a private network that you trust. `timeout`
    is the limit in seconds of a whole call, with its retries after a 429, a 503, and errors of a proxy and of the network.

    Raises ValueError or TypeError for an option that cannot work, here and in each call, and UserGroupServiceError for a refusal.
    """

    def __init__(self, url: str, api_key: str, *, timeout: float = 10, allow_http: bool = False) -> None:
        self._origin, path = protected_url("url", url, allow_http)
        if path != "/":
            raise ValueError("Give url without a path, such as https://groups.example.com.")
        self._api_key = header_value("api_key", api_key)
        if not isinstance(timeout, (int, float)) or not 0 < timeout <= TIMEOUT_SECONDS_MAX:
            raise ValueError("Give timeout as a number of seconds, more than 0 and at most a day.")
        self._timeout = timeout

    def within(self, seconds: float) -> Client:
        """The same client, whose calls take so many seconds at most."""
        client = copy.copy(self)
        client._timeout = min(seconds, self._timeout)
        return client

    def ensure(
        self, user_group_id: str, *, name: str = UNSET, properties: Fields = UNSET, mapping: Fields = UNSET
    ) -> dict[str, Any]:
        """
        Gets the group of a customer, or creates it: once, when the customer signs up. It never changes a group that exists. Returns the
        group without its token. Store its `team_id`, which never changes, in your tables.
        """
        body = _fields(user_group_id=user_group_id, name=name, properties=properties, mapping=mapping)
        group = self._call("POST", "/api/user_groups", body, lambda answer: dict(answer["user_group"]))
        group.pop("token", None)
        return group

    def mint_session(
        self, user_group_id: str, *, viewer_id: str = UNSET, viewer_properties: Fields = UNSET, claims: Fields = UNSET,
        origins: Sequence[str] = UNSET, expires_in_seconds: int = UNSET, max_stale_seconds: int = UNSET,
        include_variables: bool = UNSET,
    ) -> ViewerSession:
        """
        Mints a short-lived session for a page. `viewer_id` is your id of the person, and `viewer_properties` what only this person may
        see. It creates no group: a customer without one is `user_group_not_found`, a suspended one `user_group_suspended`.
        """
        body = _fields(
            user_group_id=user_group_id, viewer_id=viewer_id, viewer_properties=viewer_properties, claims=claims,
            origins=origins, expires_in_seconds=expires_in_seconds, max_stale_seconds=max_stale_seconds,
            include_variables=include_variables,
        )
        return self._call("POST", "/api/viewer_sessions", body, _minted)

    def end_sessions(
        self, *, session: str = UNSET, user_group_id: str = UNSET, viewer_id: str = UNSET, reason: str = UNSET
    ) -> None:
        """Ends one `session`, all of a person (`user_group_id` and `viewer_id`), or all of a group (`user_group_id` alone)."""
        body = _fields(session=session, user_group_id=user_group_id, viewer_id=viewer_id, reason=reason)
        self._call("POST", "/api/viewer_sessions/end", body, dict)

    def view(self, session: str, *, audience: str) -> dict[str, Any]:
        """
        What the holder of a session may see now: `user_group` and `variables`. A session of another environment than `audience` is
        `audience_mismatch`, one that has ended `credential_revoked`.
        """
        path = f"/api/viewer?{urlencode(_fields(audience=audience))}"
        return self._call("GET", path, None, dict, header_value("session", session))

    def bind_query(
        self, session: str, sql: str, *, audience: str, values: Fields = UNSET, placeholders: str = "%s"
    ) -> BoundQuery:
        """
        Binds an SQL template to the holder of a session. `%s` is for psycopg, psycopg2 and PyMySQL: give `params` to them, even if there
        are none. `audience` is as for `view`.
        """
        body = _fields(sql=sql, audience=audience, values=values, placeholders=placeholders)
        bound = self._call("POST", "/api/viewer/query", body, dict, header_value("session", session))
        return BoundQuery(bound["sql"], bound["params"], bound["dropped"])

    def call(self, method: str, path: str, body: Fields | None = None, *, retryable: bool = False) -> dict[str, Any]:
        """
        Any other call of the documents, such as `call("PUT", "/api/user_groups/7", {"suspended": True})`. Returns its JSON, which may
        contain a token. Set `retryable` if it may run twice. A GET may.
        """
        if not re.fullmatch(r"/[\x21-\x7e]*", path):
            raise ValueError("Give path as that of a call in ASCII, such as /api/whoami.")
        return self._call(method, path, body, dict, retryable=retryable or method == "GET")

    def _call(
        self, method: str, path: str, body: Any, read: Callable[[Any], Result], session: str = "", retryable: bool = True
    ) -> Result:
        ends_at = time.monotonic() + self._timeout
        headers = {"Authorization": f"Token {session or self._api_key}", "Content-Type": "application/json"}
        if method == "GET":
            # Otherwise a session may answer its viewer itself for a while, although it has ended.
            headers["Cache-Control"] = "no-cache"
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        failures = 0
        while True:
            left = max(0.001, ends_at - time.monotonic())
            try:
                return _result(send(method, self._origin, path, headers, data, left), read)
            except UserGroupServiceError as error:
                may_retry = error.is_transient if retryable else error.status == 429 or error.code == "overloaded"
                # Exponential backoff with full jitter.
                wait = (error.retry_after or 0) + random.random() * BACKOFF_SECONDS * 2**failures
                if failures >= RETRIES_MAX or not may_retry or time.monotonic() + wait >= ends_at:
                    raise
            failures += 1
            time.sleep(wait)


def _fields(**fields: Any) -> dict[str, Any]:
    """The fields of a body that are given."""
    for name, value in fields.items():
        if value is None:
            raise TypeError(f"{name} is None. Give a value, or leave {name} out.")
    return {name: value for name, value in fields.items() if value is not UNSET}


def _minted(answer: dict[str, Any]) -> ViewerSession:
    names = ("token", "expires_at", "expires_in_seconds", "max_stale_seconds")
    fields = {name: answer["session"][name] for name in names}
    return ViewerSession(**fields, viewer_ended_ms_ago=answer.get("viewer_ended_ms_ago"))


def _result(reply: Reply, read: Callable[[Any], Result]) -> Result:
    """Reads a successful answer. Raises the service's refusal, or `unexpected_answer` for any other answer."""
    try:
        body = json.loads(reply.body)
        if 200 <= reply.status < 300 and body["success"] == 1:
            return read(body)
        error = body["error"]
        issues = [f"{'.'.join(map(str, issue['path']))}: {issue['message']}" for issue in error.get("issues", [])]
        code, message = error["code"], " ".join([error["message"], *issues[:ISSUES_IN_MESSAGE_MAX]])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        code = "unexpected_answer"
        message = f"The answer ({reply.status}) is not of the service, but perhaps of a proxy."
    after, request_id = (reply.headers.get(name) for name in ("Retry-After", "X-Request-Id"))
    retry_after = float(after) if after and re.fullmatch(r"[0-9]{1,9}", after) else None
    raise UserGroupServiceError(redact(str(code)), redact(message), reply.status, retry_after, request_id)
