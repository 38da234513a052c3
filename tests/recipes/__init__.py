"""The files on docs/frameworks.md, each run in an environment with its libraries."""
