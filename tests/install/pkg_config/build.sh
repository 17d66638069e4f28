#!/bin/sh
# One program by pkg-config: build.sh c|c_static|cxx|model
set -eu

case "$1" in
c)
  # [c]
  cc program.c -o program $(pkg-config --cflags --libs ropewalk) -lm
  # [/c]
  ;;
c_static)
  # [c_static]
  cc program.c -o program $(pkg-config --static --cflags --libs ropewalk)
  # [/c_static]
  ;;
cxx)
  # [cxx]
  c++ -std=c++20 program.cpp -o program $(pkg-config --cflags --libs ropewalk)
  # [/cxx]
  ;;
cxx_without_exceptions)
  c++ -std=c++20 -fno-exceptions -fno-rtti program.cpp -o program $(pkg-config --cflags --libs ropewalk)
  ;;
model)
  # [model]
  c++ -std=c++20 model.cpp -o program $(pkg-config --cflags --libs ropewalk-model)
  # [/model]
  ;;
esac
