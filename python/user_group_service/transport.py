"""HTTP with a time limit, and checks of addresses and credentials."""

from __future__ import annotations

import http.client
import io
import re
import socket
import time
from email.message import Message
from typing import Any, Iterable, Mapping, NamedTuple

from .answers import UserGroupServiceError

ORIGINS_MAX = 10
# The forms of credentials: API keys and group tokens, operator keys, and sessions, which are JWTs.
_CREDENTIAL = re.compile(r"ug[kt]_[a-z]+_[\w-]+|ugo_[\w-]{20,}|eyJ[\w-]+\.[\w.-]+", re.ASCII)
_URL = re.compile(
    r"(?P<origin>(?P<scheme>https?)://(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+])(?::[0-9]{1,5})?)(?P<path>/[\x21-\x7e]*)?",
    re.IGNORECASE,
)
_LOCAL = re.compile(r"localhost|127\.[\d.]+|\[::1]", re.IGNORECASE)


def protected_url(name: str, text: object, allow_http: bool) -> tuple[str, str]:
    """Returns the origin and the path of an address, if nobody on the way can read or change a call, or the caller says so."""
    match = _URL.fullmatch(text) if isinstance(text, str) else None
    is_protected = match and (match["scheme"].lower() == "https" or allow_http is True or _LOCAL.fullmatch(match["host"]))
    if match is None or not is_protected:
        raise ValueError(f"Give {name} as https://…, or set allow_http.")
    return _as_sent(match), match["path"] or "/"


def checked_origins(origins: Iterable[str]) -> list[str]:
    """Returns the origins as browsers send them. Refuses anything but 1 to 10 origins."""
    if isinstance(origins, (str, bytes, Mapping)) or not isinstance(origins, Iterable):
        raise TypeError("Give origins as a list, such as ['https://app.example.com'].")
    matches = [_URL.fullmatch(text) if isinstance(text, str) else None for text in origins]
    checked = [_as_sent(match) for match in matches if match is not None and match["path"] in (None, "/")]
    if len(checked) != len(matches) or not 1 <= len(checked) <= ORIGINS_MAX:
        raise ValueError(f"Give 1 to {ORIGINS_MAX} origins without a path, such as https://app.example.com.")
    return checked


def _as_sent(match: re.Match[str]) -> str:
    """An origin in small letters and without the usual port, as browsers send it."""
    origin = match["origin"].lower()
    return origin.removesuffix(":443" if origin.startswith("https:") else ":80")


def header_value(name: str, text: object) -> str:
    """Returns `text` if it can be a credential in a header. The error does not repeat it: it may be a secret."""
    if not isinstance(text, str) or not re.fullmatch(r"[\x21-\x7e]+", text):
        raise ValueError(f"Give {name} as ASCII text without blanks.")
    return text


def redact(text: str) -> str:
    """Replaces each text of a credential's form."""
    return _CREDENTIAL.sub("[credential]", text)


class Reply(NamedTuple):
    """An HTTP answer of any status. Redirects are not followed: they could send the credential elsewhere."""

    status: int
    headers: Message
    body: bytes


class _Answering(io.RawIOBase):
    """What a socket receives until a time. A timeout of the socket would begin again with each byte."""

    def __init__(self, sock: socket.socket, ends_at: float) -> None:
        self._sock = sock
        self._ends_at = ends_at

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(max(0.001, self._ends_at - time.monotonic()))
        return self._sock.recv_into(buffer)


def send(method: str, origin: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float) -> Reply:
    """Sends a request, and waits for `seconds` at most. Raises `network_error` and `timeout`."""
    ends_at = time.monotonic() + seconds
    scheme, _, host = origin.partition("://")
    connect = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
    # Half of the time: a name may have two addresses, which are tried in turn.
    connection = connect(host, timeout=seconds / 2)
    try:
        connection.request(method, path, body, dict(headers))
        answering: Any = _Answering(connection.sock, ends_at)
        response = http.client.HTTPResponse(answering, method=method)
        response.begin()
        return Reply(response.status, response.headers, response.read())
    except (socket.timeout, TimeoutError):
        raise UserGroupServiceError("timeout", f"The service did not respond in {seconds:.1f} seconds.", 503) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        cause = redact(f"{type(error).__name__}: {error}")
        raise UserGroupServiceError("network_error", f"The service did not respond: {cause}", 503) from None
    finally:
        connection.close()
