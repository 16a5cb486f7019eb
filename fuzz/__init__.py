"""Fuzzing: code that takes hostile input gets millions of mutated inputs, for as long as one likes."""
