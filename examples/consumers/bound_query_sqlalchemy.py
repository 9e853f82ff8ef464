"""A bound query in SQLAlchemy, with PostgreSQL by psycopg. As a program, it takes a session on the standard input."""

import json
import os
import sys
import urllib.request

from sqlalchemy import create_engine

SERVICE_URL = os.environ["SERVICE_URL"]
# The environment whose orders these are, such as acme/Customer: in another one, the same id is another customer.
AUDIENCE = os.environ["AUDIENCE"]
# The placeholders of psycopg, psycopg2 and PyMySQL. Give "?" for SQLite.
PLACEHOLDERS = "%s"
ORDERS = "SELECT amount FROM orders WHERE customer = {{user_group_id}} [[AND region = {{value.region}}]] ORDER BY amount"


def bind(session, template, values):
    """Lets the service bind the template. It refuses a session of another environment."""
    body = {"sql": template, "placeholders": PLACEHOLDERS, "values": values, "audience": AUDIENCE}
    headers = {"Authorization": f"Bearer {session}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{SERVICE_URL}/api/viewer/query", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def orders(connection, session, values):
    bound = bind(session, ORDERS, values)
    # A tuple: SQLAlchemy reads a list as several queries. Not text(), which reads a colon in the SQL as a name.
    return [amount for (amount,) in connection.exec_driver_sql(bound["sql"], tuple(bound["params"]))]


with create_engine(os.environ["DATABASE_URL"]).connect() as connection:
    print(json.dumps(orders(connection, sys.stdin.read().strip(), json.loads(os.environ.get("VALUES", "{}")))))
