"""The properties of each kind of object, and the operations that each of its states allows."""
