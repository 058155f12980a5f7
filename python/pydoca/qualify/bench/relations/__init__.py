"""What is judged against something else that is measured in the same seconds."""
