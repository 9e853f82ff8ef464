"""The rules of the kit that need no service: options, errors, callbacks, the cache of keys. Run by test/all/python/kit.test.ts."""

import json
import pickle
import threading
import unittest
from types import SimpleNamespace
from unittest import mock

import jwt
from user_group_service import Client, Session, SessionEndpoints, SessionRefused, UserGroupServiceError
from user_group_service import require_session, sessions, with_session
from user_group_service.transport import Reply, checked_origins

URL = "https://groups.example.com"
KEY = "ugk_customer_secret"
ORIGIN = "https://app.example.com"
TOKEN = "eyJhbGciOi.eyJzdWIi.c2ln"
JWKS = f"{URL}/.well-known/jwks.json"

client = Client(URL, KEY)


def request_of(method="POST", **headers):
    return SimpleNamespace(method=method, headers=headers)


def replying(*replies):
    """A service that sends these replies, as status, body and headers, in turn."""
    given = [Reply(status, headers, json.dumps(body).encode()) for status, body, headers in replies]
    return mock.patch("user_group_service.client.send", side_effect=given)


def minted(ended_ms_ago=None):
    session = {"token": TOKEN, "expires_at": "", "expires_in_seconds": 300, "max_stale_seconds": 0}
    return 201, {"success": 1, "session": session, "viewer_ended_ms_ago": ended_ms_ago}, {}


def refused(status, code, **headers):
    return status, {"success": 0, "error": {"code": code, "message": f"It is {code}."}}, headers


ENDED = (200, {"success": 1}, {})


def endpoints(**options):
    usual = {
        "user": lambda request: "jane",
        "customer": lambda user: "acme",
        "viewer": lambda user: {"viewer_id": user},
        "origins": [ORIGIN],
    }
    return SessionEndpoints(**{"client": client, **usual, **options})


class Options(unittest.TestCase):
    def test_an_option_that_cannot_work_is_an_error_that_names_it(self):
        session = Session(1, "acme", None, {}, {}, {"aud": "acme/Customer"}, TOKEN)
        check = {"jwks": JWKS, "audience": "acme/Customer", "origins": [ORIGIN]}
        connection = mock.Mock(spec=["info", "cursor", "transaction"])
        connection.info.transaction_status = 0

        def database(**options):
            with with_session(connection, session, **{"audience": "acme/Customer", **options}):
                pass

        wrong = [
            ("url", lambda: Client("http://groups.example.com", KEY)),
            ("url", lambda: Client(None, KEY)),
            ("url", lambda: Client(f"{URL}/api", KEY)),
            ("url", lambda: Client("https://user:password@groups.example.com", KEY)),
            ("api_key", lambda: Client(URL, None)),
            ("api_key", lambda: Client(URL, "")),
            ("api_key", lambda: Client(URL, f"{KEY}\n")),
            ("timeout", lambda: Client(URL, KEY, timeout=0)),
            ("timeout", lambda: Client(URL, KEY, timeout="10")),
            ("viewer_id", lambda: client.mint_session("acme", viewer_id=None)),
            ("viewer_id", lambda: client.end_sessions(user_group_id="acme", viewer_id=None)),
            ("audience", lambda: client.view(TOKEN, audience=None)),
            ("session", lambda: client.view(f"{TOKEN}\r\nX: 1", audience="acme/Customer")),
            ("session", lambda: client.view("", audience="acme/Customer")),
            ("session", lambda: client.bind_query(None, "SELECT 1", audience="acme/Customer")),
            ("path", lambda: client.call("GET", "/api/user_groups/a b")),
            ("client", lambda: endpoints(client=None)),
            ("user", lambda: endpoints(user=None)),
            ("sign_out", lambda: endpoints(sign_out="x")),
            ("origins", lambda: endpoints(origins=ORIGIN)),
            ("origins", lambda: endpoints(origins=[])),
            ("origins", lambda: endpoints(origins=[None])),
            ("origins", lambda: endpoints(origins=[f"{ORIGIN}/page"])),
            ("origins", lambda: endpoints(origins=[ORIGIN] * 11)),
            ("audience", lambda: require_session(**{**check, "audience": None})),
            ("audience", lambda: require_session(**{**check, "audience": "acme/Custom"})),
            ("jwks", lambda: require_session(**{**check, "jwks": None})),
            ("jwks", lambda: require_session(**check, client=client)),
            ("jwks", lambda: require_session(**{**check, "jwks": JWKS.replace("https", "http")})),
            ("audience", lambda: database(audience="acme/Testing")),
            ("role", lambda: database(role="none")),
            ("role", lambda: database(role="dash board")),
            ("setting", lambda: database(setting="claims")),
            ("connection", lambda: with_session(object(), session, audience="acme/Customer").__enter__()),
        ]
        for name, call in wrong:
            with self.subTest(name), self.assertRaises((TypeError, ValueError)) as caught:
                call()
            self.assertIn(name, str(caught.exception))
            self.assertNotRegex(str(caught.exception), "secret|eyJ|password")

    def test_origins_are_as_browsers_send_them(self):
        given = ["https://APP.example.com/", "https://app.example.com:443", "http://a.example:8080", "http://[::1]:80"]
        sent = [ORIGIN, ORIGIN, "http://a.example:8080", "http://[::1]"]
        self.assertEqual(checked_origins(given), sent)

    def test_no_credential_is_in_a_text_of_the_kit(self):
        session = Session(1, "acme", "jane", {}, {}, {"secret": TOKEN}, TOKEN)
        with replying(minted()):
            shown = [repr(client), repr(session), repr(client.mint_session("acme"))]
        with replying((422, {"error": {"code": "x", "message": f"{KEY} {TOKEN} ugo_{'x' * 30}"}}, {})):
            with self.assertRaises(UserGroupServiceError) as caught:
                client.mint_session("acme")
        self.assertNotRegex(" ".join([*shown, str(caught.exception), repr(caught.exception)]), "secret|eyJ|ugo_")


