"""Plain values and what is true of them: no module here imports one from another folder."""
