"""What a driver's tests need: a kubelet, and (as a pytest plugin) a real API server.

    pytest_plugins = ["draplugin.testing.fixtures"]

gives `fake_kubelet` and `api_server`.
"""

from .dialer import Answer, Dialer, Info, KubeletDevice
from .kubelet import FakeKubelet, PrepareFailed, Timings, UnprepareFailed

__all__ = [
    "Answer",
    "Dialer",
    "FakeKubelet",
    "Info",
    "KubeletDevice",
    "PrepareFailed",
    "Timings",
    "UnprepareFailed",
]
