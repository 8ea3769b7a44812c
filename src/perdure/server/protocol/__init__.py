"""HTTP/1.1 on the socket, below any question about identifiers."""
