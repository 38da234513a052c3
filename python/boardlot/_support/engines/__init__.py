"""What engines share that read in parallel: a plan of partitions, and their rows."""
