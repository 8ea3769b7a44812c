"""The resolver over HTTP: requests in, answers out.

`http.py` is the only file that speaks a server protocol: it hands the application every request
target as it stood on the wire. `doctor.py` asks a deployment whether that is still true behind
its proxies.
"""
