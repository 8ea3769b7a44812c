"""Reading rules in the registry file: the table, and how to read it.

How it works: each rule that was ever set has a row, with a number. A later row about the same
subject replaces an earlier one, and a row can lift it. The key is that of the resource, so that the
rules of a document are one look-up in an index; it is empty for rules about a scope.

What must stay true: rows are only added; a row that was altered is an error, never no rule.
"""

from __future__ import annotations

SCHEMA = """
CREATE TABLE rules (
  number INTEGER PRIMARY KEY, key TEXT NOT NULL, rule TEXT NOT NULL, sum INTEGER NOT NULL
);
CREATE INDEX rules_by_key ON rules(key, number);
CREATE TRIGGER rules_stay BEFORE DELETE ON rules
  BEGIN SELECT RAISE(ABORT, 'rules are only added'); END;
CREATE TRIGGER rules_hold BEFORE UPDATE ON rules
  BEGIN SELECT RAISE(ABORT, 'rules are only added'); END;
"""
ABSENT = "no such table: rules"
"""The error for a file of an earlier format, which has no rules."""
COLUMNS = "number, key, rule"
LAST = "SELECT coalesce(max(number), 0) FROM rules"
OF_KEY = "SELECT number, key, rule, sum FROM rules WHERE key=? AND number>? ORDER BY number"
BELOW = (
    "SELECT number, key, rule, sum FROM rules WHERE key>=? AND key<? AND number>? ORDER BY number"
)
ANY_OF_KEY = "SELECT 1 FROM rules WHERE key=? LIMIT 1"
AFTER = "SELECT number, key, rule, sum FROM rules WHERE number>? ORDER BY number LIMIT ?"
NUMBERED = "SELECT number, key, rule, sum FROM rules WHERE number=?"
ADD = "INSERT INTO rules VALUES(?,?,?,?)"
