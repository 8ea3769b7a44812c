"""Webhooks: addresses that a registry notifies of changed records.

`messages` writes and signs a message, `subscriptions` keeps the addresses and their state, and
`delivering` sends the messages.
"""
