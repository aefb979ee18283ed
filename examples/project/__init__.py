"""Questions about a project's folder: the tools that read it, and the rules that play the model."""
