"""Checks the viewer session that a page presents to your own API."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable

import jwt

from .answers import UserGroupServiceError, refusal, unavailable
from .client import Client
from .transport import checked_origins, protected_url, redact, send

# The service publishes a new key 15 minutes before it signs, for verifiers that cache the keys for 5.
KEPT_SECONDS = 300
# Sessions with unknown key ids cause at most one request in this time.
REFRESH_SECONDS_MIN = 30
FETCH_SECONDS_MAX = 5
# After a failure, sessions cause no request for this time.
BACKOFF_SECONDS = 5
VIEW_SECONDS_MAX = 8
# The longest session that the service mints.
TOKEN_CHARACTERS_MAX = 8_000

_log = logging.getLogger("user_group_service")


@dataclass(frozen=True)
class Session:
    """
    A viewer session that a page has presented, and that is valid. **Decide by `team_id`**, the number of the customer's group, whose
    data to show. `user_group_id` is for people to read: after a rename, another group may have it. `viewer_id` and `viewer_properties`
    are the person's. `variables` are the present ones with `client`; with `jwks` those in the session, if the mint included them.
    `claims` is for `with_session`.
    """

    team_id: int
    user_group_id: str
    viewer_id: str | None
    viewer_properties: dict[str, Any]
    variables: dict[str, Any]
    claims: dict[str, Any] = field(repr=False)
    token: str = field(repr=False)


def require_session(
    *,
    audience: str,
    origins: Iterable[str],
    jwks: str | None = None,
    client: Client | None = None,
    issuer: str | None = None,
    allow_http: bool = False,
) -> Callable[[Any], Session]:
    """
    Returns a check, which takes a request of Flask, FastAPI, Django or another framework, or the environ of WSGI, and returns a Session.

    `audience` is the environment, such as acme/Customer: in another one, the same number is another customer. `origins` are those of
    the pages that may call your API, 1 to 10. With `jwks`, the address of the public keys, the check verifies a session by itself, and
    accepts one that has ended until it expires. With `client` it asks the service each time. `issuer` is the service's PUBLIC_URL, if
    that is not the origin of `jwks`. `allow_http` is as for Client.

    Raises ValueError or TypeError for an option that cannot work. The check raises SessionRefused: 401 `unauthenticated`,
    `credential_expired` or `credential_revoked`, 403 `origin_not_allowed` or `user_group_suspended`, 503 `service_unavailable`.
    """
    allowed = checked_origins(origins)
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*/(Customer|Testing|untagged)", str(audience)):
        raise ValueError(f"Give audience as <workspace>/<environment>, such as acme/Customer, and not {audience!r}.")
    if (jwks is None) == (client is None):
        raise ValueError("Give either jwks, such as https://groups.example.com/.well-known/jwks.json, or client.")
    keys = None
    if jwks is not None:
        origin_of_keys, path = protected_url("jwks", jwks, allow_http)
        keys = _PublicKeys(origin_of_keys, path)
        issuer = origin_of_keys if issuer is None else issuer

    def check(request: Any) -> Session:
        origin = header(request, "Origin")
        if origin is not None and origin not in allowed:
            raise refusal("origin_not_allowed")
        presented = re.fullmatch(r"(?:Bearer|Token) +(\S+)", header(request, "Authorization") or "", re.IGNORECASE)
        token = presented[1] if presented else ""
        head, claims = _parts(token)
        if keys is not None and not keys.have_signed(token, head):
            raise refusal("unauthenticated", "No key of this service has signed this.")
        for name, found, expected in (("issuer", "iss", issuer), ("environment", "aud", audience)):
            if expected is not None and claims.get(found) != expected:
                text = f"This session is of the {name} {claims.get(found)!r}. This API takes those of {expected!r}."
                raise refusal("unauthenticated", redact(text))
        _check_claims(claims, origin)
        variables = claims.get("variables") if client is None else _present_variables(client, token, audience)
        viewer = claims.get("viewer_id"), claims.get("viewer_properties", {})
        return Session(claims["team_id"], claims["sub"], *viewer, variables or {}, claims, token)

    return check


def header(request: Any, name: str) -> str | None:
    """A header of a request that has `headers`, or of an environ."""
    headers = getattr(request, "headers", request)
    if "REQUEST_METHOD" in headers:
        name = f"HTTP_{name.upper().replace('-', '_')}"
    return next((str(value) for key, value in headers.items() if key.lower() == name.lower()), None)


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and claims of a JWT, whose signature is not verified yet."""
    try:
        if len(token) > TOKEN_CHARACTERS_MAX:
            raise jwt.DecodeError
        decoded = jwt.PyJWT().decode_complete(token, options={"verify_signature": False})
    except (jwt.PyJWTError, RecursionError):
        raise refusal("unauthenticated") from None
    return decoded["header"], decoded["payload"]


