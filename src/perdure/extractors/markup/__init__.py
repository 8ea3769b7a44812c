"""Parts of HTML, SGML and XML."""
