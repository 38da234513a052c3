"""The service as its document describes it: requests, signatures, values, errors, endpoints."""
