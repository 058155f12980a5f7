"""The objects that Rdma returns in Python: connections to peers by name, messages as an iteration."""
