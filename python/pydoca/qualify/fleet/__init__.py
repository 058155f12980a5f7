"""The suite on many hosts: Dask carries a run per card to the workers, and its directory back to one report.

`conduct()` of `conduct.py` is the whole of it. `order` is what a run is told; `cards`, `worker`, `child` and `archive`
run on the workers; `queue` says which card goes where; `cluster` and `coordinator` speak with Dask.
"""
