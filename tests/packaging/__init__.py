"""The wheel, and what is in the supply chain."""
