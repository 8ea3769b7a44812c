"""The native protocol of the Handle System, read-only: UDP, TCP and HTTP on one port.

Specifications: RFC 3650, RFC 3651, RFC 3652 (version 2.1), and what servers of version 2.11 send.

`wire` reads requests and writes answers, `value_bytes` writes values, `site` is what the server
says about itself and its key, `answering` answers a request from the registry, and `listening` has
the sockets.
"""
