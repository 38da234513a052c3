"""Faults, threads, forks, signals, exits and machines that lack something; crowds and long runs."""
