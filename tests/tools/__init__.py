"""Scripts for developers; no tests."""
