"""Serves the endpoints of examples/embedding/session_endpoints.py for people in a table, and prints its port."""

import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

sys.path.insert(0, "examples/embedding")
from session_endpoints import session_endpoints  # noqa: E402

SIGN_INS = {"sid=jane": ("kit", "jane"), "sid=max": ("kit", "max"), "sid=lost": ("nobody", "lost"), "sid=leaves": ("kit", "leaves")}
ASKED = []


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def signed_in(environ):
    cookie = environ.get("HTTP_COOKIE", "")
    ASKED.append(cookie)
    # This person signs out during the mint.
    if cookie == "sid=leaves" and ASKED.count(cookie) > 1:
        return None
    return SIGN_INS.get(cookie)


def sign_out(environ):
    SIGN_INS.pop(environ.get("HTTP_COOKIE", ""), None)
    return [("Set-Cookie", "sid=; Max-Age=0; Path=/")]


server = make_server("127.0.0.1", 0, session_endpoints(signed_in, sign_out), handler_class=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
