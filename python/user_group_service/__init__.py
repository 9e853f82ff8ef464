"""The kit of the user group service for servers. It is thread-safe, and its calls block: an event loop runs them in a thread."""

from .answers import Answer, SessionRefused, UserGroupServiceError
from .client import BoundQuery, Client, ViewerSession
from .endpoints import SessionEndpoints
from .postgres import with_session
from .sessions import Session, require_session

__all__ = [
    *("Answer", "BoundQuery", "Client", "Session", "SessionEndpoints", "SessionRefused", "UserGroupServiceError"),
    *("ViewerSession", "require_session", "with_session"),
]
