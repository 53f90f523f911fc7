"""An OpenID Connect provider on loopback: discovery, keys, a page to choose who one is, tokens."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT_ID = "tokentill-dashboard"
PEOPLE = {
    "olga": {"tokentill_role": "operator"},
    "tim": {"tokentill_role": "tenant", "tokentill_tenant": "t-alder"},
    "nobody": {},
}


class Provider(ThreadingHTTPServer):
    """The provider, and how long its access tokens last. Codes hold who asked, once."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.key = RSAKey.generate_key(2048, {"kid": "1", "alg": "RS256", "use": "sig"})
        self.codes, self.lasts_seconds, self.asked = {}, 300, []
        Thread(target=self.serve_forever, daemon=True).start()

    def token(self, who, audience, **more):
        """A signed token of `who` for `audience`."""
        now = int(time.time())
        said = {"iss": self.issuer, "sub": who, "aud": audience, "iat": now, **more}
        said["exp"] = now + self.lasts_seconds
        return jwt.encode({"alg": "RS256", "kid": "1"}, said, self.key)


class Answers(BaseHTTPRequestHandler):
    """The routes."""

    server: Provider

    def do_GET(self):
        url = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/.well-known/openid-configuration":
            places = {
                "authorization_endpoint": "authorize", "token_endpoint": "token",
                "jwks_uri": "keys", "end_session_endpoint": "logout",
            }  # fmt: skip
            where = {name: f"{self.server.issuer}/{path}" for name, path in places.items()}
            self._json({"issuer": self.server.issuer, **where,
                        "id_token_signing_alg_values_supported": ["RS256"]})  # fmt: skip
        elif url.path == "/keys":
            self._json(KeySet([self.server.key]).as_dict(private=False))
        elif url.path == "/authorize":
            self._choose(asked)
        elif url.path == "/enter":
            self._enter(asked)
        elif url.path == "/logout":
            self._go(asked["post_logout_redirect_uri"])

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        code = parse_qs(body)["code"][0]
        who, nonce = self.server.codes.pop(code)
        self._json({
            "token_type": "Bearer",
            "expires_in": self.server.lasts_seconds,
            "access_token": self.server.token(who, "tokentill", **PEOPLE[who]),
            "id_token": self.server.token(who, CLIENT_ID, nonce=nonce, name=who),
        })  # fmt: skip

    def log_message(self, *_):
        """Quiet."""

    def _choose(self, asked):
        kept = urlencode({name: asked.get(name, "") for name in ("redirect_uri", "state", "nonce")})
        links = "".join(f'<a href="/enter?who={who}&{kept}">{who}</a> ' for who in PEOPLE)
        self._send(200, f"<!doctype html><title>Provider</title>{links}".encode(), "text/html")

    def _enter(self, asked):
        code = str(len(self.server.codes))
        self.server.codes[code] = asked["who"], asked["nonce"]
        self._go(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}")

    def _go(self, where):
        self.send_response(302)
        self.send_header("Location", where)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _json(self, said):
        self._send(200, json.dumps(said).encode(), "application/json")

    def _send(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
