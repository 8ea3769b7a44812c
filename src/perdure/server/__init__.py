"""The resolver over HTTP: requests in, answers out.

`protocol/http.py` is the only file that speaks a server protocol: it passes every request target to
the application exactly as received. `protocol/doctor.py` tests whether that still holds behind the
proxies of a deployment.
"""
