// Files that the tests of the readers write.
#ifndef TOKENDRAW_TESTS_CLIENT_FILES_H_
#define TOKENDRAW_TESTS_CLIENT_FILES_H_

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace tokendraw {

inline std::string WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// `bytes` low bytes of `value`, little-endian.
inline std::string LittleEndian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

inline std::string FloatBytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

inline std::string SafetensorsFile(const std::string& header, const std::string& data) {
  return LittleEndian(header.size(), 8) + header + data;
}

// Version 1.0, padded as numpy does.
inline std::string NpyFile(const std::string& header, const std::string& data) {
  const std::string padded = header + std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
  return std::string("\x93NUMPY\x01\x00", 8) + LittleEndian(padded.size(), 2) + padded + data;
}

}  // namespace tokendraw

#endif  // TOKENDRAW_TESTS_CLIENT_FILES_H_
