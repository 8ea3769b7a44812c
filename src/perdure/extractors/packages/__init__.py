"""The text of documents that are ZIP packages: OpenDocument, Office Open XML, EPUB."""
