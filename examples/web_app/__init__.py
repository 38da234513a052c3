"""A web application with `boardlot.OAuthApp`: see docs/web-applications.md."""
