"""The cost of boardlot beside its peers on the same work. See README.md here."""
