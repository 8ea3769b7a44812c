"""Parts of PDF documents."""
