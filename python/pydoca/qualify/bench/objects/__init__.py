"""What each kind of object tells of itself, and what its states allow, in every state that it has."""
