"""What the halves of a command share, when they are two processes: how they meet, talk, and end together."""
