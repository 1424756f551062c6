include(CMakeFindDependencyMacro)
find_dependency(Threads)
# Debian has no CONFIG file for Protobuf; and gRPC's refers to its targets.
find_dependency(Protobuf)
find_dependency(gRPC CONFIG)
find_dependency(absl CONFIG)
include(${CMAKE_CURRENT_LIST_DIR}/tokendraw-targets.cmake)