class Calls(unittest.TestCase):
    def setUp(self):
        mock.patch("user_group_service.client.time.sleep").start()
        self.addCleanup(mock.patch.stopall)

    def test_a_refusal_has_code_status_and_request_id(self):
        reply = refused(409, "user_group_id_taken", **{"X-Request-Id": "the-request"})
        with replying(reply), self.assertRaises(UserGroupServiceError) as caught:
            client.ensure("acme")
        error = caught.exception
        self.assertEqual((error.code, error.status, error.request_id), ("user_group_id_taken", 409, "the-request"))
        self.assertEqual(str(error), "user_group_id_taken: It is user_group_id_taken.")
        for each in (error, SessionRefused("unauthenticated", "No.", 401)):
            self.assertEqual(str(pickle.loads(pickle.dumps(each))), str(each))

    def test_what_may_succeed_later_is_tried_again_and_nothing_else(self):
        transient = [refused(503, "overloaded"), refused(429, "rate_limited"), (502, "<p>", {})]
        with replying(*transient, minted()) as send:
            self.assertEqual(client.mint_session("acme").token, TOKEN)
        self.assertEqual(send.call_count, 4)
        for reply, tries in [
            (refused(503, "environment_damaged"), 1),
            (refused(500, "internal_error"), 1),
            (refused(401, "unauthenticated"), 1),
            (refused(503, "not_ready"), 4),
            (refused(429, "rate_limited", **{"Retry-After": "30"}), 1),
        ]:
            with replying(*[reply] * tries) as send, self.assertRaises(UserGroupServiceError):
                client.mint_session("acme")
            self.assertEqual(send.call_count, tries, reply)

    def test_a_change_is_tried_again_only_if_nothing_was_done(self):
        with replying(refused(503, "not_ready")) as send, self.assertRaises(UserGroupServiceError):
            client.call("POST", "/api/user_groups/7/suspend")
        self.assertEqual(send.call_count, 1)
        with replying(refused(429, "rate_limited"), ENDED):
            client.call("POST", "/api/user_groups/7/suspend")

    def test_an_answer_that_is_not_of_the_service_is_unexpected(self):
        for body in ("<p>", [], None, {"success": 1}, {"error": "x"}, {"error": {"code": 1}}, {"success": 1, "session": []}):
            with replying((200, body, {})), self.assertRaises(UserGroupServiceError) as caught:
                client.mint_session("acme")
            self.assertEqual((caught.exception.code, caught.exception.status), ("unexpected_answer", 200))


