"""Certificates of one short-lived cluster: one authority that signs everything.

Who is who follows Kubernetes' own conventions ("PKI certificates and requirements"): the common
name is the user, the organisations are its groups.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFE = datetime.timedelta(days=30)
# A guest's clock may be behind its host's.
_SLACK = datetime.timedelta(hours=1)


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def new_key() -> ec.EllipticCurvePrivateKey:
    """A P-256 key: quick to make, accepted by every component."""
    return ec.generate_private_key(ec.SECP256R1())


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The key as unencrypted PEM; the caller keeps the file to its owner."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


class Authority:
    """Signs the certificates of one cluster; its key leaves it only for the cluster's signer."""

    def __init__(self, name: str = "cluster") -> None:
        self._key = new_key()
        self._name = _name(name, ())
        builder = _builder(self._name, self._name, self._key)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        usage = _usage(digital_signature=True, key_cert_sign=True, crl_sign=True)
        builder = builder.add_extension(usage, True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        builder = builder.add_extension(identifier, False)
        certificate = builder.sign(self._key, hashes.SHA256())
        self.pair = Pair(
            certificate.public_bytes(serialization.Encoding.PEM), private_pem(self._key)
        )

    def client(self, user: str, groups: Iterable[str] = ()) -> Pair:
        """Somebody who calls a server: the user and the groups the server will see."""
        return self._issue(_name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def server(self, name: str, hosts: Iterable[str]) -> Pair:
        """A server reachable at the given host names and IP addresses."""
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        return self._issue(_name(name, ()), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def _issue(
        self,
        subject: x509.Name,
        use: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None,
    ) -> Pair:
        key = new_key()
        builder = _builder(subject, self._name, key)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(_usage(digital_signature=True), True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([use]), False)
        # Python checks by RFC 5280 to the letter since 3.13, and asks for this (4.2.1.1).
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer, False)
        if names is not None:
            builder = builder.add_extension(names, False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Pair(certificate.public_bytes(serialization.Encoding.PEM), private_pem(key))


def _name(common_name: str, organisations: Iterable[str]) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organisations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SLACK)
        .not_valid_after(now + _LIFE)
    )


def _usage(
    *, digital_signature: bool, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
