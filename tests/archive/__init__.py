"""The archive: updates, lists, followers, queries, and what goes wrong with its database."""
