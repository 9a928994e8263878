"""What is in the files: pictures, and the words that come with them."""
