"""Parts that engines share to read in parallel: a plan of partitions, and their rows."""
