"""The user's videos, for the page's server and for agents: their files, what is known of them, and the job queue."""
