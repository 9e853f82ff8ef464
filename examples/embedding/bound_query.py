"""Runs a report for a viewer session: the service binds the group's variables, and psycopg runs the SQL. Session on stdin."""

import json
import os
import sys
import urllib.request

import psycopg

SERVICE_URL = os.environ["SERVICE_URL"]
# The environment whose orders these are, such as acme/Customer: in another one, the same id is another customer.
AUDIENCE = os.environ["AUDIENCE"]
TEMPLATE = """SELECT region, sum(amount)::int FROM orders
    WHERE customer = {{user_group_id}} AND code LIKE '2026%' [[AND region IN ({{user_group.regions}})]]
    GROUP BY region ORDER BY region"""

request = urllib.request.Request(
    f"{SERVICE_URL}/api/viewer/query",
    data=json.dumps({"sql": TEMPLATE, "placeholders": "%s", "audience": AUDIENCE}).encode(),
    headers={"Authorization": f"Bearer {sys.stdin.read().strip()}", "Content-Type": "application/json"},
)
with urllib.request.urlopen(request, timeout=10) as response:
    bound = json.load(response)

with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    # Give params even if there are none: without them, psycopg does not read %% as one percent sign.
    for row in connection.execute(bound["sql"], bound["params"]):
        print(json.dumps(row))
