"""The life of a user group, with Python's aiohttp."""
import asyncio
import json
import os
import sys

import aiohttp

SERVICE_URL, API_KEY = os.environ["SERVICE_URL"], os.environ["API_KEY"]
group_id = sys.argv[1] if len(sys.argv) > 1 else "example"


async def call(session, method, path, credential=API_KEY, body=None):
    headers = {"Authorization": f"Token {credential}"}
    # json= sends the body with its length, with GET too.
    async with session.request(method, SERVICE_URL + path, json=body, headers=headers) as response:
        answer = await response.json()
    if answer["success"] != 1:
        sys.exit(f"{answer['error']['code']}: {answer['error']['message']}")
    return answer


async def main():
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
        acme = {"user_group_id": group_id, "name": "Acme", "properties": {"region": "eu"}}
        created = await call(session, "GET", "/api/user", body=acme)
        updated = await call(session, "PUT", "/api/user", body={"user_group_id": group_id, "name": "Café Acme"})
        old = updated["user_group"]["token"]
        rotated = await call(session, "POST", "/api/user", body={"current_token": old})
        token = rotated["user_group"]["token"]
        viewed = await call(session, "GET", "/api/viewer", credential=token)
        deleted = await call(session, "DELETE", "/api/user", body={"current_token": token})

    print(json.dumps({
        "created": created["new_user_group"],
        "updated": updated["user_group"]["name"],
        "rotated": token != old,
        "viewed": viewed["user_group"]["name"],
        "deleted": deleted["success"] == 1,
    }))


asyncio.run(main())
