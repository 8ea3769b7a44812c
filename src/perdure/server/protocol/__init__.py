"""HTTP/1.1 on the socket: the layer below identifiers."""
