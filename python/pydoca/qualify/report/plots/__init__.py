"""Pictures of samples: how they are distributed, and how they followed one another."""
