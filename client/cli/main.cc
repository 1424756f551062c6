// The `tokendraw` command.
#include <clocale>
#include <iostream>

#include "client/cli/command.h"
#include "client/memory.h"

int main(int argc, char** argv) {
  tokendraw::KeepFreedMemory();
  // Token texts are UTF-8, whatever the user's locale is; Quote needs to know.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  return tokendraw::cli::Run({argv + 1, argv + argc}, {std::cin, std::cout, std::cerr});
}
