"""Turns bytes into a document: the code in a script, notebook or article, and the prose around it."""
