"""The two endpoints that a page with viewer sessions needs: one from which it gets a session, and your sign-out."""

from __future__ import annotations

import http
import inspect
import logging
import time
from functools import partial
from importlib import import_module
from typing import Any, Awaitable, Callable, Generic, Iterable, Mapping, TypeVar, Union

from .answers import Answer, UserGroupServiceError, refusal, unavailable, uncached
from .client import UNSET, Client
from .sessions import header
from .transport import checked_origins, redact

# A page waits for its session for 10 seconds.
MINT_SECONDS_MAX = 8
# Longer than this, nobody waits for the end of a session.
END_SECONDS_MAX = 2
# For how long your sign-out may run after the end of the person's sessions, and differences between the two clocks.
ENDED_MARGIN_MS = 500
# Your id of the person, by which the sessions end, what only this person may see, and claims for other verifiers.
VIEWER_FIELDS = ("viewer_id", "viewer_properties", "claims")
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

_log = logging.getLogger("user_group_service")

User = TypeVar("User")
Value = TypeVar("Value")
Maybe = Union[Value, Awaitable[Value]]


class SessionEndpoints(Generic[User]):
    """
    The endpoints, for a POST of a page to `/session` and to `/sign-out`.

    `client` has an API key; the scope `sessions:create` is enough. `user(request)` returns who has signed in to your product, or None;
    `request` is that of your framework, or the environ of WSGI. `customer(user)` returns the `user_group_id` of that person's customer, or
    None. Take both from your own records and never from the request: a person who can choose the customer can see all. `viewer(user)`
    returns a dict with `viewer_id`, and optionally `viewer_properties` and `claims`. `origins` are those of your pages, 1 to 10: pages of
    other sites get no session, and can use none. `sign_out(request)` ends the sign-in on your server, and not only its cookie, and
    returns your framework's response, or None for 204; in WSGI, an Answer. Without it, `/sign-out` is 404. The other options are those of
    `Client.mint_session`. In FastAPI and Starlette, the functions may be async.

    Raises ValueError or TypeError for a client, functions or origins that cannot work. What your functions raise goes to your framework.
    """

    def __init__(
        self,
        client: Client,
        *,
        user: Callable[[Any], Maybe[User | None]],
        customer: Callable[[User], Maybe[str | None]],
        viewer: Callable[[User], Maybe[Mapping[str, Any]]],
        origins: Iterable[str],
        sign_out: Callable[[Any], Any] | None = None,
        expires_in_seconds: int = UNSET,
        max_stale_seconds: int = UNSET,
        include_variables: bool = UNSET,
    ) -> None:
        if not isinstance(client, Client):
            raise TypeError("Give client as a Client.")
        self._user = _blocking("user", user)
        self._customer = _blocking("customer", customer)
        self._viewer = _blocking("viewer", viewer)
        self._sign_out = None if sign_out is None else _blocking("sign_out", sign_out)
        self._origins = checked_origins(origins)
        self._end_sessions = client.within(END_SECONDS_MAX).end_sessions
        self._mint_session = partial(
            client.within(MINT_SECONDS_MAX).mint_session,
            origins=self._origins,
            expires_in_seconds=expires_in_seconds,
            max_stale_seconds=max_stale_seconds,
            include_variables=include_variables,
        )

    def session(self, request: Any) -> Answer:
        """
        Answers a page that asks for a session: 200 with the session, 401 `signed_out`, 403 `user_group_suspended`, 404
        `user_group_not_found`, 503 `service_unavailable` after 8 seconds at most, or 500 if only you can fix it.

        It asks `user` again after the mint: if the person has signed out or changed, the session is ended. A framework that reads a
        sign-in once for each request does not notice that, so a session is ended, too, if the person's sessions were ended meanwhile.
        """
        refused = self._refused(request)
        if refused is not None:
            return refused
        asked_at = time.monotonic()
        person = self._person(request)
        if person is None:
            return refusal("signed_out").answer
        customer, viewer = person
        if customer is None:
            return refusal("user_group_not_found").answer
        try:
            minted = self._mint_session(customer, **viewer)
        except UserGroupServiceError as error:
            if error.code in ("user_group_suspended", "user_group_not_found"):
                return refusal(error.code).answer
            _log.error("No session for %r: %s", customer, error)
            return unavailable(error).answer
        waited_ms = (time.monotonic() - asked_at) * 1000
        end = {"session": minted.token, "reason": "signed out during the mint"}
        try:
            is_same = _identity(self._person(request)) == _identity(person)
        except BaseException:
            self._end(customer, **end)
            raise
        ended_ms_ago = minted.viewer_ended_ms_ago
        if is_same and (ended_ms_ago is None or ended_ms_ago > waited_ms + ENDED_MARGIN_MS):
            # The answer of the service, which the page's client reads.
            names = ("token", "expires_at", "expires_in_seconds", "max_stale_seconds")
            return uncached({"success": 1, "session": {name: getattr(minted, name) for name in names}}, 200, {})
        self._end(customer, **end)
        return refusal("service_unavailable" if is_same else "signed_out").answer

    def sign_out(self, request: Any) -> Any:
        """
        Calls your `sign_out`, and then ends the person's sessions: in this order, because an open page could mint another one while the
        person is signed in. Returns what `sign_out` returned, at most 2 seconds later, also while the service is down.
        """
        refused = self._refused(request)
        if refused is not None:
            return refused
        if self._sign_out is None:
            return refusal("route_not_found").answer
        person = None
        try:
            person = self._person(request)
        except Exception as error:
            _log.error("It is not known whose sessions to end: %s", redact(repr(error)))
        response = self._sign_out(request)
        customer, viewer = person or (None, {})
        if customer is not None and "viewer_id" in viewer:
            self._end(customer, user_group_id=customer, viewer_id=viewer["viewer_id"], reason="signed out")
        elif customer is not None:
            _log.error("viewer gave no viewer_id, so no session of %r was ended: without it, everybody's would end.", customer)
        return Answer("", 204, {"Cache-Control": "no-store"}) if response is None else response

    def wsgi(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        """A WSGI app, for any mount of WSGI."""
        view = self._views(lambda answer: answer).get(environ.get("PATH_INFO", ""))
        result = view(environ) if view else refusal("route_not_found").answer
        start_response(f"{result.status} {http.HTTPStatus(result.status).phrase}", list(result.headers.items()))
        return [result.body.encode()]

    def flask(self) -> Any:
        """A blueprint: `app.register_blueprint(endpoints.flask(), url_prefix="/viewer")`."""
        flask = import_module("flask")
        blueprint = flask.Blueprint("user_group_service", __name__)
        for path, view in self._views(lambda answer: answer).items():
            rule = {"methods": METHODS, "provide_automatic_options": False, "merge_slashes": False}
            blueprint.add_url_rule(path, path[1:], lambda view=view: view(flask.request), **rule)
        return blueprint

    def asgi(self) -> Any:
        """An ASGI app: `app.mount("/viewer", endpoints.asgi())` in FastAPI and Starlette, which run it in threads."""
        routing, response = import_module("starlette.routing"), import_module("starlette.responses").Response
        views = self._views(lambda answer: response(*answer))
        routes = [routing.Route(path, view, methods=METHODS) for path, view in views.items()]
        return routing.Router(routes, redirect_slashes=False)

    def django(self) -> list[Any]:
        """URL patterns: `path("viewer/", include(endpoints.django()))`. They check the origin in place of a CSRF token."""
        route, response = import_module("django.urls").path, import_module("django.http").HttpResponse
        exempt = import_module("django.views.decorators.csrf").csrf_exempt
        views = self._views(lambda answer: response(answer.body, status=answer.status, headers=answer.headers))
        return [route(path[1:], exempt(view)) for path, view in views.items()]

    def _views(self, to_response: Callable[[Answer], Any]) -> dict[str, Callable[[Any], Any]]:
        endpoints = {"/session": self.session, "/sign-out": self.sign_out}
        return {path: partial(_view, endpoint, to_response) for path, endpoint in endpoints.items()}

    def _refused(self, request: Any) -> Answer | None:
        method = request["REQUEST_METHOD"] if isinstance(request, dict) else request.method
        if method != "POST":
            return refusal("method_not_allowed").answer
        origin = header(request, "Origin")
        return None if origin is None or origin in self._origins else refusal("origin_not_allowed").answer

    def _person(self, request: Any) -> tuple[str | None, dict[str, Any]] | None:
        """The customer and the viewer of who has signed in."""
        user = self._user(request)
        if user is None:
            return None
        customer = self._customer(user)
        if customer is None:
            return None, {}
        if not isinstance(customer, str):
            raise TypeError(f"customer returned a {type(customer).__name__}. Return the user_group_id, a str, or None.")
        return customer, _checked(self._viewer(user))

    def _end(self, customer: str, **named: str) -> None:
        try:
            self._end_sessions(**named)
        except UserGroupServiceError as error:
            # A group that was deleted has no sessions left.
            if error.code != "user_group_not_found":
                _log.error("The sessions of %r were not ended: %s", customer, error)


def _blocking(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Calls a function that may be async: FastAPI and Starlette run the endpoints in a thread, and their event loop such a function."""
    if not callable(function):
        raise TypeError(f"Give {name} as a function.")

    def call(argument: Any) -> Any:
        result = function(argument)
        return import_module("anyio.from_thread").run(lambda: result) if inspect.isawaitable(result) else result

    return call


def _view(endpoint: Callable[[Any], Any], to_response: Callable[[Answer], Any], request: Any) -> Any:
    """A view of a framework, which takes its own requests, and returns its own responses."""
    result = endpoint(request)
    return to_response(result) if isinstance(result, Answer) else result


def _identity(person: tuple[str | None, dict[str, Any]] | None) -> Any:
    """What tells one person from another: the id. Without one, it is all that the session has of the person."""
    return person and (person[0], person[1].get("viewer_id", person[1]))


def _checked(viewer: Any) -> dict[str, Any]:
    """Refuses a None and a misspelt name: the session would not be limited to the person."""
    if not isinstance(viewer, dict):
        raise TypeError(f"viewer returned a {type(viewer).__name__}. Return a dict, such as {{'viewer_id': user.id}}.")
    for name, value in viewer.items():
        if name not in VIEWER_FIELDS or value is None:
            raise TypeError(f"viewer returned {name!r} of {type(value).__name__}. It may return {', '.join(VIEWER_FIELDS)}.")
    return viewer
