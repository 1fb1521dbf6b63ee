#!/bin/sh
# Stands in for a worker in tests/run.rs: does what the file `behave` in the run's folder says, in which
# $spec is the cell, $folder the run's folder and $answer a file with a right answer.
spec=$(cat)
stream=$(printf '%s' "$spec" | sed 's/.*"stream":"\([^"]*\)".*/\1/')
folder=$(dirname "$(dirname "$stream")")
answer="$folder/answer.json"
. "$folder/behave"
