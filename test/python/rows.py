"""
What `with_session` shows to each session of the standard input, on one connection of the driver that the argument names, and what it
refuses. Prints JSON.
"""

import json
import os
import sys

import jwt
from user_group_service import require_session, with_session

DATABASE_URL, SERVICE_URL = os.environ["DATABASE_URL"], os.environ["SERVICE_URL"]
driver, _, dialect = sys.argv[1].partition(" with ")


def connect(autocommit=False):
    """A connection, and a function that runs a query on it."""
    if driver == "SQLAlchemy":
        import sqlalchemy

        engine = sqlalchemy.create_engine(DATABASE_URL.replace("postgresql:", f"postgresql+{dialect}:"))
        connection = engine.connect().execution_options(**({"isolation_level": "AUTOCOMMIT"} if autocommit else {}))
        return connection, lambda sql: connection.exec_driver_sql(sql).fetchall()
    connection = __import__(driver).connect(DATABASE_URL)
    connection.autocommit = autocommit
    cursor = connection.cursor()

    def run(sql):
        cursor.execute(sql)
        return cursor.fetchall()

    return connection, run


def audience_of(token):
    """As if the settings of this program were wrong: the policies alone decide."""
    return jwt.decode(token, options={"verify_signature": False})["aud"]


def verified(token):
    check = require_session(jwks=f"{SERVICE_URL}/.well-known/jwks.json", audience=audience_of(token), origins=["https://a.example"])
    return check({"Authorization": f"Bearer {token}"})


def error_of(work, connection, session):
    try:
        with with_session(connection, session, audience=session.claims["aud"]):
            work()
        return "none"
    except Exception as error:
        return type(error).__name__


tokens = json.load(sys.stdin)
connection, run = connect()
rows = []
for session in map(verified, tokens):
    with with_session(connection, session, audience=session.claims["aud"]):
        rows.append([amount for (amount,) in run("SELECT amount FROM orders ORDER BY amount")])

session = verified(tokens[0])
WHO = "SELECT current_user, coalesce(current_setting('viewer_session.claims', true), '')"
raised = error_of(lambda: 1 / 0, connection, session)
failed = error_of(lambda: run("SELECT 1 / 0"), connection, session)


def hide():
    try:
        run("SELECT 1 / 0")
    except Exception:
        pass


hidden = error_of(hide, connection, session)
after = [list(row) for row in run(WHO)]
opened = error_of(lambda: None, connection, session)
ended, run = connect()
ended_within = error_of(lambda: (ended.commit(), run("SELECT 1")), ended, session)


def error_of_orm():
    from sqlalchemy.orm import Session

    return error_of(lambda: None, Session(connection.engine), session)


other = error_of_orm() if driver == "SQLAlchemy" else "TypeError"
committing, run = connect(autocommit=True)
committed = error_of(lambda: rows.append([amount for (amount,) in run("SELECT amount FROM orders ORDER BY amount")]), committing, session)
print(json.dumps({"rows": rows, "errors": [raised, failed, hidden, opened, ended_within != "none", other, committed], "after": after}))