class Endpoints(unittest.TestCase):
    def outcome(self, *replies, **options):
        """Status, code and the calls of the service, for a page that asks for a session, which takes 200 ms."""
        clock = SimpleNamespace(monotonic=mock.Mock(side_effect=[1.0, 1.2]))
        with replying(*replies) as send, mock.patch("user_group_service.endpoints.time", clock):
            answer = endpoints(**options).session(request_of(Origin=ORIGIN))
        code = json.loads(answer.body).get("error", {}).get("code", "session")
        return answer.status, code, [call.args[2].rpartition("/")[2] for call in send.call_args_list]

    def test_an_end_during_the_wait_ends_the_session(self):
        gone = (503, "service_unavailable", ["viewer_sessions", "end"])
        kept = (200, "session", ["viewer_sessions"])
        for ago, expected in [(0, gone), (700, gone), (701, kept), (None, kept)]:
            replies = [minted(ago), ENDED][: len(expected[2])]
            self.assertEqual(self.outcome(*replies), expected, ago)

    def test_a_person_who_has_changed_gets_no_session(self):
        ended = (401, "signed_out", ["viewer_sessions", "end"])
        for now in (None, "joe"):
            people = iter(["jane", now])
            self.assertEqual(self.outcome(minted(), ENDED, user=lambda _: next(people)), ended)
        for name in ("viewer_properties", "claims"):
            people = iter(["jane", "joe"])
            viewer = {"user": lambda _: next(people), "viewer": lambda user: {name: {"of": user}}}
            self.assertEqual(self.outcome(minted(), ENDED, **viewer), ended)

    def test_a_second_look_that_fails_ends_the_session(self):
        people = iter(["jane"])
        with replying(minted(), ENDED) as send, self.assertRaises(StopIteration):
            endpoints(user=lambda _: next(people)).session(request_of())
        self.assertEqual(send.call_count, 2)

    def test_a_viewer_that_would_not_limit_the_session_is_an_error(self):
        for name, viewer in [
            ("viewer_id", {"viewer_id": None}),
            ("viewerId", {"viewerId": "jane"}),
            ("properties", {"viewer_id": "jane", "properties": {}}),
            ("origins", {"viewer_id": "jane", "origins": ["https://thief.example"]}),
            ("viewer", None),
        ]:
            with self.assertRaisesRegex(TypeError, name), replying():
                endpoints(viewer=lambda user, viewer=viewer: viewer).session(request_of())
        with self.assertRaisesRegex(TypeError, "customer"), replying():
            endpoints(customer=lambda user: 7).session(request_of())

    def test_a_sign_out_runs_whatever_else_fails(self):
        def fail(*_):
            raise LookupError("no table")

        no_id = {"viewer": lambda user: {"viewer_id": None}}
        for options in ({"user": fail}, {"customer": fail}, {"viewer": fail}, {"viewer": lambda user: {}}, no_id):
            with replying() as send, self.assertLogs("user_group_service"):
                answer = endpoints(sign_out=lambda request: "signed out", **options).sign_out(request_of())
            self.assertEqual((answer, send.call_count), ("signed out", 0))

    def test_a_sign_out_of_none_is_204_and_without_one_there_is_404(self):
        with replying(ENDED):
            self.assertEqual(endpoints(sign_out=lambda request: None).sign_out(request_of()).status, 204)
        self.assertEqual(endpoints().sign_out(request_of()).status, 404)


