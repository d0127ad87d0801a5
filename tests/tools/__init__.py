"""Scripts for whoever works on the lab; no test."""
