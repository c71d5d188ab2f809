"""The study of durations: main results of the papers under their own gaps, and under durations that were measured."""
