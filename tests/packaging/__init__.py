"""The wheel, its imports, systems and supply chain, and rules of the repository."""
