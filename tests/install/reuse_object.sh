#!/bin/sh
# A compiler launcher that takes an object from another build of the same sources with the same flags,
# where it is there: reuse_object.sh BUILD COMPILER ARGUMENTS...
# The objects of a static library serve a shared one: both are position-independent.
build="$1"
shift
before=
for argument; do
  if [ "$before" = -o ] && [ -f "$build/$argument" ]; then
    exec cp "$build/$argument" "$argument"
  fi
  before="$argument"
done
exec "$@"
