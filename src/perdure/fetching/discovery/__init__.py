"""Discovery: find the resolver of a name that is not ours.

`lookups` asks name servers, `cache` keeps what was learnt for its lifetime, `confirming` asks a
host whether it resolves a series, and `discovering` takes these steps in order.

Discovery is for people on the command line and for programs in Python. A server never discovers
anything for a stranger.
"""
