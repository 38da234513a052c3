"""The doctor: what is wrong between this machine and the service."""