class Keys(unittest.TestCase):
    """With a clock that is driven, and tokens that no key has signed: how often are the keys fetched?"""

    def setUp(self):
        self.now = 1000.0
        self.reply = Reply(200, {}, json.dumps({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "new"}, None]}).encode())
        self.fetches = 0
        self.before_reply = lambda: None
        for name, replaced in [("time.monotonic", lambda: self.now), ("send", self.send)]:
            patch = mock.patch(f"user_group_service.sessions.{name}", replaced)
            patch.start()
            self.addCleanup(patch.stop)
        self.keys = sessions._PublicKeys(URL, "/jwks")

    def send(self, *_):
        self.fetches += 1
        self.before_reply()
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    def ask(self, kid="k1"):
        return self.keys.have_signed(TOKEN, {"alg": "ES256", "typ": "JWT", "kid": kid})

    def test_unknown_keys_cause_two_requests_a_minute(self):
        for _ in range(10):
            self.assertFalse(self.ask())
        self.now += 31
        entering, lock = threading.Semaphore(0), threading.Lock()

        def enter(_):
            entering.release()
            lock.acquire()

        # The keys are fetched when all threads have asked for them.
        self.before_reply = lambda: [entering.acquire(timeout=1) for _ in range(8)]
        self.keys._lock = mock.MagicMock(__enter__=enter, __exit__=lambda *_: lock.release())
        threads = [threading.Thread(target=self.ask, args=(f"k{number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.fetches, 2)

    def test_a_known_key_is_kept_for_5_minutes(self):
        self.ask()
        self.keys._keys = {"k1": "a key"}
        with mock.patch.object(jwt.PyJWS, "decode"):
            for seconds, fetches in ((299, 1), (2, 2)):
                self.now += seconds
                self.ask()
                self.assertEqual(self.fetches, fetches)

    def test_a_failure_refuses_sessions_and_is_tried_again_after_5_seconds(self):
        for failure in (
            UserGroupServiceError("timeout", "Late.", 503),
            Reply(500, {}, b"{}"),
            Reply(200, {}, b"<p>"),
            Reply(200, {}, json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "kid": "k1", "x": "?", "y": "?"}]}).encode()),
        ):
            self.now += 301
            self.reply, self.fetches = failure, 0
            with self.assertLogs("user_group_service") as logged:
                for _ in range(3):
                    with self.assertRaises(SessionRefused) as caught:
                        self.ask()
            self.assertEqual((self.fetches, len(logged.output)), (1, 1))
            answer = caught.exception.answer
            self.assertEqual((answer.status, answer.headers["Retry-After"]), (503, "1"))
            self.now += 6
            with self.assertLogs("user_group_service"), self.assertRaises(SessionRefused):
                self.ask()
            self.assertEqual(self.fetches, 2)

    def test_headers_that_choose_another_way_of_verifying_are_refused_without_a_request(self):
        usual = {"alg": "ES256", "typ": "JWT", "kid": "k1"}
        for change in ({"alg": "none"}, {"alg": "HS256"}, {"typ": "at+jwt"}, {"crit": ["x"]}, {"kid": 1}, {"kid": None}):
            self.assertFalse(self.keys.have_signed(TOKEN, {**usual, **change}))
        self.assertEqual(self.fetches, 0)


class Online(unittest.TestCase):
    def test_the_service_decides_about_a_session(self):
        claims = {"aud": "acme/Customer", "sub": "acme", "team_id": 7, "exp": 4_000_000_000}
        token = jwt.encode(claims, "of nobody" * 9, algorithm="HS256")
        check = require_session(client=client, audience="acme/Customer", origins=[ORIGIN])
        present = request_of(Authorization=f"Bearer {token}")
        with replying((200, {"success": 1, "variables": {"user_group_id": "acme"}}, {})):
            self.assertEqual(check(present).variables, {"user_group_id": "acme"})
        for reply, outcome in [
            (refused(401, "unauthenticated"), ("unauthenticated", 401)),
            (refused(401, "credential_revoked"), ("credential_revoked", 401)),
            (refused(403, "user_group_suspended"), ("user_group_suspended", 403)),
            (refused(400, "malformed_request"), ("service_unavailable", 500)),
            (refused(500, "internal_error"), ("service_unavailable", 503)),
        ]:
            with replying(reply), self.assertRaises(SessionRefused) as caught:
                check(present)
            self.assertEqual((caught.exception.code, caught.exception.status), outcome)
        elsewhere = jwt.encode({**claims, "origins": ["https://other.example"]}, "of nobody" * 9, algorithm="HS256")
        for origin in (ORIGIN, "https://other.example"):
            with replying(), self.assertRaises(SessionRefused) as caught:
                check(request_of(Authorization=f"Bearer {elsewhere}", Origin=origin))
            self.assertEqual(caught.exception.code, "origin_not_allowed")
        for changed in ({"aud": "acme/Testing"}, {"exp": "4000000000"}, {"exp": True}, {"team_id": True}, {"sub": None}):
            other = jwt.PyJWS().encode(json.dumps({**claims, **changed}).encode(), "of nobody" * 9, algorithm="HS256")
            with replying() as send, self.assertRaises(SessionRefused) as caught:
                check(request_of(Authorization=f"Bearer {other}"))
            self.assertEqual((caught.exception.status, send.call_count), (401, 0), changed)


if __name__ == "__main__":
    unittest.main()
