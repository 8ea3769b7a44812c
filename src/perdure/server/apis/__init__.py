"""Standard protocols over HTTP: THTTP, the Handle API, IIIF, Memento, CDX, replay and PWIDs."""
