"""Does a DRA driver keep the kubelet's contract? A suite that any driver can run.

    pytest --pyargs draplugin.conformance --driver mydriver:make

`make` takes a `draplugin.Site` and is an async context manager that runs the driver there. The API
server is a real one, started from `KUBEBUILDER_ASSETS` (or given by `--driver-kubeconfig`); the
kubelet is `draplugin.testing.FakeKubelet`. Each rule is one test, named as a sentence; breaking
one rule fails that test and no other.
"""
