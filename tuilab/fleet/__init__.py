"""Measures on many machines behind a Dask scheduler, one run at a time on each.

Only `dask_grid` imports Dask.
"""