def _check_claims(claims: dict[str, Any], origin: str | None) -> None:
    """Only `exp` depends on this machine's clock: one that is behind would refuse new sessions by their `iat`."""
    expires_at, team_id, origins = claims.get("exp"), claims.get("team_id"), claims.get("origins")
    if type(expires_at) not in (int, float) or type(team_id) is not int or not isinstance(claims.get("sub"), str):
        raise refusal("unauthenticated", "This is no viewer session.")
    if not time.time() < float(expires_at or 0):
        raise refusal("credential_expired")
    if origin is not None and origins is not None and not (isinstance(origins, list) and origin in origins):
        raise refusal("origin_not_allowed", "This session is for pages of other origins.")


def _present_variables(client: Client, token: str, audience: str) -> Any:
    """Asks the service, which verifies the signature: the claims are not to be trusted before its answer."""
    try:
        return client.within(VIEW_SECONDS_MAX).view(token, audience=audience)["variables"]
    except UserGroupServiceError as error:
        if error.code in ("credential_expired", "credential_revoked", "user_group_suspended"):
            raise refusal(error.code) from None
        if error.status == 401:
            raise refusal("unauthenticated") from None
        _log.error("A session could not be verified: %s", error)
        raise unavailable(error) from None


class _PublicKeys:
    """The service's public keys, fetched when a session first needs them, and again when they are old."""

    def __init__(self, origin: str, path: str) -> None:
        self._url = origin, path
        self._lock = threading.Lock()
        self._keys: dict[str, Any] = {}
        self._fetched_at = self._retry_at = float("-inf")

    def have_signed(self, token: str, head: dict[str, Any]) -> bool:
        """Whether a key of the service has signed a token. Raises SessionRefused if the keys cannot be fetched."""
        kid = head.get("kid")
        # Only this algorithm: a header that chooses another one is an attack. `crit` names extensions, and sessions have none.
        if head.get("alg") != "ES256" or head.get("typ") != "JWT" or "crit" in head or not isinstance(kid, str):
            return False
        if self._is_old(kid):
            with self._lock:
                if self._is_old(kid):
                    self._fetch()
        try:
            jwt.PyJWS().decode(token, self._keys[kid], algorithms=["ES256"])
        except (KeyError, jwt.PyJWTError):
            return False
        return True

    def _is_old(self, kid: str) -> bool:
        age = time.monotonic() - self._fetched_at
        return age > KEPT_SECONDS or (age > REFRESH_SECONDS_MIN and kid not in self._keys)

    def _fetch(self) -> None:
        fetched_at = time.monotonic()
        if fetched_at < self._retry_at:
            raise refusal("service_unavailable")
        try:
            reply = send("GET", *self._url, {}, None, FETCH_SECONDS_MAX)
            if reply.status != 200:
                raise ValueError(f"status {reply.status}")
            # Others in the set are ignored (RFC 7517, section 5): a later release may add some.
            keys = [key for key in json.loads(reply.body)["keys"] if isinstance(key, dict) and key.get("crv") == "P-256"]
            self._keys = {key["kid"]: jwt.PyJWK(key, "ES256").key for key in keys}
            self._fetched_at = fetched_at
        except (UserGroupServiceError, ValueError, LookupError, TypeError, jwt.PyJWTError) as error:
            # One line for each request, and not for each session that waits for it.
            _log.error("The public keys of %s cannot be fetched: %s", self._url[0], redact(str(error)))
            self._retry_at = time.monotonic() + BACKOFF_SECONDS
            raise refusal("service_unavailable") from None
