"""What the documents tell a user to do, done."""
