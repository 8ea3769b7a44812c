"""The routes of the server as data: what it answers, and what follows from that.

`model` says what a route is, `pages`, `apis` and `names` list the routes, and `table` joins them.
From the table come dispatch and `Allow` (`dispatch`), the map in `perdure.server.application` and
the tables of docs/reference/http.md (`listing`), and the OpenAPI document (`openapi`).

To add a route, add one `Route` to one of the lists. Then run `tools/route_tables.py --write`.
"""
