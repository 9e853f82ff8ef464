"""Serves the app that blocks of the documents make, in Flask or FastAPI, and prints its port. Blocks of queries run for each request."""

import json
import os
import socket
import sys
import types
from wsgiref.simple_server import WSGIRequestHandler, make_server

SIGN_INS = {"sid=1": types.SimpleNamespace(id="jane", shop="acme", store=7)}

shop = types.ModuleType("shop")
shop.signed_in = lambda request: SIGN_INS.get(request.headers.get("Cookie"))
shop.end_sign_in = lambda request: SIGN_INS.pop(request.headers.get("Cookie"), None) and None
shop.orders_of = lambda team_id: [{"team_id": team_id}]
sys.modules["shop"] = shop


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def run_for_request(block, schema):
    """Runs a block of a query on a connection to a database with the tables of this schema."""
    import psycopg

    with psycopg.connect(os.environ["DATABASE_URL"], options=f"-csearch_path={schema}") as connection:
        names = {**page, "connection": connection}
        exec(block, names)
    return [list(row) for row in names["rows"]]


blocks = json.load(sys.stdin)
# Flask looks for the files of this module.
page = {"__name__": "__main__"}
for block in blocks["app"]:
    exec(block, page)
app = page["app"]
if blocks["framework"] == "FastAPI":
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listening])
else:
    for path, schema in (("/rows", "public"), ("/bound", "bound")):
        app.get(path, endpoint=path)(lambda path=path, schema=schema: run_for_request(blocks[path], schema))
    server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
    print(server.server_port, flush=True)
    server.serve_forever()
