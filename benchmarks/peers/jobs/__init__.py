"""One program for each engine: takes a description of the job as JSON, prints one line of JSON."""
