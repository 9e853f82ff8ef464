"""The orders that the holder of a viewer session may see. As a program, it takes a session on the standard input."""

import json
import os
import sys

import psycopg
from user_group_service import SessionRefused, require_session, with_session

SERVICE_URL = os.environ["SERVICE_URL"]
# The environment, such as acme/Customer: in another one, the same number is another customer.
AUDIENCE = os.environ["AUDIENCE"]
check = require_session(
    jwks=f"{SERVICE_URL}/.well-known/jwks.json",
    audience=AUDIENCE,
    # Where people see your pages.
    origins=[os.environ.get("ORIGIN", "http://localhost:3000")],
)


def orders(request):
    """Answers a request of a page, in any framework."""
    session = check(request)
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection, with_session(connection, session, audience=AUDIENCE):
        # No WHERE: the policies of the table leave only the rows of the customer and the person.
        rows = connection.execute("SELECT store, amount FROM orders ORDER BY id").fetchall()
    return [{"store": store, "amount": amount} for store, amount in rows]


try:
    print(json.dumps(orders({"Authorization": f"Bearer {sys.stdin.read().strip()}"}), separators=(",", ":")))
except SessionRefused as refused:
    sys.exit(refused.answer.body)
