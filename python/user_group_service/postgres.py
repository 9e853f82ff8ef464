"""Row-level security of PostgreSQL with the claims of a verified session."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import Any, Iterator, TypeVar

from .sessions import Session

Connection = TypeVar("Connection")

# The transaction's status in psycopg and psycopg2, as in libpq.
_IDLE, _IN_ERROR = 0, 3
# PostgreSQL's jsonb cannot hold U+0000 or half a surrogate pair.
_UNSTORABLE = re.compile(r"(?<!\\)(?:\\\\)*\\u0000|[\ud800-\udfff]")


@contextmanager
def with_session(
    connection: Connection,
    session: Session,
    *,
    audience: str,
    role: str = "dashboard",
    setting: str = "viewer_session.claims",
) -> Iterator[Connection]:
    """
    One transaction, as the role that policies bind and with the claims of a verified session:
    `with with_session(connection, session, audience="acme/Customer"): ...`.

    `connection` is one of psycopg, psycopg2, or SQLAlchemy Core with one of these, without an open transaction. `audience` is the
    environment whose customers are in the database, `role` one that the login can become, and `setting` that from which policies read the
    claims as JSON. Commits at the end, and rolls back after an exception: role and claims end in both cases, so do not commit within. The
    SQL must be yours, because SQL that viewers write could set other claims.

    Raises ValueError for a session of another environment, a role or setting that is no name, and a claim that PostgreSQL cannot hold;
    TypeError for another connection; RuntimeError for an open transaction, one that ended within, or one with a failed statement.
    """
    if not re.fullmatch(r"(?!none$)[a-z_][\w$]{0,62}", role, re.ASCII | re.IGNORECASE):
        raise ValueError(f"Give role as the name of a role, such as dashboard, and not {role!r}.")
    if not re.fullmatch(r"[a-z_][\w$]*(\.[a-z_][\w$]*)+", setting, re.ASCII | re.IGNORECASE):
        raise ValueError(f"Give setting as a name with a dot, such as viewer_session.claims, and not {setting!r}.")
    if session.claims.get("aud") != audience or not isinstance(audience, str):
        found = session.claims.get("aud")
        raise ValueError(f"This session is of the environment {found!r}, and audience, that of this database, is {audience!r}.")
    claims = json.dumps(session.claims, ensure_ascii=False)
    if _UNSTORABLE.search(claims):
        raise ValueError("A claim contains U+0000 or half a character, which PostgreSQL refuses. Mint sessions without it.")

    driver = _driver(connection)
    if driver.info.transaction_status != _IDLE:
        raise RuntimeError("Give connection without an open transaction: role and claims would last as long as that one.")
    with _transaction(connection, driver):
        with driver.cursor() as cursor:
            cursor.execute("SELECT set_config(%s, %s, true), set_config('role', %s, true)", (setting, claims, role))
        yield connection
        if driver.info.transaction_status == _IN_ERROR:
            raise RuntimeError("PostgreSQL rolled the transaction back, because a statement in it had failed.")
        with driver.cursor() as cursor:
            cursor.execute("SELECT current_setting('role')")
            if cursor.fetchone()[0] != role:
                raise RuntimeError("The transaction ended within: what followed ran without role and claims. Do not commit within.")


def _driver(connection: Any) -> Any:
    """The connection of psycopg or psycopg2."""
    driver = connection.connection.dbapi_connection if hasattr(connection, "exec_driver_sql") else connection
    if not hasattr(getattr(driver, "info", None), "transaction_status") or type(driver).__name__.startswith("Async"):
        raise TypeError("Give connection as one of psycopg, psycopg2 or SQLAlchemy (of a Session, its connection()), and not an async one.")
    return driver


def _transaction(connection: Any, driver: Any) -> Any:
    """A transaction that ends with the block. Raises RuntimeError for a connection that commits each statement by itself."""
    if hasattr(connection, "transaction"):
        return connection.transaction()
    if driver.autocommit:
        raise RuntimeError("Give connection without autocommit: role and claims would end with the first statement.")
    return connection.begin() if hasattr(connection, "exec_driver_sql") else connection
