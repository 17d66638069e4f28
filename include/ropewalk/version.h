// The one place where the version stands: for C, for C++ and for CMake, which reads it from here.

#ifndef ROPEWALK_VERSION_H_
#define ROPEWALK_VERSION_H_

// NOLINTBEGIN(modernize-macro-to-enum): for the preprocessor too
#define ROPEWALK_VERSION_MAJOR 0
#define ROPEWALK_VERSION_MINOR 1
#define ROPEWALK_VERSION_PATCH 0
// NOLINTEND(modernize-macro-to-enum)

#endif  // ROPEWALK_VERSION_H_
