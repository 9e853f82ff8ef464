"""
A product with the endpoints of viewer sessions below /viewer, and an API of its own, in the framework that its argument names. Prints its
port. It reads a person's sign-in once for each request, as many frameworks do: only `forgetful` people are looked up again.
"""

import asyncio
import json
import logging
import os
import socket
import sys
import time
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from user_group_service import Answer, Client, SessionEndpoints, SessionRefused, require_session

offset = float(os.environ.get("CLOCK_OFFSET_SECONDS", "0"))
if offset:
    now = time.time
    time.time = lambda: now() + offset

logging.basicConfig(format="%(message)s")
ORIGIN = "https://app.example.com"
COOKIE = ("Set-Cookie", "sid=; Max-Age=0; Path=/")
CUSTOMERS = {"lost": "nobody", "homeless": None}

client = Client(os.environ["SERVICE_URL"], os.environ["API_KEY"])
check = require_session(jwks=os.environ["JWKS"], audience=os.environ["AUDIENCE"], origins=[ORIGIN])
signed_out = set()


def sign_in_of(request, cookie):
    """The person of the cookie sid, as this request has first seen it."""
    person = cookie.partition("sid=")[2]
    seen = request if isinstance(request, dict) else request.__dict__
    if person.startswith("forgetful") or "seen" not in seen:
        seen["seen"] = None if person in signed_out or person in ("", "nobody") else person
    return seen["seen"]


def end_sign_in(cookie):
    signed_out.add(cookie.partition("sid=")[2])


def endpoints_for(user, sign_out):
    return SessionEndpoints(
        client,
        user=user,
        customer=lambda person: CUSTOMERS.get(person, os.environ["CUSTOMER"]),
        viewer=lambda person: {"viewer_id": person, "viewer_properties": {"store": len(person)}},
        origins=[ORIGIN],
        sign_out=sign_out,
    )


def shown(session):
    return {"team_id": session.team_id, "viewer_id": session.viewer_id, "store": session.viewer_properties.get("store")}


def wsgi_app():
    def sign_out(environ):
        end_sign_in(environ.get("HTTP_COOKIE", ""))
        return Answer("", 204, dict([COOKIE]))

    def app(environ, start_response):
        try:
            body, status, headers = json.dumps(shown(check(environ))), 200, {"Content-Type": "application/json"}
        except SessionRefused as refused:
            body, status, headers = refused.answer
        start_response(f"{status} -", list(headers.items()))
        return [body.encode()]

    endpoints = endpoints_for(lambda environ: sign_in_of(environ, environ.get("HTTP_COOKIE", "")), sign_out)
    from werkzeug.middleware.dispatcher import DispatcherMiddleware

    return DispatcherMiddleware(app, {"/viewer": endpoints.wsgi})


def flask_app():
    from flask import Flask, g, make_response, request

    def sign_out(request):
        end_sign_in(request.headers.get("Cookie", ""))
        response = make_response("", 204)
        response.headers.add(*COOKIE)
        return response

    app = Flask(__name__)
    endpoints = endpoints_for(lambda request: sign_in_of(g, request.headers.get("Cookie", "")), sign_out)
    app.register_blueprint(endpoints.flask(), url_prefix="/viewer")
    app.register_error_handler(SessionRefused, lambda refused: refused.answer)
    app.get("/orders")(lambda: shown(check(request)))
    return app


def django_app():
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpResponse, JsonResponse
    from django.urls import include, path

    settings.configure(
        ROOT_URLCONF=sys.modules[__name__],
        ALLOWED_HOSTS=["127.0.0.1"],
        MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"],
    )

    def sign_out(request):
        end_sign_in(request.headers.get("Cookie", ""))
        return HttpResponse(status=204, headers=dict([COOKIE]))

    def orders(request):
        try:
            return JsonResponse(shown(check(request)))
        except SessionRefused as refused:
            body, status, headers = refused.answer
            return HttpResponse(body, status=status, headers=headers)

    endpoints = endpoints_for(lambda request: sign_in_of(request, request.headers.get("Cookie", "")), sign_out)
    globals()["urlpatterns"] = [path("viewer/", include(endpoints.django())), path("orders", orders)]
    return get_wsgi_application()


def fastapi_app():
    from fastapi import FastAPI, Request, Response

    async def user(request):
        await asyncio.sleep(0)
        return sign_in_of(request, request.headers.get("Cookie", ""))

    async def sign_out(request):
        end_sign_in(request.headers.get("Cookie", ""))
        response = Response(status_code=204)
        response.headers.append(*COOKIE)
        return response

    app = FastAPI()
    app.mount("/viewer", endpoints_for(user, sign_out).asgi())
    app.add_exception_handler(SessionRefused, lambda _, refused: Response(*refused.answer))

    @app.get("/orders")
    def orders(request: Request):
        return shown(check(request))

    return app


class ThreadingServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


framework = sys.argv[1]
if framework == "FastAPI":
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(fastapi_app(), log_level="critical")).run(sockets=[listening])
else:
    app = {"WSGI": wsgi_app, "Flask": flask_app, "Django": django_app}[framework]()
    server = make_server("127.0.0.1", 0, app, server_class=ThreadingServer, handler_class=Quiet)
    print(server.server_port, flush=True)
    server.serve_forever()
