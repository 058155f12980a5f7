"""Measurements that are judged against others of the same seconds."""
