"""The life of a user group, with Python's http.client: one connection for all calls."""
import http.client
import json
import os
import sys
from urllib.parse import urlsplit

API_KEY = os.environ["API_KEY"]
url = urlsplit(os.environ["SERVICE_URL"])
connect = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
connection = connect(url.netloc)
group_id = sys.argv[1] if len(sys.argv) > 1 else "example"


def call(method, path, credential=API_KEY, body=None):
    headers = {"Authorization": f"Token {credential}", "Content-Type": "application/json"}
    # A str or bytes, whose length is known and sent; of an iterable it is not.
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = json.load(connection.getresponse())
    if answer["success"] != 1:
        sys.exit(f"{answer['error']['code']}: {answer['error']['message']}")
    return answer


acme = {"user_group_id": group_id, "name": "Acme", "properties": {"region": "eu"}}
created = call("GET", "/api/user", body=acme)
updated = call("PUT", "/api/user", body={"user_group_id": group_id, "name": "Café Acme"})
old = updated["user_group"]["token"]
token = call("POST", "/api/user", body={"current_token": old})["user_group"]["token"]
viewed = call("GET", "/api/viewer", credential=token)
deleted = call("DELETE", "/api/user", body={"current_token": token})

print(json.dumps({
    "created": created["new_user_group"],
    "updated": updated["user_group"]["name"],
    "rotated": token != old,
    "viewed": viewed["user_group"]["name"],
    "deleted": deleted["success"] == 1,
}))
