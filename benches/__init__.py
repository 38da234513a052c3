"""What boardlot costs, beside its peers on the same work. See README.md here."""
