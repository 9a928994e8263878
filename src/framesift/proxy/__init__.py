"""An OpenAI-type server between a chat application and a model's server: videos become the frames for the question."""
