"""lost_body.py CLIENT chunked|no-length ID: a GET by Python whose body may get lost. Prints the response."""
import asyncio
import http.client
import json
import os
import sys
import urllib.error
import urllib.request
from urllib.parse import urlsplit

_, client, way, group_id = sys.argv
url = os.environ["SERVICE_URL"] + "/api/user"
headers = {"Authorization": f"Token {os.environ['API_KEY']}", "Content-Type": "application/json"}
body = json.dumps({"user_group_id": group_id}).encode()


def connect():
    https = urlsplit(url).scheme == "https"
    return (http.client.HTTPSConnection if https else http.client.HTTPConnection)(urlsplit(url).netloc)


def urllib_chunked():
    request = urllib.request.Request(url, iter([body]), headers, method="GET")
    try:
        return urllib.request.urlopen(request).read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.read().decode()


def http_client_chunked():
    connection = connect()
    connection.request("GET", urlsplit(url).path, iter([body]), headers)
    return connection.getresponse().read().decode()


def http_client_no_length():
    connection = connect()
    connection.putrequest("GET", urlsplit(url).path)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    return connection.getresponse().read().decode()


# Modules that may be missing are imported where they are used.
def requests_chunked():
    import requests

    return requests.get(url, data=iter([body]), headers=headers).text


def httpx_chunked():
    import httpx

    return httpx.request("GET", url, content=iter([body]), headers=headers).text


def aiohttp_chunked():
    import aiohttp

    async def chunks():
        yield body

    async def get():
        async with aiohttp.request("GET", url, data=chunks(), headers=headers) as response:
            return await response.text()

    return asyncio.run(get())


gets = {
    "urllib.request chunked": urllib_chunked,
    "http.client chunked": http_client_chunked,
    "http.client no-length": http_client_no_length,
    "requests chunked": requests_chunked,
    "httpx chunked": httpx_chunked,
    "aiohttp chunked": aiohttp_chunked,
}
print(gets[f"{client} {way}"]())
