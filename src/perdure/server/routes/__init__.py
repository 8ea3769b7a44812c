"""The routes of the server as data, and everything that is derived from them.

`model` defines a route, `pages`, `apis` and `names` list the routes, and `table` joins them. The
table is the source of dispatch and `Allow` (`dispatch`), the map in `perdure.server.application`
and the tables of docs/reference/http.md (`listing`), and the OpenAPI document (`openapi`).

To add a route, add one `Route` to one of the lists. Then run `tools/route_tables.py --write`.
"""
