"""Many machines behind a Dask scheduler, each measuring one thing at a time.

Only `dask_grid` imports Dask.
"""
