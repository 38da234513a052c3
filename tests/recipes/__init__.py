"""The files on docs/with-other-libraries.md, each run in an environment with its libraries."""
