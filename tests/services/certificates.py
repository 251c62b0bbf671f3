"""A certificate authority that only the tests use, and server certificates, which are created on demand.

authority = Authority()
authority.trust_file(folder)           # for the variable SSL_CERT_FILE, which Python's ssl reads
authority.server_context("shop.test")  # for a server with this name
"""

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Authority:
    """An authority that only clients with its certificate (`trust_file`) trust."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of the tests")])
        builder = _builder(self._name, self._name, self._key, days=30)
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.certificate = builder.add_extension(usage, critical=True).sign(self._key, hashes.SHA256())

    def trust_file(self, folder: Path) -> str:
        """Write the authority's own certificate into a folder; return its path."""
        path = folder / "authority.pem"
        path.write_bytes(self.certificate.public_bytes(Encoding.PEM))
        return str(path)

    def server_context(self, *names: str, days: int = 30, self_signed: bool = False) -> ssl.SSLContext:
        """Return a server context with a certificate for these names; with negative `days` it has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        builder = _builder(subject, subject if self_signed else self._name, key, days)
        alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        signer = key if self_signed else self._key
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        builder = builder.add_extension(alternatives, critical=False).add_extension(identifier, critical=False)
        pem = builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "server.pem"
            path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + pem)
            context.load_cert_chain(path)
        return context


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    today = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=60))
        .not_valid_after(today + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
