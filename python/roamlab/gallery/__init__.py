"""The gallery: questions, each with the runs that answer it, a picture, and a sentence with numbers of these runs."""
