"""TLS: the API speaks it when it is given a certificate, and nothing else then."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.pricing.serve.conftest import Server


@pytest.fixture
def pair(tmp_path):
    """A self-signed certificate for 127.0.0.1, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tokentill test")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(here, critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (tmp_path / "cert.pem").write_bytes(certificate.public_bytes(encoding))
    secret = key.private_bytes(encoding, kind, serialization.NoEncryption())
    (tmp_path / "key.pem").write_bytes(secret)
    return str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")


@pytest.mark.slow
def test_the_api_speaks_tls(tmp_path, free_port, pair):
    """With its certificate known it answers, and tells browsers to keep to TLS; plain HTTP: no."""
    certificate, key = pair
    tls = {"TOKENTILL_SERVER_TLS_CERTIFICATE": certificate, "TOKENTILL_SERVER_TLS_KEY": key}
    server = Server(tmp_path / "home", free_port(), certificate, **tls).start()
    try:
        answer = httpx.get(f"{server.url}/health/live", verify=server.verify)
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{server.port}/health/live")
    finally:
        server.end()
