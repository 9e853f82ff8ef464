"""Runs bound queries with a driver of Python. Input: driver, url, and queries with sql and params, as JSON. Output: rows of each."""

import json
import sys

given = json.load(sys.stdin)
if given["driver"] == "pymysql":
    import pymysql

    # It writes the values into the SQL text, which needs no server.
    connection = pymysql.connect(defer_connect=True)
    connection.server_status = 0
    cursor = connection.cursor()
    print(json.dumps([cursor.mogrify(each["sql"], each["params"]) for each in given["queries"]]))
else:
    driver = __import__(given["driver"])
    connection = driver.connect(given["url"])
    cursor = connection.cursor()
    rows = []
    for each in given["queries"]:
        cursor.execute(each["sql"], each["params"])
        rows.append(cursor.fetchall())
    print(json.dumps(rows))
