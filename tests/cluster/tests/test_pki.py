"""Certificates say who somebody is in the way Kubernetes reads it."""

from __future__ import annotations

import ipaddress
import json

from cluster.components import SERVER_NAMES
from cluster.kubeconfig import kubeconfig
from cluster.pki import Authority, Pair
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def read(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def use(certificate: x509.Certificate) -> list[x509.ObjectIdentifier]:
    return list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def test_a_client_is_its_common_name_and_its_organisations_are_its_groups() -> None:
    authority = Authority()
    certificate = read(authority.client("system:node:one", ["system:nodes"]))
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [name.value for name in names] == ["system:node:one"]
    assert [group.value for group in groups] == ["system:nodes"]
    assert use(certificate) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate.verify_directly_issued_by(read(authority.pair))


def test_the_api_server_is_valid_on_the_host_and_from_a_guest() -> None:
    certificate = read(Authority().server("kube-apiserver", SERVER_NAMES))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = names.get_values_for_type(x509.IPAddress)
    assert ipaddress.ip_address("127.0.0.1") in addresses
    assert ipaddress.ip_address("10.0.2.2") in addresses
    assert "kubernetes.default.svc" in names.get_values_for_type(x509.DNSName)
    assert use(certificate) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_a_kubeconfig_holds_all_that_is_needed() -> None:
    authority = Authority()
    pair = authority.client("admin")
    config = json.loads(kubeconfig("https://127.0.0.1:1", authority.pair.certificate, "n", pair))
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"
    assert config["users"][0]["name"] == "n"
    assert set(config["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}
    assert config["contexts"][0]["name"] == config["current-context"]
